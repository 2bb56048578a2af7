"""The matrix, the judge and the published page: data in and values out."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from faults.matrix import (
    FAULTS,
    WAYS,
    Case,
    Fault,
    Moment,
    Plant,
    Purpose,
    Seen,
    Verdict,
    Way,
    deliverable,
    full,
    judge,
    short,
    tally,
    truth,
)
from faults.record import PAGE, RECORD, decode, encode, page

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
def test_without_a_fault_only_the_truth_is_right(way: Way) -> None:
    none = case(way, Fault.NONE)
    assert judge(none, replace(GOOD, verdict=truth(way))).wrong == ()
    assert judge(none, LOST).wrong == ("nothing failed, and it says: link lost",)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_but_truth_and_infrastructure_is_wrong(way: Way, verdict: Verdict) -> None:
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
    way = Way(purpose=Purpose(purpose), plant=Plant(plant), spare=False, lasting=False)
    seen = replace(GOOD, verdict=truth(way))
    assert judge(case(way), seen).wrong == ()
    assert judge(case(way), replace(seen, **hollow)).wrong == (said,)  # type: ignore[arg-type]


def test_bound_directories_and_attempts_count() -> None:
    way = WAYS[0]
    for seen, wrong in (
        (replace(GOOD, wall_s=11.0), "it took 11 s, its bound is 10 s"),
        (replace(GOOD, left=("runs/a",)), "left on the phones: runs/a"),
        (replace(LOST, attempts=()), "it does not say which machines were tried"),
    ):
        assert judge(case(way), seen).wrong == (wrong,)


def test_tally_counts() -> None:
    lasting = WAYS[5]
    mended = WAYS[0]
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


def test_full_matrix() -> None:
    cases = full()
    cells = Counter((case.fault, case.moment) for case in cases if case.fault is not Fault.NONE)
    planted = Counter(
        (case.fault, case.moment) for case in cases if case.way.plant is not Plant.SOUND
    )
    assert set(cells) == {(fault, moment) for fault in FAULTS for moment in Moment}
    assert min(cells.values()) == 6
    assert all(planted[cell] * 2 == cells[cell] for cell in cells)
    assert len(cases) >= 300
    controls = [case for case in cases if case.fault is Fault.NONE]
    assert Counter(case.way for case in controls) == dict.fromkeys(WAYS, 5)
    assert [case.number for case in cases] == list(range(1, len(cases) + 1))


def test_short_matrix() -> None:
    cases = short()
    assert {case.fault for case in cases} == set(Fault)
    assert {case.moment for case in cases} == set(Moment)
    faulty = [case for case in cases if case.fault is not Fault.NONE]
    assert {case.way.plant for case in faulty} == set(Plant)
    assert len(cases) <= 18


@pytest.mark.parametrize(
    ("fault", "spare", "lasting", "expected"),
    [
        ("kill", False, True, False),
        ("kill", False, False, True),
        ("kill", True, True, True),
        ("unauthorized", False, False, False),
        ("unauthorized", True, True, True),
        ("slow", False, True, True),
        ("reboot", False, True, True),
    ],
)
def test_deliverable(fault: str, spare: bool, lasting: bool, expected: bool) -> None:
    way = Way(purpose=Purpose.TRACE, plant=Plant.SOUND, spare=spare, lasting=lasting)
    case = Case(number=1, fault=Fault(fault), moment=Moment.RUN, way=way)
    assert deliverable(case) is expected


ROOT = Path(__file__).resolve().parents[2]


def test_page_is_that_of_the_record_of_a_whole_run() -> None:
    record = json.loads((ROOT / RECORD).read_text(encoding="utf-8"))
    assert page(record) == (ROOT / PAGE).read_text(encoding="utf-8")
    judged = [decode(run) for run in record["runs"]]
    assert [each.case for each in judged] == list(full())
    assert [each.case for each in judged if each.wrong or each.void] == []
    assert sum(len(each.seen.left) for each in judged) == 0


def test_what_was_wrong_is_shown() -> None:
    seen = Seen(
        verdict=Verdict.ENGINE_ERROR, text="rc 1", fired=True, wall_s=2.0, bound_s=9.0, left=("a",)
    )
    judged = judge(case(WAYS[0]), seen)
    assert decode(encode(judged)) == judged
    result = {
        "version": 1,
        "phones": 2,
        "wall_s": 60.0,
        "programs": {"adb": "1", "qemu": "2"},
        "runs": [encode(judged)],
    }
    lines = page(result).splitlines()
    kill = next(line for line in lines if line.startswith("| kill |"))
    nothing = "0 = 0 + 0"
    assert kill.split(" | ", 2)[2] == (
        f"{nothing} | 1 = 1 + 0, **1 wrong** | {nothing} | {nothing} | {nothing} |"
    )
    assert "| wrong | 1 |" in lines
    assert "| run directories left | 1 |" in lines
    assert "| programs | adb 1, qemu 2 |" in lines
