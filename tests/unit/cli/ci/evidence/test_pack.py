"""``megtrim ci evidence pack``: what one bundle can be for."""

from __future__ import annotations

import pytest

from unit.cli.support import Shell


@pytest.mark.parametrize("asked", ["traces", "functions"])
@pytest.mark.parametrize("more", [("--committed",), ("--quick",), ("--proofs", "x")])
def test_purposes_do_not_mix(shell: Shell, asked: str, more: tuple[str, ...]) -> None:
    """Both are asked for again: the committed keep set and proofs have no say."""
    answer = shell("ci", "evidence", "pack", f"--{asked}", "--to", "b", *more)

    assert answer.status == 2
    assert f"--{asked} asks for new {asked}: " in answer.err


@pytest.mark.parametrize("asked", [(), ("--traces",), ("--committed",)])
def test_only_functions_rest_on_evidence(shell: Shell, asked: tuple[str, ...]) -> None:
    """Elsewhere it would be taken for something that it is not."""
    answer = shell("ci", "evidence", "pack", *asked, "--evidence", "x", "--to", "b")

    assert answer.status == 2
    assert "it needs --functions" in answer.err


def test_times_rest_on_no_proofs(shell: Shell) -> None:
    """Of the committed keep set they may be; what was proven says nothing of times."""
    answer = shell("ci", "evidence", "pack", "--times", "--committed", "--to", "b", "--proofs", "x")

    assert answer.status == 2
    assert "--times asks for new times: it cannot be combined with --proofs" in answer.err


def test_times_are_for_the_matrix_of_jobs(shell: Shell) -> None:
    """A plan of tasks has none of devices."""
    answer = shell("plan", "--times")

    assert answer.status == 2
    assert "--times chooses the device jobs: it needs --github-matrix" in answer.err
