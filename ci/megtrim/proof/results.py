"""What a scenario did on the trimmed program. Pure."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field

from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import DeviceIdentity
from megtrim.checks.outcome import ScenarioOutcome
from megtrim.checks.statuses import ScenarioStatus
from megtrim.util.errors import EXIT_PASS, ProductFailure


class ScenarioResult(ScenarioOutcome):
    id: str
    """MODEL/SCENARIO@CLASS."""
    model: str
    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    arguments: tuple[str, ...]
    device: str
    regions: int
    """How many its trace holds."""
    reproduce: str = ""
    binding: str = ""
    """The sha256 of all that it depends on except the device; empty if it was not reached."""


class VerificationOutcome(ScenarioOutcome):
    unexplained: bool = False
    """It ended badly, and the profile build, which may explain it, was not at hand."""


class VerifyResult(StageResult):
    scenario: str
    binding: str
    day: date
    device: DeviceIdentity
    outcome: VerificationOutcome

    @property
    def exit_code(self) -> int:
        passed = self.outcome.status is ScenarioStatus.PASS
        return EXIT_PASS if passed else ProductFailure.exit_code
