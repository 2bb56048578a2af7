"""Attempts by the order and the options of commands, and by what git does not tell."""

import os

import pytest

from attacks.arena import ARTIFACT, Arena
from megtrim.libs.util.process import Command, ProcessRunner

pytestmark = [pytest.mark.chain]

AUTHOR = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")


def git(arena: Arena, *words: str) -> None:
    argv = ("git", "-C", str(arena.folder / "engine"), *AUTHOR, *words)
    ended = ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=60))
    assert ended.rc == 0, ended.stderr


def commit_all(arena: Arena) -> None:
    git(arena, "init", "-q")
    git(arena, "add", "--all")
    git(arena, "commit", "-q", "-m", "all")


def test_a_quick_trim_after_a_red_one(arena: Arena) -> None:
    arena.start("bad")
    arena.expect_all_red()
    arena.trim("--quick")
    assert arena.verdict()["trim"]["quick"] is True

    assert arena.stage("stage verdict").rc == 1
    arena.expect_all_red()


def test_the_gate_is_left_out(arena: Arena) -> None:
    arena.start("bad")

    assert arena.trim("--no-gate").rc == 0
    assert arena.gate() == 1


def test_a_run_that_ends_before_its_verdict(arena: Arena) -> None:
    arena.start("honest")
    arena.keep.remove()

    assert arena.trim("--committed", "--no-gate").rc == 2
    assert arena.gate() == 2


def test_a_verdict_without_a_program(arena: Arena) -> None:
    arena.start("honest")
    text = arena.source.read_text(encoding="utf-8")
    arena.source.write_text(text + "\n#if SAMPLE_NO_EXCEPTIONS\nint broken( {\n#endif\n", "utf-8")

    arena.expect_all_red()
    assert arena.stage("report").rc == 1


def test_a_change_that_git_does_not_see(arena: Arena) -> None:
    arena.start("honest")
    commit_all(arena)
    assert arena.trim().rc == 0
    for flag in ("--assume-unchanged", "--skip-worktree"):
        git(arena, "update-index", flag, str(arena.source))
    arena.make_bad()

    arena.expect_all_red()


def test_a_change_in_an_ignored_file(arena: Arena) -> None:
    arena.start("honest")
    (arena.folder / "engine/.gitignore").write_text("outputs.cpp\n", encoding="utf-8")
    commit_all(arena)
    arena.make_bad()

    arena.expect_red()


def test_a_commit_of_a_dirty_tree(arena: Arena) -> None:
    arena.start("honest")
    commit_all(arena)
    assert arena.trim().rc == 0
    arena.make_bad()

    arena.expect_all_red()
    assert arena.verdict()["engine"]["dirty"]


def test_both_ways_of_a_trim_share_a_folder(arena: Arena) -> None:
    arena.start("trapping")
    arena.trim()

    arena.expect_all_red("--committed")


def test_two_configurations_share_a_folder(arena: Arena) -> None:
    arena.start("honest")
    other = arena.folder / "other.yaml"
    config = arena.project.read() | {"budgets": [{"artifact": ARTIFACT, "max": "1 KiB"}]}
    honest = arena.project.config.read_bytes()
    arena.project.write(config)
    arena.project.config.rename(other)
    arena.project.config.write_bytes(honest)
    where = ("--config", str(other), "--out", str(arena.project.out))

    assert arena.trim().rc == 0
    verbs = (("stage", "verdict"), ("report",), ("trim",))
    assert [arena.run(*verb, *where).rc for verb in verbs] == [1, 1, 1]
    assert arena.gate() == 1
    assert (arena.trim().rc, arena.gate()) == (0, 0)
    assert arena.run("stage", "verdict", *where).rc == 1
