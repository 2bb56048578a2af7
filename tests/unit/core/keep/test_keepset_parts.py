from dataclasses import replace
from typing import Any

import pytest

from megtrim.core.keep.keepset import (
    LISTED,
    RAN,
    KeepSet,
    KeptThing,
    ScenarioRecord,
    ThingKind,
    add_first_times,
    build_keep_set,
    differing,
    find_gaps,
    find_kept,
    has_other_weights,
    list_models,
    list_needs,
    model_of,
    of_another_link,
    select_scenarios,
)
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.keep.region import Region
from megtrim.engines.models.operators import OperatorInfo, merge
from megtrim.libs.util.errors import InputError
from support.scenario_records import make_record
from unit.core.trim.stages.support import keep_set

CONV = Region("conv", (1,))
POOL = Region("pool", (1,))
QUANT = Region("quant", (1,))
VGG = "vgg/default@any"
FAST = "vgg/fast@any"
MOBILE = "mobile/default@any"


def make_keep_set() -> KeepSet:
    def info(*operators: str) -> OperatorInfo:
        return OperatorInfo(hash=None, dtypes=(), opr_types=operators, elemwise_modes=())

    records = (
        make_record([CONV], scenario=VGG),
        make_record([CONV, POOL], scenario=FAST),
        make_record([CONV, QUANT], scenario=MOBILE),
    )
    needs = merge([("vgg", info("Conv", "Pool")), ("mobile", info("Conv", "TypeCvt"))])
    return build_keep_set(20220507, records, needs)


def test_models_are_known_by_their_scenarios() -> None:
    assert model_of(FAST) == "vgg"
    assert list_models(make_keep_set()) == ("mobile", "vgg")


def test_operators_go_with_the_last_scenario_of_a_model() -> None:
    keep = make_keep_set()

    slower = list_needs(select_scenarios(keep, {VGG, MOBILE}))
    other = list_needs(select_scenarios(keep, {MOBILE}))

    assert {*slower.regions} == {*other.regions} == {CONV, QUANT}
    assert sorted(slower.operators) == ["Conv", "Pool", "TypeCvt"]
    assert sorted(other.operators) == ["Conv", "TypeCvt"]


def test_what_only_some_need_is_a_difference() -> None:
    keep = make_keep_set()

    gone = list_needs(keep) - list_needs(select_scenarios(keep, {VGG, FAST}))

    assert (list(gone.regions), list(gone.operators)) == ([QUANT], ["TypeCvt"])
    assert not gone.functions


def test_a_keep_set_of_no_scenario_is_refused() -> None:
    with pytest.raises(InputError, match="would keep everything"):
        select_scenarios(make_keep_set(), ())


LEFT_OUT = Region("conv", (2, "float"))
HELD = (CONV, POOL, QUANT, LEFT_OUT)


CONVOLUTION = KeptThing(kind=ThingKind.OPERATOR, name="Conv", rule=LISTED, by=("mobile", "vgg"))


@pytest.mark.parametrize(
    ("text", "thing"),
    [
        (
            "pool<1>",
            KeptThing(kind=ThingKind.REGION, name="pool<1>", rule=RAN, by=(FAST,), regions=(POOL,)),
        ),
        # The profile build has it, no scenario ran it; its name may have any spacing.
        (
            "conv<2,float>",
            KeptThing(kind=ThingKind.REGION, name=str(LEFT_OUT), left_out=(LEFT_OUT,)),
        ),
        # All scenarios that ran one of a tag's regions keep it.
        (
            "conv",
            KeptThing(
                kind=ThingKind.TAG,
                name="conv",
                rule=RAN,
                by=tuple(sorted((MOBILE, FAST, VGG))),
                regions=(CONV,),
                left_out=(LEFT_OUT,),
            ),
        ),
        ("Conv", CONVOLUTION),
        ("ConvV2", CONVOLUTION),
        *((text, None) for text in ("con", "conv<3>", "Con", "conv<", "")),
    ],
)
def test_what_a_keep_set_says_of_a_name(text: str, thing: KeptThing | None) -> None:
    assert find_kept(text, make_keep_set(), HELD) == thing


