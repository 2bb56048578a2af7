"""``megtrim size ratchet``: limits are lowered as the last verdict proposes, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.verdict.join import join
from megtrim.verdict.model import LowerLimit, to_json
from unit.cli.support import Shell
from unit.verdict.examples import budget, facts

KIB = 1024
CONFIG = """\
version: 1
engine: {kind: sample}
models: [{name: m, file: tiny-vgg.sample, scenarios: [{name: s}]}]
budgets:
# agreed with the app team
- {artifact: load_and_run, max: 2816 KiB, growth: 1%}  # until r2
"""


@pytest.fixture
def project(shell: Shell) -> Path:
    """A configuration, and a verdict that proposes a lower limit."""
    shell.sample("tiny-vgg.sample")
    path = shell.folder / "megtrim.yaml"
    path.write_text(CONFIG, encoding="utf-8")
    propose(shell, 2600 * KIB)
    return path


def propose(shell: Shell, most_bytes: int) -> None:
    lower = LowerLimit(max_bytes=most_bytes, text="", file="megtrim.yaml", line=6)
    rows = (budget(ratchet=lower),)
    place = shell.folder / "megtrim-out/final/verdict.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(to_json(join(replace(facts(), budgets=rows))), encoding="utf-8")


def test_it_shows_the_line_and_changes_nothing(shell: Shell, project: Path) -> None:
    """Until it is asked to."""
    answer = shell("size", "ratchet")

    assert answer.status == 0
    assert "megtrim.yaml:6: 2.8 MiB → 2.5 MiB" in answer.out
    assert "- {artifact: load_and_run, max: 2600 KiB, growth: 1%}  # until r2" in answer.out
    assert "nothing is changed without --write" in answer.out
    assert project.read_text(encoding="utf-8") == CONFIG


def test_only_the_number_is_written(shell: Shell, project: Path) -> None:
    """A second time there is nothing left: the verdict is of the former limit."""
    assert shell("size", "ratchet", "--write").status == 0
    assert project.read_text(encoding="utf-8") == CONFIG.replace("2816 KiB", "2600 KiB")

    again = shell("size", "ratchet", "--write")
    assert "its limit has changed since the verdict, so it stays" in again.out
    assert "no limit could be lower" in again.out


def test_a_proposal_that_lowers_nothing_is_refused(shell: Shell, project: Path) -> None:
    """A verdict from elsewhere may say anything: a limit only goes down, not below the size."""
    for most_bytes in (4096 * KIB, KIB):
        propose(shell, most_bytes)
        answer = shell("size", "ratchet", "--write")

        assert answer.status == 2
        assert "expected one between its size and its limit" in answer.err
        assert project.read_text(encoding="utf-8") == CONFIG


def test_without_a_verdict_it_says_how_to_get_one(shell: Shell, project: Path) -> None:
    """Or of another configuration."""
    missing = shell("size", "ratchet", "--verdict", "gone.json")
    project.rename(project.with_name("other.yaml"))
    other = shell("size", "ratchet", "--config", "other.yaml")

    assert (missing.status, other.status) == (2, 2)
    assert "`megtrim trim` makes one" in missing.err
    assert "the verdict is of the configuration megtrim.yaml, expected other.yaml" in other.err
