"""Results of the stages that decide and report. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.chain.stage_result import StageResult
from megtrim.checks.statuses import UnverifiedPolicy, VerdictKind, exit_code


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictResult(StageResult):
    """Of the stage `verdict`: what all results add up to."""

    verdict: VerdictKind
    unverified: UnverifiedPolicy = UnverifiedPolicy.WARN

    @property
    def exit_code(self) -> int:
        """1 for a failure, 3 for an unverified one that the team does not take."""
        return exit_code(self.verdict, self.unverified)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult(StageResult):
    """Of the stage `report`. Its files say everything."""
