"""Attempts on what device jobs bring back, and on the bundle that they were given."""

from __future__ import annotations

import copy
import shutil
from datetime import date, timedelta
from typing import Any

import pytest

from attacks.arena import Arena, planted
from attacks.documents import Documents, trap
from attacks.tampering import edit, flip

pytestmark = [pytest.mark.chain]


@pytest.fixture
def papers(arena: Arena) -> Documents:
    """What the jobs of a good pull request left; joined as it is, it passes."""
    documents = Documents(arena)
    documents.start()
    documents.conclude().expect_pass()  # else the attempts would prove nothing
    return documents


def test_a_pass_with_an_unequal_output(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"][0].update(equal=False))

    papers.conclude().expect_no_pass()


def test_a_pass_without_outputs(papers: Documents) -> None:
    papers.change_result(lambda row: row.update(outputs=[]))

    papers.conclude().expect_no_pass()


def test_a_pass_with_a_missing_region(papers: Documents) -> None:
    papers.change_result(lambda row: row.update(missing_regions=["sample_input<1279368853>"]))

    papers.conclude().expect_no_pass()


def test_a_pass_that_crashed(papers: Documents) -> None:
    papers.change_result(lambda row: row.update(crash="signal 4 (SIGILL), fault addr 0x5581"))

    papers.conclude().expect_no_pass()


def test_a_pass_beyond_the_tolerance(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"][0].update(largest_difference=0.5))

    papers.conclude().expect_no_pass()


def test_a_pass_that_could_not_be_compared(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"][0].update(largest_difference=None))

    papers.conclude().expect_no_pass()


def test_a_pass_of_nothing(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"][0].update(size_bytes=0))

    papers.conclude().expect_no_pass()


def test_a_pass_with_an_output_twice(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"].append(copy.deepcopy(row["outputs"][0])))

    papers.conclude().expect_no_pass()


def test_a_pass_of_other_outputs(papers: Documents) -> None:
    papers.change_result(lambda row: row["outputs"][0].update(name="run0-var99"))

    papers.conclude().expect_no_pass()


def test_a_pass_from_long_ago(papers: Documents) -> None:
    day = (date.today() - timedelta(days=400)).isoformat()
    papers.change_entry(lambda entry: entry.update(day=day))

    papers.conclude().expect_no_pass()


def test_a_pass_from_the_future(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry.update(day="2099-01-31"))

    papers.conclude().expect_no_pass()


def test_a_pass_of_another_bundle(papers: Documents) -> None:
    papers.change_result(lambda row: row.update(binding="b" * 64))

    papers.conclude().expect_no_pass()


def test_a_pass_of_another_class(papers: Documents) -> None:
    def move(entry: dict[str, Any]) -> None:
        entry["class"] = "pixel"
        for row in entry["results"]:
            row["scenario"] = row["scenario"].replace("@any", "@pixel")

    papers.change_entry(move)

    papers.conclude().expect_no_pass()


def test_a_pass_of_an_unknown_device(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry["device"].update(name="laptop"))

    papers.conclude().expect_no_pass()


def test_a_pass_of_another_kind_of_device(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry["device"].update(kind="qemu"))

    papers.conclude().expect_no_pass()


def test_a_pass_of_a_trace(papers: Documents) -> None:
    def turn(entry: dict[str, Any]) -> None:
        entry["purpose"] = "trace"
        for row in entry["results"]:
            row["trace"] = "c" * 64

    papers.change_entry(turn)

    papers.conclude().expect_no_pass()


def test_an_older_pass_next_to_a_newer_trap(papers: Documents) -> None:
    day = (date.today() - timedelta(days=2)).isoformat()
    papers.evidence("again")
    papers.change_entry(lambda entry: entry.update(day=day))
    papers.change_result(trap, "again")

    papers.conclude(evidence=("evidence", "again")).expect_red()


def test_a_newer_pass_next_to_an_older_trap(papers: Documents) -> None:
    day = (date.today() - timedelta(days=2)).isoformat()
    papers.evidence("again")
    papers.change_entry(lambda entry: entry.update(day=day), "again")
    papers.change_result(trap, "again")

    papers.conclude(evidence=("evidence", "again")).expect_red()


def test_the_order_of_folders_is_turned_round(papers: Documents) -> None:
    papers.evidence("again")
    papers.change_result(trap, "again")
    for spec in (("evidence", "again"), ("again", "evidence")):
        papers.conclude(evidence=spec).expect_red()
    both = papers.folder / "both"
    for names in (("1", "2"), ("2", "1")):
        shutil.rmtree(both, ignore_errors=True)
        for name, source in zip(names, ("evidence", "again"), strict=True):
            shutil.copytree(papers.evidence(source), both / name)
        papers.conclude(evidence=("both",)).expect_red()


def test_a_trap_is_listed_behind_a_pass_of_one_scenario(papers: Documents) -> None:
    def add(entry: dict[str, Any]) -> None:
        row = copy.deepcopy(entry["results"][0])
        trap(row)
        entry["results"].append(row)

    papers.change_entry(add)

    papers.conclude().expect_no_pass()


def test_a_trap_without_a_runner(papers: Documents) -> None:
    papers.change_result(trap)
    papers.change_bundle(lambda data: data["devices"][0].update(runner=False))

    papers.conclude().expect_refused()


def test_a_trap_by_a_device_that_has_another_name(papers: Documents) -> None:
    papers.evidence("again")
    papers.change_result(trap, "again")
    papers.change_entry(lambda entry: entry["device"].update(name="laptop"), "again")

    papers.conclude(evidence=("evidence", "again")).expect_no_pass()


def test_a_trap_that_is_reported_as_a_lost_device(papers: Documents) -> None:
    papers.evidence("again")
    papers.change_result(trap, "again")
    papers.change_result(lambda row: row.update(status="infrastructure"), "again")

    papers.conclude(evidence=("again",)).expect_no_pass()
    papers.conclude(evidence=("evidence", "again")).expect_no_pass()


def test_a_row_is_missing(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry["results"].pop())

    papers.conclude().expect_no_pass()


def test_a_shard_comes_twice(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry["results"].pop())
    papers.evidence("again")

    papers.conclude(evidence=("evidence", "again")).expect_no_pass()


def test_evidence_without_rows(papers: Documents) -> None:
    papers.change_entry(lambda entry: entry.update(results=[]))

    papers.conclude().expect_no_pass()


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


def test_the_bundle_asks_for_less(papers: Documents) -> None:
    papers.change_bundle(lambda data: data["scenarios"].pop(0))

    papers.conclude().expect_no_pass()


def test_the_bundle_says_that_all_is_proven(papers: Documents) -> None:
    def move(data: dict[str, Any]) -> None:
        row = data["scenarios"].pop(0)
        data["proven"].append({key: row[key] for key in ("id", "class", "binding")})

    papers.change_bundle(move)

    papers.conclude().expect_no_pass()


def test_the_bundle_is_missing(papers: Documents) -> None:
    shutil.rmtree(papers.folder / "bundle")
    ended = papers.conclude()

    assert (ended.verdict, ended.gate != 0) == ("", True)


def test_a_joined_verdict_is_joined_again(papers: Documents) -> None:
    """The first time with a trap; then without any word of devices."""
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
