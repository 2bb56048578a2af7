"""Results of the stages that build, record and trim. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.build_spec import EngineIdentity, RebuiltSources
from megtrim.chain.stage_result import StageResult
from megtrim.checks.check import DeviceIdentity
from megtrim.util.value import Value


class BuildSummary(Value):
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


class BuildResult(StageResult):
    """Of the stage `build`: one variant."""

    build: BuildSummary


class SearchResult(StageResult):
    """Of the stage `profile`: a search for algorithms."""

    time_s: float


class TraceResult(StageResult):
    """Of the stage `profile`: a scenario's trace."""

    regions: int
    trace_sha256: str
    device: DeviceIdentity
    time_s: float


class HeaderResult(StageResult):
    """Of the stage `header`: the keep set that the header was made from."""

    regions: int
    operators: int
    warnings: tuple[str, ...]


class FunctionCount(Value):
    """The functions of one program that is linked again."""

    held: int
    """By its unfolded link."""
    dropped: int


class ReduceResult(StageResult):
    """Of the stage `reduce`: what ships, or the build by regions before it."""

    build: BuildSummary
    """Of a link: the build whose objects were linked, with the sizes of what was linked."""
    functions: Mapping[str, FunctionCount]
    """By program; empty where no functions were trimmed."""


class SymbolizingLinkResult(StageResult):
    """Of the stage `reduce`: the link whose traps name functions. Its files say everything."""


class UnfoldedLinksResult(StageResult):
    """Of the stage `functions`: the links that show which functions run."""

    links: Mapping[str, str]
    """Link identity of each program, by its name."""


class RecordResult(StageResult):
    """Of the stage `functions`: the functions that one scenario ran."""

    functions: int
    """0 where its program is not linked again."""
    time_s: float


class FunctionsKeepSetResult(StageResult):
    """Of the stage `functions`: the keep set with the functions in it."""

    functions: int
