"""What each stage finds: one type for each kind of task, written to its manifest and read back.

Pure values. A field that another run of the same task may fill differently, such as a time, has a
name of :data:`megtrim.chain.result_content.MEASURED`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from megtrim.build_spec import EngineIdentity, RebuiltSources
from megtrim.chain.stage_result import StageResult
from megtrim.checks.statuses import UnverifiedPolicy, exit_code
from megtrim.experiments.contest import Contest, ContestResult, ContestStatus
from megtrim.load_and_run.telemetry import Conditions
from megtrim.proof.neighbours.model import NeighbourResult
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.byte_map import ByteMap
from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.arrivals import NO_ARRIVALS, Arrivals
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.prices.price_list import PriceChange, PriceList
from megtrim.util.errors import EXIT_PASS, ProductFailure
from megtrim.util.strict_json import SignedInt
from megtrim.verdict.model import DeviceIdentity, OutputResult, ScenarioStatus, VerdictKind


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSummary:
    """How a variant was built, and what came of it."""

    engine: EngineIdentity
    toolchain: Mapping[str, str]
    built_by: str
    """The command that builds it, and why that one."""
    artifacts: Mapping[str, int]
    """Bytes of each stripped file, by its name."""
    translation_units: int
    units_with_header: int
    """Translation units that the generated header was compiled into."""
    units_with_regions: int
    """Translation units that include midout's header."""
    rebuilt: RebuiltSources


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildResult(StageResult):
    """Of the stage `build`: one variant."""

    build: BuildSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult(StageResult):
    """Of the stage `profile`: a search for algorithms."""

    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceResult(StageResult):
    """Of the stage `profile`: a scenario's trace."""

    regions: int
    trace_sha256: str
    device: DeviceIdentity
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaderResult(StageResult):
    """Of the stage `header`: the keep set that the header was made from."""

    regions: int
    operators: int
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCount:
    """The functions of one program that is linked again."""

    held: int
    """By its unfolded link."""
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReduceResult(StageResult):
    """Of the stage `reduce`: what ships, or the build by regions before it."""

    build: BuildSummary
    """Of a link: the build whose objects were linked, with the sizes of what was linked."""
    functions: Mapping[str, FunctionCount]
    """By program; empty where no functions were trimmed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolizingLinkResult(StageResult):
    """Of the stage `reduce`: the link whose traps name functions. Its files say everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfoldedLinksResult(StageResult):
    """Of the stage `functions`: the links that show which functions run."""

    links: Mapping[str, str]
    """Link identity of each program, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordResult(StageResult):
    """Of the stage `functions`: the functions that one scenario ran."""

    functions: int
    """0 where its program is not linked again."""
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsKeepSetResult(StageResult):
    """Of the stage `functions`: the keep set with the functions in it."""

    functions: int


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourRunResult(StageResult):
    """Of the stage `neighbours`: one neighbour."""

    neighbour: NeighbourResult


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighboursResult(StageResult):
    """Of the stage `neighbours`: all neighbours of a scenario."""

    scenario: str
    neighbours: tuple[NeighbourResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSize:
    """One artifact in one variant."""

    artifact: str
    variant: str
    size_bytes: int
    growth_bytes: SignedInt | None
    """Against the baseline; None where that does not hold this file."""
    groups: tuple[tuple[str, int], ...]
    """(what the bytes are for, bytes), in drawing order."""
    components: tuple[ByteChange, ...] = ()
    """What grew and what shrank, which adds up; empty if the baseline does not hold it."""
    symbols: tuple[ByteChange, ...] = ()
    """The same by symbol."""
    arrivals: Arrivals = NO_ARRIVALS
    """What came in, and what it costs."""
    price_changes: tuple[PriceChange, ...] = ()
    """Models that were there before and cost another price at the margin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeResult(StageResult):
    """Of the stage `size`: every artifact, and every budget that limits one."""

    artifacts: tuple[ArtifactSize, ...]
    budgets: tuple[BudgetRow, ...]
    baseline: str
    """Where the baseline is from; empty: there is none."""
    causes: tuple[Cause, ...] = ()
    """What differs from what the baseline was made from."""
    notes: tuple[CauseNote, ...] = ()
    """More about each of them."""
    prices: tuple[PriceList, ...] = ()
    """What models, scenarios and the like cost in what ships; empty: that was not asked for."""
    maps: tuple[ByteMap, ...] = ()
    """Where the bytes of what ships are, as far as it has symbols."""

    @property
    def exit_code(self) -> int:
        """1 where a budget is exceeded."""
        exceeded = any(each.status is BudgetStatus.FAIL for each in self.budgets)
        return ProductFailure.exit_code if exceeded else EXIT_PASS


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfResult(StageResult):
    """Of the stage `perf`: one contest of a scenario."""

    scenario: str
    subject: str
    """The experiment, or ``trimming-VARIANT``."""
    skipped: str = ""
    """Why it was not held; empty where it was."""
    device: DeviceIdentity | None = None
    emulated: bool = False
    contest: Contest | None = None
    measured: ContestResult | None = None

    @property
    def exit_code(self) -> int:
        """1 for a program that failed; what samples mean, the verdict says."""
        bad = self.measured is not None and self.measured.status is not ContestStatus.MEASURED
        return ProductFailure.exit_code if bad else EXIT_PASS


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencesResult(StageResult):
    """Of the stage `references`: programs linked with their relocations, and their maps."""

    programs: tuple[str, ...]
