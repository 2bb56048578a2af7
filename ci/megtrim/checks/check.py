"""One thing that was checked, and what it was checked on. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.checks.statuses import (
    CheckKind,
    CheckStatus,
)
from megtrim.util.value import Value

MACHINE_FACTS = ("serial", "host", "CPU model")
"""Facts of a device that tell one machine from all others, as times see it."""


class Check(Value):
    """One thing that was checked, and the result."""

    id: str
    """Unique: kind, a colon, subject."""
    kind: CheckKind
    subject: str
    status: CheckStatus
    text: str
    """One line: the result."""
    detail: str = ""
    """Several lines, or empty."""
    hint: str = ""
    """What to do, or empty."""
    time_s: float = 0.0
    file: str
    """Where the subject is configured: relative to the project, with / between folders."""
    line: int = 1
    reproduce: str = ""
    """Command that reproduces it, or empty."""


class ToolchainIdentity(Value):
    """What compiled it."""

    kind: str
    target: str
    version: str
    image: str = ""
    """Digest or ID of the image that contains it; empty: it is on the machine itself."""


class DeviceIdentity(Value):
    """What it ran on."""

    name: str
    kind: str
    facts: Mapping[str, str]
