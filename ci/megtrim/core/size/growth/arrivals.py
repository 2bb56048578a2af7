"""What came in since the baseline, and what it costs: models, scenarios, and what is kept for them.

If a build differs from its baseline by one new model alone, the growth of a file is that model's
price, to the byte. Otherwise the price is an attributed one, where prices were asked for. Pure.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from enum import StrEnum

from megtrim.core.keep.keepset import model_of
from megtrim.core.size.byte_table import LabelChange
from megtrim.core.size.growth.causes import NAMELESS, Cause, InputChanges, kind_of
from megtrim.core.size.prices import PriceList
from megtrim.core.size.views import PriceKind
from megtrim.libs.elf.symbol_names import fold_if_possible
from megtrim.libs.util.strict_json import SignedInt
from megtrim.libs.util.value import Value

MOST_PARTS = 60


class PriceBasis(StrEnum):
    BUILT = "built"
    """Two builds differ by this alone."""
    ATTRIBUTED = "attributed"
    """By the references of one build."""
    LEAST = "at least"
    """The same, where the code of the regions that it needs is in no price."""
    UNKNOWN = "unknown"


class NewUse(Value):
    kind: PriceKind
    name: str
    basis: PriceBasis = PriceBasis.UNKNOWN
    margin_bytes: SignedInt | None = None
    """What would go with it; None: unknown."""
    alone_bytes: int | None = None
    """Attributed: the size of a program for it only; None: unknown."""


class NewPart(Value):
    """What is kept and was not; the regions of a tag are one."""

    kind: str
    """``region``, ``function``, ``operator`` and so on."""
    name: str
    count: int = 1
    size_bytes: SignedInt | None = None
    models: tuple[str, ...] = ()


class Arrivals(Value):
    uses: tuple[NewUse, ...] = ()
    together_bytes: SignedInt | None = None
    """What several of these cost together, as built; None: unknown, or there is one."""
    parts: tuple[NewPart, ...] = ()
    other_parts: int = 0


NO_ARRIVALS = Arrivals()


def find_arrivals(
    changes: InputChanges,
    growth_bytes: int | None,
    symbols: Sequence[LabelChange] = (),
    prices: PriceList | None = None,
) -> Arrivals:
    """Take all changes by symbol and all prices of the build, as far as they are known."""
    models = {*changes.new_models}.difference(changes.new_scenarios)  # a command has no model
    scenarios = (scenario for scenario in changes.new_scenarios if model_of(scenario) not in models)
    new = [(PriceKind.MODEL, name) for name in sorted(models)]
    new += [(PriceKind.SCENARIO, name) for name in sorted(scenarios)]
    others = changes.changed_scenarios or changes.lost_scenarios
    only_models = all(cause is Cause.MODELS for cause in changes.causes)
    exact = growth_bytes if only_models and not others else None
    # Another compiler, for example, has other functions run: no one asked for these.
    asked = not {Cause.KEEP_SET, Cause.MODELS}.isdisjoint(changes.causes)
    parts = _list_parts(changes, symbols, prices) if asked else ()
    alone_bytes = exact if len(new) == 1 else None
    uses = [_price_use(kind, name, alone_bytes, prices, changes) for kind, name in new]
    return Arrivals(
        uses=tuple(uses),
        together_bytes=exact if len(new) > 1 else None,
        parts=parts[:MOST_PARTS],
        other_parts=len(parts[MOST_PARTS:]),
    )


def _price_use(
    kind: PriceKind, name: str, exact: int | None, prices: PriceList | None, changes: InputChanges
) -> NewUse:
    found = prices.of_kind(kind) if prices else ()
    price = next((each for each in found if each.name == name), None)
    alone = price.alone_bytes if price else None
    if exact is not None:
        return NewUse(
            kind=kind, name=name, basis=PriceBasis.BUILT, margin_bytes=exact, alone_bytes=alone
        )
    if price is None or prices is None:
        return NewUse(kind=kind, name=name)
    needs_regions = any(
        kind_of(part) == "region" and any(name in (user, model_of(user)) for user in users)
        for part, users in changes.came.items()
    )
    least = needs_regions and not prices.counts_regions
    return NewUse(
        kind=kind,
        name=name,
        basis=PriceBasis.LEAST if least else PriceBasis.ATTRIBUTED,
        margin_bytes=price.margin_bytes,
        alone_bytes=None if least else alone,
    )


def _list_parts(
    changes: InputChanges, symbols: Sequence[LabelChange], prices: PriceList | None
) -> tuple[NewPart, ...]:
    grown: Counter[str] = Counter()
    for change in symbols:
        grown[change.label] += change.growth
    known: dict[tuple[str, str], int] = {}
    if prices:
        known = {(str(each.kind), each.name): each.margin_bytes for each in prices.prices}
    rows: dict[tuple[str, str], list[tuple[str, ...]]] = defaultdict(list)
    sizes: dict[tuple[str, str], int | None] = {}
    for part, users in changes.came.items():
        kind = kind_of(part)
        name = part.partition(" ")[2]
        if kind == NAMELESS:
            continue
        size_bytes = known.get((kind, name))
        if kind == "function":
            name = fold_if_possible(name)
            size_bytes = grown[name] if grown[name] > 0 else None
        if kind == "region":
            name = name.partition("<")[0]
        rows[kind, name].append(users)
        sizes[kind, name] = size_bytes
    new = []
    for (kind, name), groups in rows.items():
        models = {model_of(user) for users in groups for user in users}
        arrival = NewPart(
            kind=kind,
            name=name,
            count=len(groups),
            size_bytes=sizes[kind, name],
            models=tuple(sorted(models)),
        )
        new.append(arrival)
    return tuple(sorted(new, key=_rank))


def _rank(part: NewPart) -> tuple[bool, int, str, str]:
    unknown = part.size_bytes is None
    return unknown, -(part.size_bytes or 0), part.kind, part.name
