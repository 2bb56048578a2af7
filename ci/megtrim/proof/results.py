"""What a scenario did on the trimmed program. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated

from pydantic import Field

from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import (
    ScenarioStatus,
)
from megtrim.load_and_run.parity import OutputResult
from megtrim.load_and_run.telemetry import Conditions
from megtrim.util.errors import EXIT_PASS, ProductFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """One scenario on the reduced build."""

    id: str
    """MODEL/SCENARIO@CLASS."""
    model: str
    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    arguments: tuple[str, ...]
    device: str
    status: ScenarioStatus
    regions: int
    """How many its trace holds."""
    time_s: float
    text: str
    outputs: tuple[OutputResult, ...] = ()
    missing_regions: tuple[str, ...] = ()
    log_tail: str = ""
    conditions: Conditions | None = None
    """Conditions under which the time was measured; None: the device does not measure them."""
    crash: str = ""
    """What the device knows about a run that a signal ended: lines, or empty."""
    attempts: tuple[str, ...] = ()
    """One line for each machine that failed, if there is no result in the end."""
    reproduce: str = ""
    binding: str = ""
    """The sha256 of all that it depends on except the device; empty if it was not reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationOutcome:
    """How a scenario ended on the reduced build."""

    status: ScenarioStatus
    text: str
    outputs: tuple[OutputResult, ...]
    missing_regions: tuple[str, ...]
    unexplained: bool
    """It ended badly, and the profile build, which may explain it, was not at hand."""
    log_tail: str
    time_s: float
    conditions: Conditions | None
    """What its time was taken under; None: the device does not measure that."""
    crash: str
    """What the device knows of a run that a signal ended: lines, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult(StageResult):
    """Of the stage `verify`: one scenario."""

    scenario: str
    binding: str
    """The sha256 of all that it depends on but the device."""
    day: date
    device: DeviceIdentity
    outcome: VerificationOutcome

    @property
    def exit_code(self) -> int:
        """1 for anything but a pass."""
        passed = self.outcome.status is ScenarioStatus.PASS
        return EXIT_PASS if passed else ProductFailure.exit_code