LINK = "c" * 64
OTHER = "d" * 64


def keep(*records: ScenarioRecord) -> KeepSet:
    return replace(keep_set(), scenarios=records)


def record(*numbers: int, **changes: Any) -> ScenarioRecord:
    [made] = keep_set(*numbers).scenarios
    return replace(made, **changes)


NEW = {"id": "n/s@any"}
CHANGES = {"arguments": ("--x",), "threads": 2, "environment": (("A", "b"),)}


@pytest.mark.parametrize(
    ("before", "now", "gaps"),
    [
        # More than is needed is no lack, nor is another trace of the same regions.
        ([record(1, 2, 3), record(4, **NEW)], [record(1, 2)], ()),
        ([record(1, 2, 3)], [record(1, 2, trace_sha256="e" * 64)], ()),
        # One that another scenario lists is kept all the same; the first five are named.
        ([record(1), record(2, **NEW)], [record(1, 2)], ()),
        (
            [record(1)],
            [record(1, *range(3, 9))],
            ("m/s@any needs kern<3>, kern<4>, kern<5>, kern<6>, kern<7> and 1 more",),
        ),
        # A build from the file would refuse to verify it.
        (
            [record(1)],
            [record(1, **CHANGES), record(1, **NEW)],
            (
                (
                    "m/s@any is not what was traced: the arguments, the number of threads, "
                    "the environment changed"
                ),
                "n/s@any is not in it",
            ),
        ),
    ],
)
def test_what_a_committed_keep_set_misses(
    before: list[ScenarioRecord], now: list[ScenarioRecord], gaps: tuple[str, ...]
) -> None:
    assert find_gaps(keep(*before), keep(*now)) == gaps


MODEL = {"model_sha256": "9" * 64}
GRAPH = {"graph_sha256": "8" * 64}
GRAPH_2 = {"graph_sha256": "7" * 64}


@pytest.mark.parametrize(
    ("before", "now", "reported"),
    [
        (GRAPH, GRAPH | MODEL, ""),
        (GRAPH, GRAPH_2 | MODEL, "the graph of the model changed"),
        ({}, MODEL, "the model changed"),
        (GRAPH, MODEL, "the model changed"),
        (
            {},
            GRAPH | MODEL,
            (
                "the model changed (whether only weights did is not known: "
                "the keep set does not name its graph)"
            ),
        ),
        ({}, GRAPH, ""),
        (GRAPH, GRAPH | MODEL | {"threads": 2}, "the number of threads changed"),
    ],
)
def test_other_weights_are_no_other_model(
    before: dict[str, Any], now: dict[str, Any], reported: str
) -> None:
    """In the same graph; where either file does not show it, any change of the model counts."""
    assert differing(record(1, **before), record(1, **now)) == reported
    same = before is GRAPH and GRAPH.items() <= now.items() and "model_sha256" in now
    assert has_other_weights(record(1, **before), record(1, **now)) is same


HOST = {"toolchain": "host x86_64-linux-gnu"}
ARM = {"toolchain": "zig aarch64-linux-musl"}
RUN, RUN_AGAIN = (
    {"functions": names, "link_sha256": link} for names, link in ((("a",), LINK), (("b",), OTHER))
)


