from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from megtrim.core.chain.session import Session
from megtrim.core.keep.keepset import NeededParts
from megtrim.core.keep.region import Region
from megtrim.core.size import pricing
from megtrim.core.size.prices import Price, PriceList, compare_prices, shorten, sort_prices
from megtrim.core.size.pricing import (
    TRAP_BYTES,
    PricedArtifact,
    RegionExtents,
    find_extents,
    find_prices,
    make_price_list,
)
from megtrim.core.size.references.graph import Part
from megtrim.core.size.references.linked_file import LinkedFile, Stretch
from megtrim.core.size.views import PriceKind
from megtrim.libs.elf.references import References
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import decode, encode
from unit.core.keep.test_keepset import keep, scenario
from unit.core.size.made_graphs import EXTENTS, FIRST, PLAN_BYTES, SECOND, make_graph, make_program
from unit.core.trim.stages.support import MARKS


def gone(
    *regions: Region,
    functions: frozenset[str] = frozenset(),
    operators: frozenset[str] = frozenset(),
) -> NeededParts:
    return NeededParts(regions=frozenset(regions), functions=functions, operators=operators)


SHARE = round(0.6 * (PLAN_BYTES - TRAP_BYTES))


@pytest.mark.parametrize(
    ("parts", "extents", "expected"),
    [
        pytest.param(gone(), True, 0, id="nothing"),
        pytest.param(gone(functions=frozenset({"mul"})), True, 1064, id="what only it refers to"),
        pytest.param(gone(functions=frozenset({"mul", "sum"})), True, 1564, id="what is theirs"),
        pytest.param(gone(functions=frozenset({"old"})), True, 0, id="what was left out before"),
        pytest.param(gone(FIRST), True, 1064 + SHARE, id="a share of the function that stays"),
        pytest.param(
            gone(FIRST, SECOND), True, 1064 + 530 + PLAN_BYTES - TRAP_BYTES, id="all but a trap"
        ),
        pytest.param(gone(FIRST), False, 0, id="no profile build shows where regions are"),
        pytest.param(gone(operators=frozenset({"Conv"})), True, 700, id="its maker"),
        pytest.param(gone(operators=frozenset({"Con"})), True, 0, id="a similar name"),
    ],
)
def test_what_goes_with_parts(parts: NeededParts, extents: bool, expected: int) -> None:
    assert make_program(extents=extents).price(parts) == expected


def test_a_trap_does_not_refer_to_what_the_profile_build_inlined() -> None:
    """Of which region a reference is that only the trimmed program has is not known otherwise."""
    known = EXTENTS["plan"]
    extents = {"plan": replace(known, references={"mul": known.references["mul"]})}
    program = replace(make_program(), extents=extents)

    assert program.price(gone(FIRST)) == 1064 + round(0.6 * (PLAN_BYTES - TRAP_BYTES))
    assert program.price(gone(FIRST, SECOND)) == 1064 + 500 + 30 + PLAN_BYTES - TRAP_BYTES


@pytest.mark.parametrize(
    ("ids", "models"),
    [
        (("first@any", "unit@tests"), {"first@any"}),
        (("m/s@any", "m/t@any", "unit@tests"), {"m"}),
        (("unit@tests",), set()),
    ],
)
def test_tests_of_a_project_are_no_models(ids: tuple[str, ...], models: set[str]) -> None:
    artifact = PricedArtifact(
        name="app",
        size_bytes=10_000,
        program=make_program(),
        keep=keep(*(scenario(id_, FIRST) for id_ in ids)),
        untrimmed=None,
    )
    found = make_price_list(artifact)

    assert {each.name for each in found.of_kind(PriceKind.MODEL)} == models
    assert {each.name for each in found.of_kind(PriceKind.SCENARIO)} == {*ids}


TYPE = "N6midout6RegionIJNS_4tags4convESt17integral_constantIiLi{}EEEEE"
PARTS = (
    ("plan", 100),
    ("mul", 50),
    ("log", 50),
    (f"_ZTI{TYPE.format(1)}", 16),
    (f"_Z{TYPE.format(2)[:-1]}7on_usedEv", 16),
    ("_ZTIN6midout6RegionINotOne", 16),
)


