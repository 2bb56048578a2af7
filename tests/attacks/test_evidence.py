"""Attempts on what device jobs bring back, and on the bundle that they were given."""

import copy
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from attacks.arena import Arena, planted
from attacks.documents import Change, Documents, trap
from attacks.tampering import edit, flip

pytestmark = [pytest.mark.chain]

AGAIN = "again"
"""The folder of further evidence: a copy of the good one, in which something is changed."""
BOTH = ("evidence", AGAIN)


@pytest.fixture
def papers(arena: Arena) -> Documents:
    documents = Documents(arena)
    documents.start()
    return documents


def day(ago: int) -> str:
    return (date.today() - timedelta(days=ago)).isoformat()


def result(**changes: Any) -> Callable[[Documents], None]:
    return lambda papers: papers.change_result(lambda row: row.update(changes))


def output(**changes: Any) -> Callable[[Documents], None]:
    return lambda papers: papers.change_result(lambda row: row["outputs"][0].update(changes))


def entry(change: Change) -> Callable[[Documents], None]:
    return lambda papers: papers.change_entry(change)


def bundle(change: Change) -> Callable[[Documents], None]:
    return lambda papers: papers.change_bundle(change)


def call_class(entry: dict[str, Any]) -> None:
    entry["class"] = "pixel"
    for row in entry["results"]:
        row["scenario"] = row["scenario"].replace("@any", "@pixel")


def call_trace(entry: dict[str, Any]) -> None:
    entry["purpose"] = "trace"
    for row in entry["results"]:
        row["trace"] = "c" * 64


def list_trap(entry: dict[str, Any]) -> None:
    row = copy.deepcopy(entry["results"][0])
    trap(row)
    entry["results"].append(row)


def call_proven(bundle: dict[str, Any]) -> None:
    row = bundle["scenarios"].pop(0)
    bundle["proven"].append({key: row[key] for key in ("id", "class", "binding")})


CHANGES: dict[str, Callable[[Documents], None]] = {
    "a_pass_with_an_unequal_output": output(equal=False),
    "a_pass_without_outputs": result(outputs=[]),
    "a_pass_with_a_missing_region": result(missing_regions=["sample_input<1279368853>"]),
    "a_pass_that_crashed": result(crash="signal 4 (SIGILL), fault addr 0x5581"),
    "a_pass_beyond_the_tolerance": output(largest_difference=0.5),
    "a_pass_that_could_not_be_compared": output(largest_difference=None),
    "a_pass_of_nothing": output(size_bytes=0),
    "a_pass_with_an_output_twice": lambda papers: papers.change_result(
        lambda row: row["outputs"].append(copy.deepcopy(row["outputs"][0]))
    ),
    "a_pass_of_other_outputs": output(name="run0-var99"),
    "a_pass_from_long_ago": entry(lambda entry: entry.update(day=day(400))),
    "a_pass_from_the_future": entry(lambda entry: entry.update(day="2099-01-31")),
    "a_pass_of_another_bundle": result(binding="b" * 64),
    "a_pass_of_another_class": entry(call_class),
    "a_pass_of_an_unknown_device": entry(lambda entry: entry["device"].update(name="laptop")),
    "a_pass_of_another_kind_of_device": entry(lambda entry: entry["device"].update(kind="qemu")),
    "a_pass_of_a_trace": entry(call_trace),
    "a_trap_is_listed_behind_a_pass_of_one_scenario": entry(list_trap),
    "a_row_is_missing": entry(lambda entry: entry["results"].pop()),
    "evidence_without_rows": entry(lambda entry: entry.update(results=[])),
    "the_bundle_asks_for_less": bundle(lambda data: data["scenarios"].pop(0)),
    "the_bundle_says_that_all_is_proven": bundle(call_proven),
}


@pytest.mark.parametrize("attempt", CHANGES)
def test_attempt(papers: Documents, attempt: str) -> None:
    CHANGES[attempt](papers)

    papers.conclude().expect_no_pass()


def trap_again(papers: Documents) -> None:
    """Let a second device job report a trap of what passed in the first."""
    papers.evidence(AGAIN)
    papers.change_result(trap, AGAIN)


OLDER = {
    "an_older_pass_next_to_a_newer_trap": "evidence",
    "a_newer_pass_next_to_an_older_trap": AGAIN,
}
ATTEMPTS = {*CHANGES, *OLDER}