@pytest.mark.parametrize(
    ("before", "now", "after"),
    [
        # A scenario, as a new model, class or arguments make one.
        ([record(1)], [record(1), record(2, **NEW)], [record(1), record(2, **NEW)]),
        # A toolchain: what was kept for the other one is of no use to it.
        ([record(1, **HOST)], [record(2, **ARM)], [record(2, **ARM)]),
        ([record(1)], [record(2, **ARM)], [record(1, **ARM)]),
        # A level: functions on top of regions, and regions on top of functions.
        ([record(1, 2)], [record(1, **RUN)], [record(1, 2, **RUN)]),
        ([record(**RUN)], [record(1, **RUN_AGAIN)], [record(1, **RUN)]),
        # Another link only where something new makes it.
        ([record(1, **RUN)], [record(1, **RUN_AGAIN)], [record(1, **RUN)]),
        (
            [record(1, **RUN)],
            [record(1, **RUN_AGAIN), record(2, **NEW, **RUN_AGAIN)],
            [record(1, **RUN_AGAIN), record(2, **NEW, **RUN_AGAIN)],
        ),
        # Other weights.
        ([record(1, **GRAPH)], [record(1, **GRAPH, **MODEL)], [record(1, **GRAPH, **MODEL)]),
        # What is known and changed, or needs more, is for a person, as is what is gone.
        ([record(1)], [record(1, 2)], [record(1)]),
        ([record(1)], [record(1, threads=2)], [record(1)]),
        ([record(1), record(2, **NEW)], [record(1)], [record(1), record(2, **NEW)]),
        # What has no regions cannot join what has.
        ([record(1)], [record(1), record(**NEW, **RUN)], [record(1)]),
    ],
)
def test_what_is_there_for_the_first_time_is_added(
    before: list[ScenarioRecord], now: list[ScenarioRecord], after: list[ScenarioRecord]
) -> None:
    assert add_first_times(keep(*before), keep(*now)) == keep(*after)


def needs(**users: str) -> OperatorNeeds:
    kept = tuple((name, tuple(models)) for name, models in users.items())
    return OperatorNeeds(hashes=(), dtypes=(), operators=kept, elemwise_modes=())


def test_new_models_bring_their_operators() -> None:
    before = replace(keep(record(1)), operators=needs(A="m"))
    now = replace(keep(record(1), record(2, **NEW)), operators=needs(A="mn", B="m", C="n"))

    assert add_first_times(before, now).operators == needs(A="mn", C="n")
    assert add_first_times(replace(before, operators=None), now).operators is None
    functions = keep(record(**RUN))
    assert add_first_times(functions, now).operators == now.operators
    assert add_first_times(replace(before, generation=20190219), now).operators == needs(A="m")


OF_LINK, OF_OTHER = ({"link_sha256": link, "functions": ("a", "b")} for link in (LINK, OTHER))


@pytest.mark.parametrize(
    ("before", "now", "gaps", "of_others"),
    [
        (OF_LINK | {"functions": ("a",)}, OF_LINK, ("m/s@any needs b",), ()),
        # Another link inlines others: that it is another is all that can be said.
        (OF_LINK | {"functions": ("a",)}, OF_OTHER, (), ("m/s@any",)),
        # A file of regions alone, and functions are trimmed now.
        ({}, OF_LINK | {"functions": ("a",)}, ("m/s@any needs a",), ()),
    ],
)
def test_functions_count_within_one_link(
    before: dict[str, Any], now: dict[str, Any], gaps: tuple[str, ...], of_others: tuple[str, ...]
) -> None:
    old = keep(record(1, **before))
    new = keep(record(1, **now))

    assert (find_gaps(old, new), of_another_link(old, new)) == (gaps, of_others)


@pytest.mark.parametrize(
    ("now", "gaps"),
    [
        ({"operators": needs(A="m", B="m", C="m")}, ("the models need the operators B, C",)),
        ({"operators": None}, ("all operators are needed, and it lists some",)),
        ({"generation": 20190219}, ("the engine has header generation 20190219, not 20220507",)),
    ],
)
def test_operators_and_the_header_count(now: dict[str, Any], gaps: tuple[str, ...]) -> None:
    before = replace(keep(record(1)), operators=needs(A="m"))

    assert find_gaps(before, replace(before, **now)) == gaps
    assert find_gaps(replace(before, operators=None), before) == ()
