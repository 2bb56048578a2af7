import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.against import ask_github, leave_sizes
from megtrim.core.config.load import load_config
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from support.github_double import GithubDouble
from support.source_forge import SourceForge
from unit.core.trim.stages.support import CONFIG
from unit.hosting.github.support import TOKEN
from unit.hosting.github.test_baselines import SIZES, Team, team

__all__ = ["team"]

KEY = ("load_and_run", "reduced")
ORIGIN = Origin(project="app", config="megtrim.yaml")


class Project:
    def __init__(self, root: Path) -> None:
        self.forge = SourceForge(root)
        self.folder = root / "work/app"
        self.out = root / "out"
        self.out.mkdir()

    def commit(self, size_bytes: int, more: str = "") -> str:
        sizes = dump_sizes(Baseline(sizes={KEY: size_bytes}))
        files = {"m.mge": "", "megtrim.yaml": CONFIG + more, "sizes.json": sizes}
        return self.forge.commit("app", files)

    def find(self, rev: str) -> tuple[str, int]:
        options = Options(out=self.out, against=rev)
        loaded = load_config(self.folder / "megtrim.yaml")
        processes = ProcessRunner({"PATH": os.environ["PATH"]})
        with (self.out / "log").open("w") as log:
            file = leave_sizes(options, loaded, processes, Console(log, quiet=True))
        found = load_sizes(file, shown="against.json")
        return found.source, found.sizes[KEY]


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.delenv("CI", raising=False)
    return Project(tmp_path)


def test_the_committed_sizes_of_a_commit_are_found(project: Project) -> None:
    first = project.commit(100, "baseline: sizes.json\n")
    project.commit(200, "baseline: sizes.json\n")
    project.forge.git("-C", str(project.folder), "tag", "v1", first)

    assert project.find("v1") == (f"v1 at {first[:12]}, its sizes.json", 100)
    assert project.find(first[:9]) == (f"{first[:9]}, its sizes.json", 100)
    assert project.find("main")[1] == 200


def test_a_pass_of_the_commit_counts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """If it was of the same configuration, had no other changes, and is not from before a job."""
    sha = project.commit(100)
    passed = Baseline(sizes={KEY: 300}, origin=replace(ORIGIN, commit=sha))
    others = (
        replace(passed, origin=replace(passed.origin, changed=True)),
        replace(passed, origin=replace(passed.origin, config="other.yaml")),
        replace(passed, quick=True),
    )
    last = project.out / "last-pass.json"
    before = project.out / "pass-before.json"
    last.write_text(dump_sizes(passed), encoding="utf-8")

    for other in others:
        before.write_text(last.read_text("utf-8"), encoding="utf-8")
        last.write_text(dump_sizes(other), encoding="utf-8")
        assert project.find("main") == (f"main at {sha[:12]}, which passed on this machine", 300)
        before.unlink()
        with pytest.raises(InputError, match=f"--against main: found no sizes of {sha[:12]}"):
            project.find("main")
        last.write_text(dump_sizes(passed), encoding="utf-8")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(InputError, match="found no sizes of"):
        project.find("main")


@pytest.mark.parametrize("rev", ["gone", "--output=x", "main:megtrim.yaml", "$(id)", "a b"])
def test_what_is_no_commit_is_refused(project: Project, rev: str) -> None:
    project.commit(100)

    with pytest.raises(InputError, match="found no such commit in the repository"):
        project.find(rev)
    assert not (project.folder / "x").exists()


@pytest.mark.parametrize(
    ("remote", "token", "expected"),
    [
        ("git@github.com:acme/phone.git", TOKEN, ""),
        ("https://github.com/acme/phone", "", "found no sizes of"),
        ("https://example.com/acme/phone", TOKEN, "found no sizes of"),
        ("https://github.com/acme/gone", TOKEN, "404"),
    ],
)
def test_what_the_check_of_a_commit_stored_is_asked_for_with_a_token(
    team: Team, remote: str, token: str, expected: str
) -> None:
    team.store(days_ago=2)
    processes = ProcessRunner({"GITHUB_API_URL": team.github.url, "GITHUB_TOKEN": token})
    try:
        found = ask_github(team.base, Options(against="main"), ORIGIN, processes, remote)
    except (InputError, InfrastructureFailure) as error:
        assert expected and expected in error.message
        return
    assert (found.sizes, expected) == (SIZES, "")
    assert found.source.startswith(f"main at {team.base[:12]}, this very commit, stored ")