def make_file(*references: tuple[int, str]) -> tuple[LinkedFile, References]:
    starts = {}
    at = 0x1000
    stretches = []
    for name, size_bytes in PARTS:
        starts[name] = at
        stretches.append(Stretch(at, at + size_bytes, 1, ""))
        at += size_bytes
    graph = make_graph((Part((name,), ".text", "", size) for name, size in PARTS), (), {})
    found = References(
        np.array([0x1000 + place for place, _ in references], dtype=np.int64),
        np.array([starts[name] for _, name in references], dtype=np.int64),
    )
    return LinkedFile(graph=graph, exact=True, stretches=tuple(stretches)), found


def test_a_region_lasts_until_the_next_one_begins() -> None:
    names = [name for name, _ in PARTS]
    made = make_file((60, names[4]), (20, names[3]), (30, "mul"), (10, "log"), (70, "log"))

    assert find_extents(*make_file((30, "mul"), (40, "_ZTIN6midout6RegionINotOne")), MARKS) == {}
    found = find_extents(*made, MARKS)

    assert found == {
        "plan": RegionExtents(
            sizes={None: 20, FIRST: 40, SECOND: 40},
            references={"log": frozenset({None, SECOND}), "mul": frozenset({FIRST})},
        )
    }


def test_a_share_is_of_what_the_reduced_build_has() -> None:
    first = frozenset({FIRST})
    both = frozenset({FIRST, SECOND})
    references = {"mul": first, "log": frozenset({None, FIRST}), "both": both}
    extents = RegionExtents(sizes={None: 20, FIRST: 40, SECOND: 40}, references=references)

    assert extents.find_share(first, both) == 0.4
    assert extents.find_share(first, first) == 1.0
    assert extents.find_share(first, frozenset({SECOND})) == 0.0
    # A reference goes if all of its regions go.
    found = {name: extents.goes_with(name, first, both) for name in (*references, "x")}
    assert found == {"mul": True, "log": False, "both": False, "x": False}
    assert extents.goes_with("both", first, first)


def make_price(kind: PriceKind, name: str, margin_bytes: int) -> Price:
    return Price(kind=kind, name=name, margin_bytes=margin_bytes)


OPERATORS = [make_price(PriceKind.OPERATOR, f"Conv{n}", n) for n in (1, 3, 2)]


def test_a_stored_list_has_all_models_and_the_highest_others() -> None:
    models = [make_price(PriceKind.MODEL, name, 0) for name in "abc"]
    function = make_price(PriceKind.FUNCTION, "_ZN6sample3runEi", 9)
    made = PriceList(artifact="x", size_bytes=9, prices=(*OPERATORS, *models, function))

    found = shorten(made, 1)

    assert [each.name for each in found.prices] == ["a", "b", "c", "Conv3", "sample::run(…)"]
    assert decode(PriceList, encode(made), "") == made
    assert made.of_kind(PriceKind.MODEL) == tuple(models)
    ordered = sort_prices([*OPERATORS, make_price(PriceKind.MODEL, "vgg", 5)])
    assert [each.margin_bytes for each in ordered] == [5, 3, 2, 1]


def test_models_of_before_may_cost_another_price() -> None:
    margins = {"vgg": 5, "mobile": 9, "quant": 7, "new": 1}
    made = PriceList(
        artifact="x",
        size_bytes=9,
        prices=tuple(make_price(PriceKind.MODEL, *row) for row in margins.items()),
    )
    before = {"model vgg": 7, "model mobile": 6, "model quant": 7, "model gone": 3, "loaded": 5}

    found = compare_prices(before, made)

    assert [(each.model, each.growth) for each in found] == [("mobile", 3), ("vgg", -2)]


def ask(*, linked: object = "made", warnings: list[str] | None = None) -> Session:
    said = [] if warnings is None else warnings
    services = SimpleNamespace(console=SimpleNamespace(warn=said.append, note=lambda _: None))
    results = SimpleNamespace(done={}, obtain=lambda _: linked)
    made = SimpleNamespace(results=results, services=services, console=services.console, done={})
    return cast(Session, made)


def test_each_file_has_its_prices_or_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []

    def refuse(_: object) -> None:
        msg = "no relocations"
        raise InputError(msg)

    monkeypatch.setattr(pricing, "open_artifacts", lambda _: iter("ab"))
    monkeypatch.setattr(pricing, "make_price_list", lambda each: f"prices of {each}")
    assert [*map(str, find_prices(ask()))] == ["prices of a", "prices of b"]
    assert find_prices(ask(linked=None)) == ()

    monkeypatch.setattr(pricing, "open_artifacts", refuse)
    assert find_prices(ask(warnings=warnings)) == ()
    assert warnings == ["the prices of models will not be known: no relocations"]
