"""Result of the stage that measures times. Pure."""

from __future__ import annotations

from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import DeviceIdentity
from megtrim.experiments.contest import Contest, ContestResult, PerformanceStatus
from megtrim.util.errors import EXIT_PASS, ProductFailure


class PerfResult(StageResult):
    """One contest of a scenario."""

    scenario: str
    subject: str
    """The experiment, ``since-EXPERIMENT`` or ``trimming-VARIANT``."""
    skipped: str = ""
    device: DeviceIdentity | None = None
    emulated: bool = False
    contest: Contest | None = None
    measured: ContestResult | None = None

    @property
    def exit_code(self) -> int:
        """1 for a program that failed; what samples mean, the verdict says."""
        bad = self.measured is not None and self.measured.status is not PerformanceStatus.MEASURED
        return ProductFailure.exit_code if bad else EXIT_PASS
