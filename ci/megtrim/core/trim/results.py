"""Results of the stages that build, record and trim. Pure."""

from collections.abc import Mapping

from megtrim.core.build_spec import BuildRecord
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import DeviceIdentity
from megtrim.libs.util.value import Value


class BuildResult(StageResult):
    build: BuildRecord


class SearchResult(StageResult):
    time_s: float


class JoinResult(StageResult):
    caches: int
    answers: int
    clashes: tuple[str, ...]
    """What several searches answered differently, and whose answer is kept."""

    def describe(self) -> str:
        """Empty if all agree."""
        if not self.clashes:
            return ""
        first, *others = self.clashes
        more = f"; {len(others):,} more in its run.log" if others else ""
        return f"searches found different algorithms for {first}{more}"


class TraceResult(StageResult):
    regions: int
    trace_sha256: str
    device: DeviceIdentity
    time_s: float


class HeaderResult(StageResult):
    regions: int
    operators: int
    warnings: tuple[str, ...]


class ExportCount(Value):
    """Functions of a shared library that stay because it exports them."""

    functions: int
    size_bytes: int
    of_bytes: int
    """Of all functions that stay."""
    imported: int
    """Other exports, which programs of scenarios import."""


class FunctionCount(Value):
    held: int
    dropped: int
    guarded: int = 0
    """Exports that return an error where a function is missing."""
    cut: int = 0
    """Functions of which a part stays, and a part is deferred."""
    changed: tuple[str, ...] = ()
    """Functions whose blocks are not those of the keep set: they stay whole."""
    changed_bytes: int = 0
    """Of these, whole."""
    uncut: tuple[str, ...] = ()
    """Units whose functions stay whole, because they changed, each with the reason."""
    exports: ExportCount | None = None
    """Of a shared library whose exports nobody has chosen."""


class ReduceResult(StageResult):
    build: BuildRecord
    """Of a link: the build whose objects were linked, with the sizes of what was linked."""
    functions: Mapping[str, FunctionCount]
    """By program; empty where no functions were trimmed."""
    crash_ids: bool = False
    """Whether all that was left out has a trap of its own, by ``trim.crash_ids``."""


class SymbolizingLinkResult(StageResult):
    """The link whose traps name functions; its files say everything."""


class UnfoldedLinksResult(StageResult):
    links: Mapping[str, str]


class RecordResult(StageResult):
    functions: int
    time_s: float


class ReachedTest(Value):
    id: str
    """What the keep set calls it."""
    name: str
    file: str
    """With the functions that it reaches."""


class SuiteRecordResult(StageResult):
    """What the project's own tests reach."""

    tests: int
    """All that there are."""
    reached: tuple[ReachedTest, ...]
    """Those that pass and reach functions."""


class FunctionsKeepSetResult(StageResult):
    functions: int


class SizeFlagResult(Value):
    name: str
    value: str
    why_not: str


class TrimChoice(Value):
    level: str
    layout: str
    minimum_size: bool
    optimize: str
    switched_off: tuple[str, ...] = ()
    means: tuple[SizeFlagResult, ...] = ()
    quick: bool = False
    """By functions from the plain build, whatever level is configured."""
    crash_ids: bool | None = None
    """None: an older megtrim wrote it, which did not say."""

    @property
    def used(self) -> tuple[str, ...]:
        """Such as ``small_code Oz``."""
        return tuple(f"{mean.name} {mean.value}" for mean in self.means if not mean.why_not)

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(f"{mean.name}: {mean.why_not}" for mean in self.means if mean.why_not)


class FunctionsUse(Value):
    artifact: str
    held: int
    kept: int


class Rebuild(Value):
    compiled: int
    units: int


class RegionUse(Value):
    name: str
    meaning: str = ""
    """Its hash ints decoded to names, or empty."""
    scenarios: tuple[str, ...]


class TagUse(Value):
    tag: str
    kept: int
    held: int
    regions: tuple[RegionUse, ...]


class RegionsUse(Value):
    """None kept: nothing was traced, so nothing was trimmed by trace."""

    held: int
    kept: int
    by_tag: tuple[TagUse, ...]

    @property
    def most_kept_first(self) -> list[TagUse]:
        return sorted(self.by_tag, key=lambda use: (-use.kept, use.tag))


class OperatorUse(Value):
    name: str
    models: tuple[str, ...]


class OperatorsUse(Value):
    """None kept: nothing was trimmed by operator."""

    kept: tuple[OperatorUse, ...]
    dtypes: tuple[OperatorUse, ...]
    elemwise_modes: tuple[OperatorUse, ...]
