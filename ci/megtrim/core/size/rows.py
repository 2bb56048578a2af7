"""Files and limits as results, the verdict and all reports show them. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field

from megtrim.core.build_spec import Variant
from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import (
    USE_LESS,
    Invocation,
    suggest_for_budget,
    suggest_for_unknown_use,
)
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.problems import Place
from megtrim.core.config.units import (
    OF_SCENARIOS,
    Measure,
    Unit,
    format_bytes,
    format_growth,
    name_budget,
)
from megtrim.core.size.byte_table import ByteMap, LabelChange
from megtrim.core.size.growth.arrivals import NO_ARRIVALS, Arrivals
from megtrim.core.size.prices import PriceChange, PriceList
from megtrim.libs.util.strict_json import SignedInt
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count


def name_subject(artifact: str, variant: str, measure: str) -> str:
    """``measure`` is empty for a file's size."""
    build = f"{artifact}/{variant}"
    return f"{build} {measure}" if measure else build


class WorkUse(Value):
    """Instructions of an iteration, or of the whole run of a command."""

    instructions: int
    """Without functions that are left out, as what it is compared with."""
    accesses: int
    """Of memory: reads and writes."""
    before: int
    """Of the baseline, without functions that are left out."""
    changed: tuple[LabelChange, ...]
    """By function, those that changed most first."""
    components: tuple[LabelChange, ...]
    left_out: tuple[str, ...]
    """Functions that are counted on neither side, because they vary."""
    varying: int = 0
    """The least that these were seen to do, before or now, if that is more."""
    processes: int = 0
    """Processes that it starts, which are not counted."""
    whole: bool = False
    """Whether its start and end are counted, too, as those of a command are."""

    @property
    def without_text(self) -> str:
        without = ""
        if self.left_out:
            vary = "varies" if len(self.left_out) == 1 else "vary"
            without += f"; without {count(len(self.left_out), 'function')} that {vary}"
        if self.processes:
            without += f"; without {count(self.processes, 'process', 'processes')} that it starts"
        return without


class BudgetRow(Value):
    kind: CheckKind
    """Size or growth."""
    artifact: str
    variant: str
    measure: str = ""
    """What is measured, such as ``section .text``; empty: the stripped file."""
    owner: str = ""
    unit: Unit = Unit.BYTES
    """Of the four numbers below."""
    used: SignedInt | None = None
    """The size, or the growth."""
    limit: int | None = None
    soft_limit: int | None = None
    """From here on, it warns."""
    baseline: str = ""
    """Where the baseline of a growth is from, or empty."""
    waiver: str = ""
    """Of waivers that were needed, whether they were enough or not."""
    lapsed: str = ""
    """The waivers that expired: owner, day and reason; or empty."""
    lower_limit: int | None = None
    """What the limit could be; None: it is low enough."""
    note: str = ""
    """Why it is not known, or not compared."""
    work: WorkUse | None = None
    """Of a growth of work."""
    status: CheckStatus
    """Skipped: it only warns, or there was nothing to compare with; inconclusive: it is a limit of
    what could not be measured."""

    @property
    def subject(self) -> str:
        return name_subject(self.artifact, self.variant, self.measure)

    @property
    def check_id(self) -> str:
        return f"{self.kind}:{self.subject}"

    @property
    def name(self) -> str:
        return name_budget(self.artifact, self.variant, self.measure)

    @property
    def left(self) -> int | None:
        if self.used is None or self.limit is None:
            return None
        return self.limit - self.used

    @property
    def is_exceeded(self) -> bool:
        return (self.left or 0) < 0

    @property
    def is_near(self) -> bool:
        if self.used is None or self.soft_limit is None:
            return False
        return self.used >= self.soft_limit and not self.is_exceeded

    def format(self, number: int, sign: str = "") -> str:
        """Write bytes with their unit, and instructions as a share of those of the baseline."""
        if self.unit is Unit.BYTES:
            return format_growth(number) if sign else format_bytes(number)
        before = self.work.before if self.work else 0
        share = number / max(before, 1)
        return f"{share:{sign}.{6 if 0 < abs(share) < 0.0001 else 2}%}"

    @property
    def used_text(self) -> str:
        if self.work is not None:
            change = self.format(self.used or 0, "+") if self.work.changed else "no change"
            return f"{self.work.instructions:,} ({self.note or change}{self.work.without_text})"
        if self.used is None:
            return self.note or "no baseline"
        return self.format(self.used, "+" if self.kind is CheckKind.GROWTH else "")

    @property
    def text(self) -> str:
        waived = f", waived: {self.waiver}" if self.waiver else ""
        noted = f"; {self.note}" if self.note and self.note not in self.limit_text else ""
        lapsed = f"; {self.lapsed}" if self.lapsed and self.status is CheckStatus.FAIL else ""
        return f"{self.limit_text}{self.name_changes(4)}{noted}{waived}{lapsed}"

    def name_changes(self, most: int, mark: Callable[[str], str] = str) -> str:
        changed = self.work.changed[:most] if self.work else ()
        named = ", ".join(f"{mark(each.label)} {each.growth:+,}" for each in changed)
        return f": {named}" if named else ""

    @property
    def limit_text(self) -> str:
        left = self.left
        since = f" since {self.baseline}" if self.baseline else ""
        if self.used is None:
            return self.used_text
        if self.limit is None or left is None:
            return f"{self.used_text}{since}, no limit"
        if self.kind is CheckKind.GROWTH:
            return f"{self.used_text}{since}, {self.format(self.limit)} allowed"
        room = f"{self.format(left)} left" if left >= 0 else f"{self.format(-left)} too many"
        return f"{self.used_text} of {self.format(self.limit)}, {room}"


