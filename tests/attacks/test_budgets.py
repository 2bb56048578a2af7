"""Attempts on budgets, and on the baseline that growth is held against."""

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from attacks.arena import ARTIFACT, Arena
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.limits import Budget
from megtrim.core.config.problems import ConfigError
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline, Measured, check
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.passes import list_pass_files
from megtrim.hosting.github.baselines import BaselineSource
from megtrim.libs.util.errors import InputError
from support.github_double import GithubDouble
from unit.core.cli.session import commits
from unit.core.config.support import SMALL, load
from unit.hosting.github.test_baselines import Team, archive, team

__all__ = ["team"]

pytestmark = [pytest.mark.chain]


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double
        double.check()


def limit(arena: Arena, **keys: str) -> None:
    arena.configure(budgets=[{"artifact": ARTIFACT, **keys}])


def trim_against(arena: Arena, baseline: str) -> int:
    arena.start("honest")
    limit(arena, growth="1 B", max="64 MiB")
    (arena.folder / "before.json").write_text(baseline, encoding="utf-8")
    return arena.trim("--baseline", str(arena.folder / "before.json")).rc


UNCHECKED = {
    "a_baseline_of_another_target": "another_program",
    "a_renamed_artifact": f"{ARTIFACT}_old",
}


@pytest.mark.parametrize("attempt", UNCHECKED)
def test_attempt_by_another_name(arena: Arena, attempt: str) -> None:
    """Held against a baseline of another name, at which it would be far too large."""
    trim_against(arena, dump_sizes(Baseline(sizes={(UNCHECKED[attempt], "reduced"): 1})))
    (check,) = (each for each in arena.verdict()["checks"] if each["kind"] == "growth")

    assert check["status"] == "skipped"
    assert "baseline" in check["text"]


def say(sizes: str) -> str:
    return f'{{"version": 2, "artifacts": {{"{ARTIFACT}": {{{sizes}}}}}}}'


REFUSED = {
    "a_baseline_with_negative_sizes": tuple(
        say(f'"reduced": {size}') for size in ("-1", "1e400", "true", "NaN", '"9"', "1.5", "null")
    ),
    "a_baseline_that_says_it_twice": (say('"reduced": 1, "reduced": 999999999'),),
    "a_baseline_of_a_quick_trim": (
        dump_sizes(Baseline(sizes={(ARTIFACT, "reduced"): 10**9}, quick=True)),
    ),
}
ATTEMPTS = UNCHECKED | REFUSED


@pytest.mark.parametrize("attempt", REFUSED)
def test_attempt_by_a_bad_baseline(arena: Arena, attempt: str) -> None:
    for text in REFUSED[attempt]:
        assert trim_against(arena, text) == 2, text
        assert arena.gate() != 0


def test_one_byte_too_many(arena: Arena) -> None:
    arena.start("honest")
    size = len(arena.good_program())
    limit(arena, max=str(size))
    assert (arena.trim().rc, arena.gate()) == (0, 0)
    limit(arena, max=str(size - 1))

    assert (arena.trim().rc, arena.gate()) == (1, 1)


def test_a_budget_is_narrowed_later(arena: Arena) -> None:
    arena.start("honest")
    limit(arena, max="1 KiB")

    assert arena.stage("stage verdict").rc == 1
    assert arena.stage("size").rc == 1
    assert (arena.trim().rc, arena.gate()) == (1, 1)


def test_a_budget_of_an_artifact_that_is_not_built(arena: Arena) -> None:
    arena.start("honest")
    arena.configure(budgets=[{"artifact": "load_and_ran", "max": "1 KiB"}])

    arena.expect_refused()


def test_a_baseline_of_a_fork(team: Team) -> None:
    for run in (
        {"fork": True},
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"branch": "feature"},
    ):
        team.repository.artifact(team.repository.run(team.base, **run), archive())
    claimed = team.repository.run(team.base, fork=True)
    team.repository.artifact(claimed, archive(), head_repository_id=team.repository.id)
    tagged = team.repository.run(team.head, branch="main")
    team.repository.artifact(tagged, archive())

    assert team.find().how is BaselineSource.NONE


def test_a_baseline_that_was_exchanged(team: Team) -> None:
    artifact = team.repository.artifact(team.repository.run(team.base), archive())
    team.repository.artifacts[artifact]["digest"] = "sha256:" + "0" * 64

    assert team.find().how is BaselineSource.NONE


_FILE = (ARTIFACT, "reduced")


def test_a_component_that_is_named_like_something_else(tmp_path: Path) -> None:
    for name in (".text", "m", "deflated", "kernels/", "/kernels", "kernels/x87"):
        budget = f"{{artifact: load_and_run, component: {name}, max: 1}}"
        with pytest.raises(ConfigError, match=re.escape(f"found '{name}'")):
            load(tmp_path, f"{SMALL}budgets: [{budget}]\n")
    one = Budget.model_validate({"artifact": ARTIFACT, "component": "code", "max": 5})
    table = ByteTable(least_bytes=64, components={"code": {"[smaller]": 6}})
    now = Measured(sizes={_FILE: 9}, measured={_FILE: {"section code": 1}}, parts={_FILE: table})

    (result,) = check([one], now, None, (), date(2027, 1, 31))

    assert result.status is CheckStatus.FAIL


def test_a_component_of_a_program_without_names() -> None:
    one = Budget.model_validate({"artifact": ARTIFACT, "component": "kernels", "max": 5})
    table = ByteTable(least_bytes=64, components={"unexplained code": {"[smaller]": 900}})

    now = Measured(sizes={_FILE: 900}, parts={_FILE: table})

    with pytest.raises(InputError):
        check([one], now, None, (), date(2027, 1, 31))


def test_a_baseline_of_this_very_commit(team: Team) -> None:
    team.repository.artifact(team.repository.run(team.head, branch="main"), archive())
    found = team.find()

    assert (found.how, json.dumps(list(found.stored.sizes.values()))) == (BaselineSource.NONE, "[]")


def test_a_last_pass_that_was_planted(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine of one's own it counts, once it is of this configuration."""
    monkeypatch.delenv("CI", raising=False)
    arena.start("honest")
    arena.trim()
    limit(arena, growth="1 B", max="64 MiB")
    last, *_ = list_pass_files(arena.project.out)
    planted = json.loads(last.read_text(encoding="utf-8"))
    planted["artifacts"] = {ARTIFACT: {"reduced": 10**9}}
    planted |= {"parts": {}, "inputs": {}}
    last.write_text(json.dumps(planted), encoding="utf-8")

    for job, expected in (("true", "skipped"), ("", "pass")):
        monkeypatch.setenv("CI", job)
        arena.trim()
        (found,) = (each for each in arena.verdict()["checks"] if each["kind"] == "growth")
        assert found["status"] == expected


def test_a_pass_of_a_tree_that_git_calls_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    tree = commits.Team(tmp_path / "app")
    tree.start()
    tree.git("update-index", "--assume-unchanged", "engine/src/add.cpp")
    commits.write(tree.folder / "engine/src/add.cpp", "int add() { return 2; }\n")
    tree.trim(10**9)

    assert tree.git("status", "--porcelain") == ""
    with pytest.raises(InputError, match=r"engine/src/add\.cpp is not as the commit has it"):
        tree.find("main")
