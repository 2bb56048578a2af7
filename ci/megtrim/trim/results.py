"""Results of the stages that build, record and trim. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.build_spec import EngineIdentity, RebuiltSources
from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import DeviceIdentity
from megtrim.util.value import Value


class BuildSummary(Value):
    engine: EngineIdentity
    toolchain: Mapping[str, str]
    built_by: str
    artifacts: Mapping[str, int]
    """By name of the stripped file."""
    translation_units: int
    units_with_header: int
    """Into which the generated header was compiled."""
    units_with_regions: int
    """Which include midout's header."""
    rebuilt: RebuiltSources


class BuildResult(StageResult):
    build: BuildSummary


class SearchResult(StageResult):
    time_s: float


class TraceResult(StageResult):
    regions: int
    trace_sha256: str
    device: DeviceIdentity
    time_s: float


class HeaderResult(StageResult):
    regions: int
    operators: int
    warnings: tuple[str, ...]


class FunctionCount(Value):
    held: int
    """By the unfolded link."""
    dropped: int


class ReduceResult(StageResult):
    build: BuildSummary
    """Of a link: the build whose objects were linked, with the sizes of what was linked."""
    functions: Mapping[str, FunctionCount]
    """By program; empty where no functions were trimmed."""


class SymbolizingLinkResult(StageResult):
    """Its files say everything."""


class UnfoldedLinksResult(StageResult):
    links: Mapping[str, str]
    """Identity, by program."""


class RecordResult(StageResult):
    functions: int
    """0 where its program is not linked again."""
    time_s: float


class FunctionsKeepSetResult(StageResult):
    functions: int
