from dataclasses import replace

import pytest

from megtrim.checks.statuses import UnverifiedPolicy
from megtrim.evidence.fields import EarlyExit
from megtrim.util.strict_json import dump
from megtrim.verdict.model import Verdict, to_json
from unit.cli.support import Shell
from unit.verdict.examples import REDUCED_BYTES, failing, passing, unverified


def leave(shell: Shell, left: Verdict | EarlyExit) -> None:
    text = dump(left) if isinstance(left, EarlyExit) else to_json(left)
    name = "ending.json" if isinstance(left, EarlyExit) else "verdict.json"
    (shell.folder / name).write_text(text, encoding="utf-8")


def end(status: int) -> EarlyExit:
    return EarlyExit(exit=status, message="it broke", hint="")


@pytest.mark.parametrize(
    ("left", "status", "size"),
    [
        (passing(), 0, str(REDUCED_BYTES)),
        (failing(), 1, "2998272"),
        # A sleeping phone blocks no one; an expired proof does.
        (unverified(), 0, str(REDUCED_BYTES)),
        (unverified(expired=True), 1, str(REDUCED_BYTES)),
        *((end(status), status, "") for status in (1, 2, 3, 70, 130)),
    ],
)
def test_the_gate_ends_as_the_run_did_and_leaves_outputs(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, left: Verdict | EarlyExit, status: int, size: str
) -> None:
    monkeypatch.setenv("GITHUB_OUTPUT", str(shell.folder / "outputs"))
    leave(shell, left)
    answer = shell("ci", "gate", ".")
    lines = (shell.folder / "outputs").read_text(encoding="utf-8").splitlines()

    word = "error" if isinstance(left, EarlyExit) else str(left.verdict)
    assert answer.status == status
    assert isinstance(left, EarlyExit) or answer.out == f"{word}: {left.headline}\n"
    assert [line.partition("<<")[0] for line in lines[::3]] == ["verdict", "size"]
    assert lines[1::3] == [word, size]


def test_a_team_may_want_to_know(shell: Shell) -> None:
    leave(shell, replace(unverified(), unverified=UnverifiedPolicy.FAIL))
    answer = shell("ci", "gate", ".").expect(3)

    assert answer.out.splitlines()[1] == (
        "  verify.unverified is fail, so each scenario needs a device that verified it: "
        "look at the device jobs, then run this job again"
    )


def test_a_verdict_next_to_the_word_of_a_run_without_one_is_refused(shell: Shell) -> None:
    leave(shell, passing())
    leave(shell, end(2))
    answer = shell("ci", "gate", ".")

    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        "megtrim: .: found verdict.json and ending.json, expected one of them\n"
        "  two runs wrote there: empty the folder, and run again\n"
    )


@pytest.mark.parametrize("name", ["verdict.json", "ending.json"])
def test_the_gate_stays_shut_for_what_is_no_report(shell: Shell, name: str) -> None:
    empty = shell("ci", "gate", ".")
    (shell.folder / name).write_text("{}", encoding="utf-8")

    assert (empty.status, shell("ci", "gate", ".").status) == (3, 2)
    assert empty.err == (
        "megtrim: .: the build job left no result\n  look at the build job, and run it again\n"
    )
