"""One thing that was checked, and what it was checked on. Pure."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from megtrim.core.checks.statuses import CheckKind, CheckStatus, ScenarioStatus
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions
from megtrim.libs.util.value import Value

MACHINE_FACTS = ("serial", "host", "CPU model")
"""Facts of a device that tell one machine from all others, as times see it."""


class Check(Value):
    id: str
    """Unique: kind, a colon, subject."""
    kind: CheckKind
    subject: str
    status: CheckStatus
    text: str
    detail: str = ""
    hint: str = ""
    time_s: float = 0.0
    file: str
    """Where the subject is configured: relative to the project, with / between folders."""
    line: int = 1
    reproduce: str = ""


class ToolchainIdentity(Value):
    kind: str
    target: str
    version: str
    image: str = ""
    """Digest or ID of the image that contains it; empty: it is on the machine itself."""
    page_bytes: int = 0
    """Memory pages that what it links must support; 0: nothing is promised."""


class DeviceIdentity(Value):
    name: str
    kind: str
    facts: Mapping[str, str]


class ScenarioOutcome(Value):
    status: ScenarioStatus
    text: str
    time_s: float
    outputs: tuple[OutputResult, ...] = ()
    missing_regions: tuple[str, ...] = ()
    log_tail: str = ""
    conditions: Conditions | None = None
    """Conditions under which the time was measured; None: the device does not measure them."""
    crash: str = ""
    attempts: tuple[str, ...] = ()
    """One line for each machine that failed, if there is no result in the end."""

    def list_fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(ScenarioOutcome)}
