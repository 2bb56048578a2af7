"""What verdict.json holds, as frozen values: the single source of every report and exit status.

Sizes are bytes, times are seconds, shares are fractions of plain. Fields are the keys, in order.
"""

from megtrim.core.build_spec import EngineIdentity, Origin
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import Check, DeviceIdentity, ToolchainIdentity
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import (
    CheckKind,
    Contradiction,
    UnverifiedPolicy,
    VerdictKind,
    exit_code,
)
from megtrim.core.proof.neighbours import NeighbourResult
from megtrim.core.proof.results import ScenarioResult
from megtrim.core.size.growth.causes import Cause, CauseNote
from megtrim.core.size.rows import ArtifactSizes, BudgetRow
from megtrim.core.trim.results import FunctionsUse, OperatorsUse, Rebuild, RegionsUse, TrimChoice
from megtrim.core.verdict.conclusion import HINT, VERSION, expect_agreement, expect_sound
from megtrim.core.verdict.performance import Performance, expect_latency_checks
from megtrim.libs.util.strict_json import dump, load
from megtrim.libs.util.value import Value


class VerdictFacts(Value):
    origin: Origin
    config: str
    invocation: Invocation
    engine: EngineIdentity
    toolchain: ToolchainIdentity
    devices: tuple[DeviceIdentity, ...]
    trim: TrimChoice
    artifacts: tuple[ArtifactSizes, ...]
    regions: RegionsUse
    operators: OperatorsUse
    scenarios: tuple[ScenarioResult, ...]
    budgets: tuple[BudgetRow, ...]
    baseline: str = ""
    """What growth is measured against, such as ``main at 1a2b3c4d5e6f``; empty: nothing."""
    causes: tuple[Cause, ...] = ()
    notes: tuple[CauseNote, ...] = ()
    functions: tuple[FunctionsUse, ...] = ()
    """By program; empty: functions are not trimmed."""
    rebuild: Rebuild | None = None
    """None: nothing was built by regions."""
    neighbours: tuple[NeighbourResult, ...] = ()
    performance: Performance | None = None
    unverified: UnverifiedPolicy = UnverifiedPolicy.WARN
    warnings: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    """Paths at which `megtrim trim` leaves what ships; empty: other machines have them."""
    next: str = ""
    """What a person does next, with the command or the line for it; empty: nothing is known."""


class Verdict(VerdictFacts):
    version: int = VERSION
    verdict: VerdictKind
    headline: str
    checks: tuple[Check, ...]

    def __post_init__(self) -> None:
        expect_sound(self)


def to_json(verdict: Verdict) -> str:
    return dump(verdict)


def parse_verdict(text: str, *, source: str) -> Verdict:
    """Read verdict.json. Anything but exactly its shape is an InputError naming ``source``."""
    verdict = load(Verdict, text, source=source, version=VERSION, hint=HINT)
    try:
        expect_agreement(verdict)
        if verdict.performance is not None:
            checks = (check for check in verdict.checks if check.kind is CheckKind.LATENCY)
            latency = {check.subject: check.status for check in checks}
            expect_latency_checks(verdict.performance, latency)
    except Contradiction as error:
        msg = f"{source}:1: {error.message}"
        raise Contradiction(msg, hint=HINT) from None
    return verdict


class VerdictResult(StageResult):
    verdict: VerdictKind
    unverified: UnverifiedPolicy = UnverifiedPolicy.WARN

    @property
    def exit_code(self) -> int:
        """1 for a failure, 3 for an unverified one that the team does not take."""
        return exit_code(self.verdict, self.unverified)


class ReportResult(StageResult):
    """Of the stage `report`. Its files say everything."""
