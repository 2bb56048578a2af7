"""The judge catches every kind of wrong classification: the suite is able to fail."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faults.judge import Seen, judge, tally
from faults.matrix import WAYS, Case, Fault, Moment, Plant, Purpose, Verdict, Way, truth

pytestmark = pytest.mark.unit

GOOD = Seen(
    verdict=Verdict.PASS,
    text="",
    fired=True,
    wall_s=1.0,
    bound_s=10.0,
    missing_regions=("fault_suite<41>",),
    trace_whole=True,
    outputs_equal=True,
)
LOST = replace(GOOD, verdict=Verdict.INFRASTRUCTURE, text="link lost", attempts=("a: link lost",))


def case(way: Way, fault: Fault = Fault.KILL) -> Case:
    return Case(number=1, fault=fault, moment=Moment.RUN, way=way)


@pytest.mark.parametrize("way", WAYS)
def test_the_truth_is_right(way: Way) -> None:
    """What the programs lead to is right with and without a fault."""
    seen = replace(GOOD, verdict=truth(way))
    assert judge(case(way), seen).wrong == ()
    assert judge(case(way, Fault.NONE), seen).wrong == ()


@pytest.mark.parametrize("way", WAYS)
def test_infrastructure_is_right_where_something_failed(way: Way) -> None:
    """A fault may cost the result; without one there is no excuse."""
    assert judge(case(way), LOST).wrong == ()
    assert judge(case(way, Fault.NONE), LOST).wrong == ("nothing failed, and it says: link lost",)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verdict", Verdict)
def test_every_other_verdict_is_wrong(way: Way, verdict: Verdict) -> None:
    """A product failure for a device fault, a pass for a product failure, and the like."""
    judged = judge(case(way), replace(GOOD, verdict=verdict, attempts=("a: b",), text="so"))
    if verdict in (truth(way), Verdict.INFRASTRUCTURE):
        assert judged.wrong == ()
    else:
        said = f"it says {verdict}, the programs lead to {truth(way)}: so"
        assert judged.wrong == (said,)


@pytest.mark.parametrize(
    ("purpose", "plant", "hollow", "said"),
    [
        ("trace", "sound", {"trace_whole": False}, "the trace is not the one that was written"),
        ("verify", "sound", {"outputs_equal": False}, "it passed and compared no output"),
        ("verify", "trap", {"missing_regions": ()}, "one region was missing, it names 0"),
    ],
)
def test_a_right_verdict_needs_its_evidence(
    purpose: str, plant: str, hollow: dict[str, object], said: str
) -> None:
    """A word alone proves nothing."""
    way = Way(purpose=Purpose(purpose), plant=Plant(plant), spare=False, lasting=False)
    seen = replace(GOOD, verdict=truth(way))
    assert judge(case(way), seen).wrong == ()
    assert judge(case(way), replace(seen, **hollow)).wrong == (said,)  # type: ignore[arg-type]


def test_bound_directories_and_attempts_count() -> None:
    """A hang, a directory left behind, and a failure that names no machine are wrong."""
    way = WAYS[0]
    assert judge(case(way), replace(GOOD, wall_s=11.0)).wrong == (
        "it took 11 s, its bound is 10 s",
    )
    assert judge(case(way), replace(GOOD, left=("runs/a",))).wrong == (
        "left on the phones: runs/a",
    )
    assert judge(case(way), replace(LOST, attempts=())).wrong == (
        "it does not say which machines were tried",
    )


def test_tally_counts() -> None:
    """A fault that never hit is no run of its cell; what it did wrong still counts."""
    lasting, mended = WAYS[5], WAYS[0]
    judged = [
        judge(case(WAYS[1]), replace(GOOD, verdict=Verdict.TRAP, wall_s=3.0)),
        judge(case(mended), LOST),
        judge(case(lasting), LOST),
        judge(case(mended), replace(GOOD, fired=False, wall_s=9.0, left=("runs/a",))),
    ]
    assert [each.given_up for each in judged] == [False, True, False, False]
    found = tally(judged)
    assert (found.runs, found.planted, found.delivered, found.given_up) == (3, 1, 1, 1)
    assert (found.wrong, found.void, found.left, found.longest_s) == (1, 1, 1, 3.0)