@pytest.mark.parametrize("attempt", OLDER)
def test_attempt_by_an_older_entry(papers: Documents, attempt: str) -> None:
    trap_again(papers)
    papers.change_entry(lambda entry: entry.update(day=day(2)), OLDER[attempt])

    papers.conclude(evidence=BOTH).expect_red()


def test_the_order_of_folders_is_turned_round(papers: Documents) -> None:
    trap_again(papers)
    for folders in (BOTH, BOTH[::-1]):
        papers.conclude(evidence=folders).expect_red()
    both = papers.folder / "both"
    for names in (("1", "2"), ("2", "1")):
        shutil.rmtree(both, ignore_errors=True)
        for name, source in zip(names, BOTH, strict=True):
            shutil.copytree(papers.evidence(source), both / name)
        papers.conclude(evidence=("both",)).expect_red()


def test_a_trap_without_a_runner(papers: Documents) -> None:
    papers.change_result(trap)
    papers.change_bundle(lambda data: data["devices"][0].update(runner=False))

    papers.conclude().expect_refused()


def test_a_trap_by_a_device_that_has_another_name(papers: Documents) -> None:
    trap_again(papers)
    papers.change_entry(lambda entry: entry["device"].update(name="laptop"), AGAIN)

    papers.conclude(evidence=BOTH).expect_no_pass()


def test_a_trap_that_is_reported_as_a_lost_device(papers: Documents) -> None:
    trap_again(papers)
    papers.change_result(lambda row: row.update(status="infrastructure"), AGAIN)

    for folders in ((AGAIN,), BOTH):
        papers.conclude(evidence=folders).expect_no_pass()


def test_a_shard_comes_twice(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry["results"].pop())
    papers.evidence(AGAIN)

    papers.conclude(evidence=BOTH).expect_no_pass()


def test_evidence_of_an_older_form(papers: Documents) -> None:
    path = papers.folder / "evidence/evidence.json"
    edit(path, lambda data: data.update(version=1))
    papers.conclude().expect_no_pass()
    edit(path, lambda data: data.update(version=4))
    papers.conclude().expect_pass()
    papers.change_entry(lambda entry: entry.update(version=1))
    papers.conclude().expect_no_pass()


def test_a_fork_brings_evidence_of_its_own(papers: Documents) -> None:
    papers.conclude("--pending", "fork").expect_no_pass()


def test_the_bundle_is_of_another_build(arena: Arena) -> None:
    arena.start("proven")
    arena.source.write_text(planted('std::fopen("/nowhere", "r") != nullptr'), encoding="utf-8")
    ended = arena.trim("--committed", "--no-gate")
    papers = Documents(arena)
    papers.start()
    shutil.rmtree(papers.folder / "results")
    shutil.copytree(arena.project.out / "final", papers.folder / "results")

    assert (ended.rc, arena.verdict()["verdict"]) == (0, "pass")
    papers.conclude().expect_no_pass()


def test_the_bundle_is_missing(papers: Documents) -> None:
    shutil.rmtree(papers.folder / "bundle")
    ended = papers.conclude()

    assert (ended.verdict, ended.gate != 0) == ("", True)


def test_a_joined_verdict_is_joined_again(papers: Documents) -> None:
    papers.change_result(trap)
    papers.conclude().expect_red()
    folder = papers.folder
    shutil.rmtree(folder / "results")
    shutil.copytree(folder / "report", folder / "results")
    shutil.rmtree(folder / "evidence")

    ended = papers.conclude()
    assert (ended.verdict, ended.gate) == ("", 2)


def test_a_program_of_the_bundle_is_exchanged(papers: Documents) -> None:
    for file in (papers.folder / "bundle/files").iterdir():
        flip(file)

    assert papers.run() != 0
    papers.conclude().expect_no_pass()


def test_the_bundle_is_exchanged_on_the_way(papers: Documents) -> None:
    papers.change_bundle(lambda data: data.update(tolerance=1000.0))
    words = ("bundle", "--sha256", "0" * 64, "--class", "any", "--to", "new")

    assert papers.arena.run("ci", "evidence", "run", *words, cwd=papers.folder).rc == 2
    papers.conclude(evidence=("new",)).expect_no_pass()
