"""What verdict.json holds, as frozen values: the single source of every report and exit status.

Pure values: :mod:`megtrim.verdict.join` decides, :mod:`megtrim.util.strict_json` knows JSON.
Sizes are bytes, times are seconds, shares are fractions of plain. A value's fields are the
keys of its JSON object, in this order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from megtrim.build_spec import EngineIdentity, Origin, Variant
from megtrim.checks.invocation import Invocation
from megtrim.checks.statuses import (
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    UnverifiedPolicy,
    VerdictKind,
)
from megtrim.load_and_run.telemetry import Conditions
from megtrim.perf.rows.model import (
    HistorySeries,
    Performance,
    PerformanceRow,
    PerformanceStatus,
    RatioResult,
    StageTime,
    TrimmingRow,
    expect_latency_checks,
)
from megtrim.proof.neighbours.model import NeighbourLevel, NeighbourOutcome, NeighbourResult
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.byte_map import ByteMap
from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.arrivals import NO_ARRIVALS, Arrivals
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.history import SizeTrend
from megtrim.size.prices.price_list import PriceChange, PriceList
from megtrim.util.strict_json import AnyMagnitude, SignedInt, dump, load
from megtrim.verdict.conclusion import HINT, VERSION, Contradiction, expect_agreement, expect_sound


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFlagResult:
    """One size optimisation beyond the documented recipe."""

    name: str
    value: str
    """As megtrim.yaml spells it."""
    why_not: str
    """Why it was not used; empty: it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimChoice:
    """How far it was trimmed."""

    level: str
    layout: str
    minimum_size: bool
    optimize: str
    switched_off: tuple[str, ...] = ()
    """Switches that are off individually, besides those of the minimum size."""
    means: tuple[SizeFlagResult, ...] = ()
    """Those that were requested, or that ``optimize: size`` implies."""
    quick: bool = False
    """By functions from the plain build, whatever level is configured."""

    @property
    def used(self) -> tuple[str, ...]:
        """The size optimisations that were used, such as ``small_code Oz``."""
        return tuple(f"{each.name} {each.value}" for each in self.means if not each.why_not)

    @property
    def unused(self) -> tuple[str, ...]:
        """The others, each with the reason."""
        return tuple(f"{each.name}: {each.why_not}" for each in self.means if each.why_not)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsUse:
    """The functions of one program, where they are trimmed beyond regions."""

    artifact: str
    held: int
    """How many the build has that it was linked from."""
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What the build by regions compiled; its tree may hold a previous build."""

    compiled: int
    units: int
    """Source files that the program is made from."""


__all__ = [
    "MACHINE_FACTS",
    "ArtifactSizes",
    "BudgetRow",
    "BudgetStatus",
    "Check",
    "CheckKind",
    "CheckStatus",
    "DeviceIdentity",
    "EngineIdentity",
    "FunctionsUse",
    "HistorySeries",
    "Invocation",
    "NeighbourLevel",
    "NeighbourOutcome",
    "NeighbourResult",
    "OperatorUse",
    "OperatorsUse",
    "Origin",
    "OutputResult",
    "Performance",
    "PerformanceRow",
    "PerformanceStatus",
    "RatioResult",
    "Rebuild",
    "RegionUse",
    "RegionsUse",
    "ScenarioResult",
    "ScenarioStatus",
    "StageTime",
    "TagUse",
    "ToolchainIdentity",
    "TrimChoice",
    "TrimmingRow",
    "VariantSize",
    "Verdict",
    "VerdictKind",
    "parse_verdict",
    "to_json",
]

MACHINE_FACTS = ("serial", "host", "CPU model")
"""Facts of a device that tell one machine from all others, as times see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainIdentity:
    """What compiled it."""

    kind: str
    target: str
    version: str
    image: str = ""
    """Digest or ID of the image that contains it; empty: it is on the machine itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceIdentity:
    """What it ran on."""

    name: str
    kind: str
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantSize:
    """The stripped file of one variant."""

    variant: str
    size_bytes: int
    share: float
    """Of plain: 0.067 is 6.7%."""
    sections: tuple[tuple[str, int], ...] = ()
    """(what the bytes are for, bytes), in the order in which charts draw them."""
    growth_bytes: SignedInt | None = None
    """Since the baseline; None if the baseline does not hold this file."""
    components: tuple[ByteChange, ...] = ()
    """What grew and what shrank since the baseline, the largest first; empty: not known."""
    symbols: tuple[ByteChange, ...] = ()
    """The same by symbol."""
    arrivals: Arrivals = NO_ARRIVALS
    """What came in since the baseline, and what it costs."""
    price_changes: tuple[PriceChange, ...] = ()
    """Models that were there before and cost another price at the margin."""

    def __post_init__(self) -> None:
        """Refuse changes that are not the file's growth."""
        for changes in (self.components, self.symbols):
            if changes and sum(each.growth_bytes for each in changes) != self.growth_bytes:
                msg = f"{self.variant}: found changes that do not add up to its growth"
                raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSizes:
    """One artifact in all its variants, plain first."""

    name: str
    sizes: tuple[VariantSize, ...]
    prices: PriceList | None = None
    """What models, scenarios and the like cost in it; None: not known."""
    byte_map: ByteMap | None = None
    """Where its bytes are, and those that were left out; None: not known."""

    def __post_init__(self) -> None:
        """Refuse a map that does not add up to its files."""
        if self.byte_map is None:
            return
        sizes = {size.variant: size.size_bytes for size in self.sizes}
        found = (self.byte_map.kept_bytes, self.byte_map.plain_bytes)
        expected = (sizes.get(self.byte_map.variant), sizes.get(str(Variant.PLAIN)))
        if found[0] != expected[0] or found[1] not in (None, expected[1]):
            msg = f"byte_map: found {found} bytes, expected those of its files: {expected}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUse:
    """A region that was kept, and for whom."""

    name: str
    meaning: str = ""
    """Its hash ints decoded to names, or empty."""
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagUse:
    """The regions of one tag."""

    tag: str
    kept: int
    held: int
    """By the profile binary."""
    regions: tuple[RegionUse, ...]
    """Those that were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsUse:
    """All regions. None kept: nothing was traced, so nothing was trimmed by trace."""

    held: int
    kept: int
    by_tag: tuple[TagUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorUse:
    """An operator, dtype or elementwise mode, and the models that need it."""

    name: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorsUse:
    """What the models need. No operator kept: nothing was trimmed by operator."""

    kept: tuple[OperatorUse, ...]
    dtypes: tuple[OperatorUse, ...]
    elemwise_modes: tuple[OperatorUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputResult:
    """One output tensor of reduced, compared with plain's."""

    name: str
    size_bytes: int
    equal: bool
    largest_difference: AnyMagnitude | None
    """None: not comparable (other size, or a value that is not a number)."""


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
class Verdict:
    """Everything that a report shows."""

    version: int = VERSION
    verdict: VerdictKind
    headline: str
    checks: tuple[Check, ...]
    origin: Origin
    """Of which project and state of it, and of which megtrim."""
    config: str
    invocation: Invocation
    """How megtrim was called, for the commands that reports print."""
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
    """What differs from what the baseline was made from; empty: nothing that is known."""
    notes: tuple[CauseNote, ...] = ()
    """What differs of each cause, and what to do about it."""
    trends: tuple[SizeTrend, ...] = ()
    """How sizes changed over the commits of the default branch; empty: none is known."""
    functions: tuple[FunctionsUse, ...] = ()
    """By program; empty: functions are not trimmed."""
    rebuild: Rebuild | None = None
    """None: nothing was built by regions."""
    neighbours: tuple[NeighbourResult, ...] = ()
    """Runs near the scenarios, by scenario; empty: none was tried."""
    performance: Performance | None = None
    """None: no times were measured."""
    unverified: UnverifiedPolicy = UnverifiedPolicy.WARN
    """Whether it counts as red if it is unverified, as configured."""
    warnings: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse what reports would show wrongly: an id twice, no line, another verdict."""
        expect_sound(self)


def to_json(verdict: Verdict) -> str:
    """Write verdict.json; a difference that is no finite number becomes null."""
    return dump(verdict)


def parse_verdict(text: str, *, source: str) -> Verdict:
    """Read verdict.json. Anything but exactly its shape is an InputError naming ``source``."""
    verdict = load(Verdict, text, source=source, version=VERSION, hint=HINT)
    try:
        _expect_agreement(verdict)
    except Contradiction as error:
        msg = f"{source}:1: {error.message}"
        raise Contradiction(msg, hint=HINT) from None
    return verdict


def _expect_agreement(verdict: Verdict) -> None:
    """Refuse scenarios, budgets and times that ended worse than their checks say."""
    expect_agreement(verdict)
    if verdict.performance is not None:
        latency = {
            check.subject: check.status
            for check in verdict.checks
            if check.kind is CheckKind.LATENCY
        }
        expect_latency_checks(verdict.performance, latency)
