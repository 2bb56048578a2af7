"""``megtrim ci gate``: a job exits as the report says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from megtrim.checks.statuses import UnverifiedPolicy
from megtrim.evidence.early_exit import EarlyExit, dump_ending
from megtrim.verdict.model import to_json
from unit.cli.support import Shell
from unit.verdict.examples import REDUCED_BYTES, failing, passing, unverified


@pytest.mark.parametrize(
    ("verdict", "status"),
    [(passing(), 0), (failing(), 1), (unverified(), 0), (unverified(expired=True), 1)],
)
def test_the_gate_ends_as_the_verdict_says(shell: Shell, verdict: Any, status: int) -> None:
    """A sleeping phone blocks no one; an expired proof does."""
    (shell.folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
    answer = shell("ci", "gate", ".")

    assert answer.status == status
    assert answer.out == f"{verdict.verdict}: {verdict.headline}\n"


def test_a_team_may_want_to_know(shell: Shell) -> None:
    verdict = replace(unverified(), unverified=UnverifiedPolicy.FAIL)
    (shell.folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
    answer = shell("ci", "gate", ".")

    assert answer.status == 3
    assert answer.out.splitlines()[1] == (
        "  verify.unverified is fail, so each scenario needs a device that verified it: "
        "look at the device jobs, then run this job again"
    )


def test_a_verdict_next_to_the_word_of_a_run_without_one_is_refused(shell: Shell) -> None:
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    text = dump_ending(EarlyExit(exit=2, message="it broke", hint=""))
    (shell.folder / "ending.json").write_text(text, encoding="utf-8")
    answer = shell("ci", "gate", ".")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "megtrim: .: found verdict.json and ending.json, expected one of them\n"
        "  two runs wrote there: empty the folder, and run again\n"
    )


@pytest.mark.parametrize("status", [1, 2, 3, 70, 130])
def test_the_gate_ends_as_the_build_did(shell: Shell, status: int) -> None:
    text = dump_ending(EarlyExit(exit=status, message="it broke", hint=""))
    (shell.folder / "ending.json").write_text(text, encoding="utf-8")

    assert shell("ci", "gate", ".").status == status


@pytest.mark.parametrize("name", ["verdict.json", "ending.json"])
def test_the_gate_stays_shut_for_what_is_no_report(shell: Shell, name: str) -> None:
    empty = shell("ci", "gate", ".")
    (shell.folder / name).write_text("{}", encoding="utf-8")

    assert (empty.status, shell("ci", "gate", ".").status) == (3, 2)
    assert empty.err == (
        "megtrim: .: the build job left no result\n  look at the build job, and run it again\n"
    )


@pytest.mark.parametrize(
    ("verdict", "outputs"),
    [(passing(), ("pass", str(REDUCED_BYTES))), (failing(), ("fail", "2998272"))],
)
def test_later_jobs_learn_the_verdict_and_the_size(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, verdict: Any, outputs: tuple[str, str]
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(shell.folder / "outputs"))
    (shell.folder / "verdict.json").write_text(to_json(verdict), encoding="utf-8")
    shell("ci", "gate", ".")
    lines = (shell.folder / "outputs").read_text(encoding="utf-8").splitlines()

    assert [line.partition("<<")[0] for line in lines[::3]] == ["verdict", "size"]
    assert tuple(lines[1::3]) == outputs


def test_a_run_without_a_verdict_is_an_error(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(shell.folder / "outputs"))
    text = dump_ending(EarlyExit(exit=2, message="it broke", hint=""))
    (shell.folder / "ending.json").write_text(text, encoding="utf-8")
    shell("ci", "gate", ".")
    lines = (shell.folder / "outputs").read_text(encoding="utf-8").splitlines()

    assert lines[1::3] == ["error", ""]
