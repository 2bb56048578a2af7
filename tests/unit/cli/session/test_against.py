from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build_spec import Origin
from megtrim.checks.invocation import Options
from megtrim.cli.session.against import ask_github, leave_sizes
from megtrim.config.load import load_config
from megtrim.size.baseline import dump_sizes, load_sizes
from megtrim.size.budgets import Baseline
from megtrim.util.console import Console
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner
from support.github_double import GithubDouble
from unit.github.support import TOKEN
from unit.github.test_baselines import SIZES, Team, team
from unit.trim.stages.support import CONFIG

__all__ = ["team"]

KEY = ("load_and_run", "reduced")


class Project:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.out = folder / "app", folder / "out"
        self.folder.mkdir()
        self.out.mkdir()
        ids = {
            f"GIT_{who}_{what}": "a@b"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        self.processes = ProcessRunner({"PATH": "/usr/bin:/bin", "HOME": str(folder), **ids})
        (self.folder / "m.mge").touch()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        argv = ("git", "-C", str(self.folder), *arguments)
        outcome = self.processes.run(Command(argv=argv, timeout_s=60.0))
        assert outcome.ok, outcome
        return outcome.stdout.strip()

    def commit(self, size_bytes: int, more: str = "") -> str:
        (self.folder / "megtrim.yaml").write_text(CONFIG + more, encoding="utf-8")
        sizes = dump_sizes(Baseline(sizes={KEY: size_bytes}))
        (self.folder / "sizes.json").write_text(sizes, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD")

    def find(self, rev: str) -> tuple[str, int]:
        options = Options(out=self.out, against=rev)
        loaded = load_config(self.folder / "megtrim.yaml")
        with (self.out / "log").open("w") as log:
            file = leave_sizes(options, loaded, self.processes, Console(log, quiet=True))
        found = load_sizes(file, shown="against.json")
        return found.source, found.sizes[KEY]


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        yield double


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(tmp_path, monkeypatch)


def test_the_committed_sizes_of_a_commit_are_found(project: Project) -> None:
    first = project.commit(100, "baseline: sizes.json\n")
    project.commit(200, "baseline: sizes.json\n")
    project.git("tag", "v1", first)

    assert project.find("v1") == (f"v1 at {first[:12]}, its sizes.json", 100)
    assert project.find(first[:9]) == (f"{first[:9]}, its sizes.json", 100)
    assert project.find("main")[1] == 200


def test_a_pass_of_the_commit_counts_if_it_had_no_other_changes(project: Project) -> None:
    sha = project.commit(100)
    passed = Baseline(sizes={KEY: 300}, origin=Origin(commit=sha))
    (project.out / "last-pass.json").write_text(dump_sizes(passed), encoding="utf-8")

    assert project.find("main") == (f"main at {sha[:12]}, which passed on this machine", 300)
    dirty = replace(passed, origin=Origin(commit=sha, changed=True))
    (project.out / "last-pass.json").write_text(dump_sizes(dirty), encoding="utf-8")
    with pytest.raises(InputError, match=f"--against main: found no sizes of {sha[:12]}"):
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
    project: Project, team: Team, remote: str, token: str, expected: str
) -> None:
    team.store(days_ago=2)
    project.commit(100)
    env = {**project.processes.env, "GITHUB_API_URL": team.github.url, "GITHUB_TOKEN": token}
    options, loaded = Options(against="main"), load_config(project.folder / "megtrim.yaml")

    def ask() -> Baseline:
        return ask_github(team.base, options, loaded, ProcessRunner(env), remote)

    if not expected:
        found = ask()
        assert found.sizes == SIZES
        assert found.source.startswith(f"main at {team.base[:12]}, this very commit, stored ")
        return
    with pytest.raises((InputError, InfrastructureFailure)) as caught:
        ask()
    assert expected in caught.value.message