def budget_checks(
    rows: Iterable[BudgetRow], *, invocation: Invocation, places: Mapping[str, Place], start: Place
) -> Iterator[Check]:
    """``places``: where limits are configured."""
    for row in rows:
        place = places.get(row.subject) or places.get(row.measure, start)
        failed = row.status is CheckStatus.FAIL
        hint = suggest_for_budget(lapsed=bool(row.lapsed), owner=row.owner) if failed else ""
        if failed and row.measure in OF_SCENARIOS:
            hint = USE_LESS if row.is_exceeded else suggest_for_unknown_use(row.measure)
        if row.status is CheckStatus.INFRASTRUCTURE:
            hint = "nothing is known about the product: mend the machine, and run it again"
        yield Check(
            id=row.check_id,
            kind=row.kind,
            subject=row.subject,
            status=row.status,
            text=row.text,
            hint=hint,
            file=place.file,
            line=place.line,
            reproduce=invocation.again("size") if hint else "",
        )


FORMS = (
    Measure.DEFLATED,
    Measure.UNSTRIPPED,
    Measure.AAR,
    Measure.REST,
    Measure.DOWNLOAD,
)


class VariantSize(Value):
    variant: str
    size_bytes: int
    share: float
    """Of plain: 0.067 is 6.7%."""
    forms: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the file in those of :data:`FORMS` that were measured."""
    sections: tuple[tuple[str, int], ...] = ()
    """(what the bytes are for, bytes), in the order in which charts draw them."""
    growth_bytes: SignedInt | None = None
    """Since the baseline; None if the baseline does not hold this file."""
    components: tuple[LabelChange, ...] = ()
    symbols: tuple[LabelChange, ...] = ()
    arrivals: Arrivals = NO_ARRIVALS
    price_changes: tuple[PriceChange, ...] = ()

    def __post_init__(self) -> None:
        for changes in (self.components, self.symbols):
            if changes and sum(change.growth for change in changes) != self.growth_bytes:
                msg = f"{self.variant}: found changes that do not add up to its growth"
                raise ValueError(msg)


class ArtifactSizes(Value):
    name: str
    sizes: tuple[VariantSize, ...]
    prices: PriceList | None = None
    byte_map: ByteMap | None = None

    def __post_init__(self) -> None:
        if self.byte_map is None:
            return
        sizes = {size.variant: size.size_bytes for size in self.sizes}
        found = (self.byte_map.kept_bytes, self.byte_map.plain_bytes)
        expected = (sizes.get(self.byte_map.variant), sizes.get(str(Variant.PLAIN)))
        if found[0] != expected[0] or found[1] not in (None, expected[1]):
            msg = f"byte_map: found {found} bytes, expected those of its files: {expected}"
            raise ValueError(msg)
