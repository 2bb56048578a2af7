"""A job of a pull request, whose GitHub is a server of the test."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.counted import Use, Work
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import to_json
from megtrim.hosting.cli.github.client import read_verdict
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import facts, work_row
from unit.core.verdict.performance_examples import NO_CHANGE, performance, row, since


@dataclass(slots=True)
class Job:
    shell: Shell
    github: GithubDouble
    repository: Repository
    base: str
    head: str
    env: pytest.MonkeyPatch

    @property
    def folder(self) -> Path:
        return self.shell.folder

    def __call__(self, *arguments: str) -> Answer:
        (self.folder / "outputs").unlink(missing_ok=True)
        return self.shell("ci", "github", *arguments)

    def event(self, name: str, content: dict[str, Any], **variables: str) -> None:
        (self.folder / "event.json").write_text(json.dumps(content), encoding="utf-8")
        for key, value in {"EVENT_NAME": name, **variables}.items():
            self.env.setenv(f"GITHUB_{key}", value)

    def outputs(self) -> dict[str, str]:
        lines = (self.folder / "outputs").read_text(encoding="utf-8").splitlines()
        return {
            lines[at].partition("<<")[0]: lines[at + 1]
            for at in range(0, len(lines), 3)
            if lines[at].partition("<<")[2] == lines[at + 2]
        }

    def baseline(self) -> Path:
        return self.folder / "out" / "baseline"


def set_variables(
    env: pytest.MonkeyPatch, github: GithubDouble, folder: Path, **changes: str
) -> None:
    """Set what the runner of a job of acme/phone does, whose event is in a file of the folder."""
    variables = {
        "EVENT_PATH": str(folder / "event.json"),
        "REPOSITORY": "acme/phone",
        "RUN_ID": "77",
        "RUN_ATTEMPT": "1",
        "API_URL": github.url,
        "TOKEN": github.token,
        "OUTPUT": str(folder / "outputs"),
    }
    for name, value in {**variables, **changes}.items():
        env.setenv(f"GITHUB_{name}", value)


@contextmanager
def open_job(shell: Shell, env: pytest.MonkeyPatch) -> Iterator[Job]:
    with GithubDouble() as github:
        repository = github.repository("acme/phone", workflows={"megtrim.yml": {"pull-request"}})
        base = repository.commit({"a": "1"}, branch="main")
        head = repository.commit({"a": "2"}, parents=[base], branch="feature")
        set_variables(env, github, shell.folder)
        yield Job(shell, github, repository, base, head, env)
        github.check()


@contextmanager
def open_night(folder: Path, env: pytest.MonkeyPatch) -> Iterator[tuple[GithubDouble, Repository]]:
    with GithubDouble() as github:
        repository = github.repository("acme/phone")
        for number in range(3):
            repository.commit(branch="main", sha=f"{number:040x}")
        head = repository.commit({"a": "1"}, branch="main")
        env.setenv("MEGTRIM_NOW", repository.now.isoformat())
        content = json.dumps({"repository": repository.brief()})
        (folder / "event.json").write_text(content, encoding="utf-8")
        set_variables(env, github, folder, EVENT_NAME="schedule", SHA=head, REF="refs/heads/main")
        yield github, repository
        github.check()


SLOW = row(status=PerformanceStatus.REGRESSED, ratios=(since(1.3),))
FAST = row(ratios=(NO_CHANGE,))
GOOD = f"{0:040x}"


@dataclass(slots=True)
class Team:
    shell: Shell
    github: GithubDouble
    repository: Repository
    env: pytest.MonkeyPatch

    def __call__(self, *rows: object, run: int = 77, options: tuple[str, ...] = ()) -> Answer:
        self.write(*rows, run=run)
        return self.publish(*options)

    def write(self, *rows: object, run: int) -> None:
        self.env.setenv("GITHUB_RUN_ID", str(run))
        found = performance(rows=rows, trimming=(), history=())
        report = self.shell.folder / "report"
        report.mkdir(exist_ok=True)
        text = to_json(join(facts(performance=found)))
        (report / "verdict.json").write_text(text, encoding="utf-8")

    def count(self, instructions: int) -> str:
        """Write a night that counts as many on plain; return its sizes."""
        self.write(SLOW, run=self.repository.run(self.repository.heads["main"], event="schedule"))
        now = Work(key="a" * 64, functions={"conv": (instructions, 0)}, ran=1)
        counted = replace(work_row(now, None, None, scenario=SLOW.scenario), variant="plain")
        report = self.shell.folder / "report"
        found = facts(performance=read_verdict(report).performance, budgets=(counted,))
        (report / "verdict.json").write_text(to_json(join(found)), encoding="utf-8")
        uses = {SLOW.scenario: Use(work={"plain": now})}
        sizes = dump_sizes(Baseline(sizes={("a", "plain"): 1}, uses=uses))
        (report / "sizes.json").write_text(sizes, encoding="utf-8")
        return sizes

    def keep(self, sizes: str, *, sha: str = GOOD, **run: Any) -> None:
        stored = self.repository.run(sha, **run)
        self.repository.artifact(stored, {"sizes.json": sizes}, name="megtrim-performance")

    def compare(self) -> str:
        more = ("--artifact", "megtrim-performance", "--base", GOOD)
        self.shell("ci", "github", "history", "add", "report", *more).expect(0)
        (row,) = read_verdict(self.shell.folder / "report").budgets
        return row.text

    def publish(self, *options: str) -> Answer:
        return self.shell("ci", "github", "regression-issues", "report", "--base", GOOD, *options)

    def states(self) -> list[str]:
        return [each["state"] for each in self.repository.issues.values()]

    def base(self) -> str:
        output = self.shell.folder / "outputs"
        output.unlink(missing_ok=True)
        self.shell("ci", "github", "base", "--history", "history").expect(0)
        return output.read_text(encoding="utf-8").splitlines()[1]


@contextmanager
def open_team(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    with open_night(shell.folder, monkeypatch) as (github, repository):
        yield Team(shell, github, repository, monkeypatch)
