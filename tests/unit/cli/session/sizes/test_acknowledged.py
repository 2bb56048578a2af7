"""What commits acknowledge, read by a real git from real repositories."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from megtrim.cli.session.sizes.acknowledged import read_acknowledgements
from megtrim.config.load import load_config
from megtrim.process import Command, ProcessRunner
from megtrim.size.acknowledgement import Acknowledgements
from megtrim.size.budgets import Baseline
from unit.cli.support import SAMPLE_MODEL

PROCESSES = ProcessRunner({"PATH": os.environ["PATH"]})
CONFIG = """version: 1
engine: {kind: sample}
models: [{name: m, file: m.sample, scenarios: [{name: s}]}]
"""
TRAILER = "Size-Budget: +12 KiB the new head"


class Project:
    """A repository with a configuration in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "app").mkdir(parents=True)
        (folder / "app/m.sample").write_bytes(SAMPLE_MODEL)
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        argv = ("git", "-C", str(cwd or self.folder), *who, *arguments)
        outcome = PROCESSES.run(Command(argv=argv, timeout_s=60.0))
        assert outcome.ok, outcome.stderr
        return outcome.stdout.strip()

    def commit(self, message: str, *, acknowledge: str = "") -> str:
        (self.folder / "app/megtrim.yaml").write_text(CONFIG + acknowledge, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    def read(self, since: str, folder: Path | None = None) -> Acknowledgements:
        loaded = load_config((folder or self.folder) / "app/megtrim.yaml")
        baseline = Baseline(source="main", sizes={("a", "reduced"): 1}, commit=since)
        return read_acknowledgements(loaded, baseline, PROCESSES)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """No commit yet."""
    return Project(tmp_path / "project")


def test_trailers_since_the_baseline_count(project: Project) -> None:
    """Of all commits of the change, none before it; a reason may go on in the next line."""
    project.commit("Earlier\n\nSize-Budget: +1 MiB spent", acknowledge="acknowledge: true\n")
    base = project.commit("Base", acknowledge="acknowledge: true\n")
    first = project.commit(f"One\n\nBody.\n\n{TRAILER}\n of the model\nReviewed-by: Bob")
    project.commit("Two\n\nsize-budget: +1 KiB its table")

    found = project.read(base)

    assert [each.growth_bytes for each in found.entries] == [1024, 12 * 1024]
    assert (found.entries[1].commit, found.entries[1].author) == (first, "Ann")
    assert found.entries[1].reason == "the new head of the model"
    assert found.warnings == ()


@pytest.mark.parametrize(
    "message",
    [
        f"{TRAILER}",
        f"Subject\n{TRAILER}",
        f"Subject\n\n{TRAILER}\n\nMore text.",
        f"Subject\n\nText, and\n{TRAILER}\nin the middle\nof a paragraph\nthat goes on",
        f"Subject\n\n> {TRAILER}",
        "Subject\n\nNot-Size-Budget: +12 KiB x",
    ],
)
def test_what_git_takes_for_no_trailer_is_none(project: Project, message: str) -> None:
    """A quotation or a sentence acknowledges nothing."""
    base = project.commit("Base", acknowledge="acknowledge: true\n")
    project.commit(message, acknowledge="acknowledge: true\n")

    assert project.read(base) == Acknowledgements(allowed=True)


@pytest.mark.parametrize("key", ["", "acknowledge: false\n", "acknowledge: 'true'\n", "- x\n"])
def test_the_base_decides_whether_it_counts(project: Project, key: str) -> None:
    """A change that allows it itself, as one from a fork may, changes nothing."""
    base = project.commit("Base", acknowledge=key)
    project.commit(f"Change\n\n{TRAILER}", acknowledge="acknowledge: true\n")

    found = project.read(base)

    assert (found.allowed, found.growth_bytes) == (False, 0)
    (warning,) = found.warnings
    assert warning.endswith(f"the configuration at {base[:12]} does not say `acknowledge: true`")


def test_a_replaced_commit_makes_no_difference(project: Project) -> None:
    """What a clone shows in a commit's place is not what was pushed."""
    base = project.commit("Base")
    allowing = project.commit("Other", acknowledge="acknowledge: true\n")
    project.commit(f"Change\n\n{TRAILER}", acknowledge="acknowledge: true\n")
    project.git("replace", base, allowing)

    assert project.read(base).growth_bytes == 0


def test_a_clone_without_the_base_says_so(project: Project, tmp_path: Path) -> None:
    """Which commits belong to the change is not known there; a clone that is deep enough does."""
    base = project.commit("Base", acknowledge="acknowledge: true\n")
    project.commit(f"Change\n\n{TRAILER}", acknowledge="acknowledge: true\n")
    for depth, expected in ((1, 0), (2, 12 * 1024)):
        clone = tmp_path / f"clone-{depth}"
        place = project.folder.as_uri()
        project.git("clone", "--quiet", f"--depth={depth}", place, str(clone))
        found = project.read(base, clone)

        assert found.growth_bytes == expected
        assert bool(found.warnings) is (depth == 1)
    assert "may be too shallow" in project.read("f" * 40).warnings[0]


def test_a_merged_change_counts_in_a_merge_queue(project: Project) -> None:
    """Its commits are those that the base does not have, however they were merged."""
    base = project.commit("Base", acknowledge="acknowledge: true\n")
    project.git("checkout", "--quiet", "-b", "change")
    project.commit(f"Change\n\n{TRAILER}", acknowledge="acknowledge: true\n")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--message", "Merge change", "change")

    assert project.read(base).growth_bytes == 12 * 1024


def test_outside_of_a_repository_nothing_is_acknowledged(project: Project) -> None:
    """Nor with a baseline of no commit, or with a name that is none."""
    project.commit(f"Change\n\n{TRAILER}", acknowledge="acknowledge: true\n")
    loaded = load_config(project.folder / "app/megtrim.yaml")

    assert read_acknowledgements(loaded, None, PROCESSES) == Acknowledgements()
    assert project.read("") == project.read("--all") == Acknowledgements()
    (project.folder / ".git").rename(project.folder / "gone")
    assert project.read("f" * 40) == Acknowledgements()
