import pytest

from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.arrivals import MOST_PARTS, NewPart, NewUse, PriceBasis, find_arrivals
from megtrim.size.growth.inputs import Cause, InputChanges
from megtrim.size.prices import Price, PriceKind, PriceList

NEW = "tiny-quant/default@desk"
KEPT = {"region conv<int, 1>": (NEW,), "region conv<int, 2>": (NEW,), "operator Convert": (NEW,)}
ONE = InputChanges(
    causes=(Cause.MODELS,), new_scenarios=(NEW,), new_models=("tiny-quant",), came=KEPT
)


def changes(**more: object) -> InputChanges:
    known = {name: getattr(ONE, name) for name in ("causes", "new_scenarios", "new_models", "came")}
    return InputChanges(**(known | more))


def price_list(*prices: Price, regions: bool = True) -> PriceList:
    return PriceList(
        artifact="load_and_run", size_bytes=90_000, prices=prices, counts_regions=regions
    )


def price(kind: PriceKind, name: str, margin: int, alone: int | None = None) -> Price:
    return Price(kind=kind, name=name, margin_bytes=margin, alone_bytes=alone)


def test_the_growth_is_the_price_of_the_only_change() -> None:
    attributed = price(PriceKind.MODEL, "tiny-quant", 11_000, alone=80_000)

    for prices, alone in ((None, None), (price_list(attributed), 80_000)):
        (use,) = find_arrivals(ONE, 12_288, (), prices).uses
        assert use == NewUse(
            kind=PriceKind.MODEL,
            name="tiny-quant",
            basis=PriceBasis.BUILT,
            margin_bytes=12_288,
            alone_bytes=alone,
        )


def test_a_model_that_needs_nothing_of_its_own_costs_nothing() -> None:
    """It is no cause of growth then, and is named all the same."""
    (use,) = find_arrivals(changes(causes=(), came={}), 0).uses

    assert (use.basis, use.margin_bytes) == (PriceBasis.BUILT, 0)


@pytest.mark.parametrize(
    "more",
    [
        {"causes": (Cause.SOURCE, Cause.MODELS)},
        {"causes": (Cause.KEEP_SET, Cause.MODELS)},
        {"changed_scenarios": ("tiny-mobile/default@desk",)},
        {"lost_scenarios": ("tiny-mobile/default@desk",)},
    ],
)
def test_growth_is_no_price_if_anything_else_differs(more: dict[str, object]) -> None:
    (unknown,) = find_arrivals(changes(**more), 12_288).uses
    listed = price_list(price(PriceKind.MODEL, "tiny-quant", 11_000, alone=80_000))
    (attributed,) = find_arrivals(changes(**more), 12_288, (), listed).uses

    assert (unknown.basis, unknown.margin_bytes) == (PriceBasis.UNKNOWN, None)
    assert attributed.basis is PriceBasis.ATTRIBUTED
    assert (attributed.margin_bytes, attributed.alone_bytes) == (11_000, 80_000)


def test_a_price_without_the_code_of_regions_is_a_least_one() -> None:
    listed = price_list(price(PriceKind.MODEL, "tiny-quant", 500, alone=80_000), regions=False)
    (use,) = find_arrivals(changes(causes=(Cause.SOURCE, Cause.MODELS)), 12_288, (), listed).uses

    assert (use.basis, use.margin_bytes, use.alone_bytes) == (PriceBasis.LEAST, 500, None)


def test_several_models_cost_the_growth_together() -> None:
    second = "tiny-vgg/default@desk"
    found = find_arrivals(
        changes(new_scenarios=(NEW, second), new_models=("tiny-quant", "tiny-vgg")), 20_480
    )

    assert found.together_bytes == 20_480
    assert [(each.name, each.basis) for each in found.uses] == [
        ("tiny-quant", PriceBasis.UNKNOWN),
        ("tiny-vgg", PriceBasis.UNKNOWN),
    ]


def test_a_scenario_of_a_known_model_is_named_itself() -> None:
    found = find_arrivals(changes(new_scenarios=("tiny-mobile/large@desk",), new_models=()), 0)

    assert [(each.kind, each.name) for each in found.uses] == [
        (PriceKind.SCENARIO, "tiny-mobile/large@desk")
    ]


def test_without_a_baseline_nothing_is_known_to_cost_anything() -> None:
    (use,) = find_arrivals(ONE, None).uses

    assert use.basis is PriceBasis.UNKNOWN
    assert find_arrivals(InputChanges(), None).uses == ()


def test_regions_are_counted_by_tag() -> None:
    unknown = find_arrivals(ONE, 1).parts
    listed = price_list(price(PriceKind.OPERATOR, "Convert", 3))
    known = find_arrivals(ONE, 1, (), listed).parts

    assert unknown == (
        NewPart(kind="operator", name="Convert", models=("tiny-quant",)),
        NewPart(kind="region", name="conv", count=2, models=("tiny-quant",)),
    )
    assert [(part.name, part.size_bytes) for part in known] == [("Convert", 3), ("conv", None)]


def test_a_function_has_the_bytes_of_its_symbols() -> None:
    """All instances of a template are one row; what only moved has no bytes of its own."""
    came = dict.fromkeys(("function _ZN6sample3runEi", "function _ZN6sample3runEf"), (NEW,))
    grown = ByteChange(component="kernels", label="sample::run(…)", before_bytes=0, after_bytes=64)

    (part,) = find_arrivals(changes(came=came), 64, (grown,)).parts
    (unknown,) = find_arrivals(changes(came=came), 64).parts

    assert part == NewPart(
        kind="function", name="sample::run(…)", count=2, size_bytes=64, models=("tiny-quant",)
    )
    assert unknown.size_bytes is None


def test_what_another_compiler_has_run_did_not_come_in() -> None:
    assert find_arrivals(changes(causes=(Cause.TOOLCHAIN,)), 1).parts == ()


def test_what_does_not_fit_is_counted() -> None:
    """A first comparison may have thousands of functions; numbers of modes are left out."""
    came = {f"operator Op{n}": (NEW,) for n in range(MOST_PARTS + 3)} | {"hash 7": (NEW,)}
    found = find_arrivals(changes(came=came), 1)

    assert (len(found.parts), found.other_parts) == (MOST_PARTS, 3)
