"""Hints with a command are typed where they stand, with the options that they repeat."""

import os
import re
import shlex
import shutil
from dataclasses import replace

import pytest

from megtrim.checks.invocation import Invocation
from megtrim.perf.outcomes import show_again
from megtrim.util.process import CompletedCommand, ProcessRunner
from support.megtrim_cli import Project, run_megtrim
from unit.perf.report.test_regression_issue import body
from unit.verdict.performance_examples import REGRESSED

pytestmark = [pytest.mark.chain]

SCENARIO = "tiny-mobile/default@any"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.of_sample(
        tmp_path_factory.mktemp("steps") / "trim it", models=("tiny-mobile",)
    )
    changed = {"toolchain": {"kind": "host"}, "trim": {"level": "function"}, "budgets": []}
    project.change(**changed)
    ended = run(project, "check", "--config", "trim it/megtrim.yaml")
    assert type_hint(project, ended.stdout, "make it with ").rc == 0
    return project


def run(project: Project, *words: str) -> CompletedCommand:
    return run_megtrim(*words, cwd=project.folder.parent)


def type_hint(project: Project, said: str, before: str, placeholder: str = "") -> CompletedCommand:
    found = re.search(rf"{before}(megtrim .*?)(?:, and .*)?$", said, re.MULTILINE)
    assert found, said
    return run(project, *shlex.split(found[1].replace(placeholder or "…", "--cpu"))[1:])


def test_results_of_another_mode(project: Project) -> None:
    asked = ("size", "why", "main", "--config", "trim it/megtrim.yaml", "--committed")
    refused = run(project, *asked)
    assert refused.rc == 2

    ended = type_hint(project, refused.stderr, "asked about: ")
    assert ended.rc == 0, ended.stderr
    assert run(project, *asked).rc == 0


def test_a_scenario_that_is_probed(project: Project) -> None:
    words = ("--config", "trim it/megtrim.yaml", "tiny-mobile/default", "--", "--cpu")
    refused = run(project, "probe", *words)

    ended = type_hint(project, refused.stderr, "probe its model: ", "ARGUMENT...")
    assert ended.rc == 0, ended.stderr


def test_a_regression_of_the_night(project: Project) -> None:
    processes, top = ProcessRunner(os.environ), project.folder.parent / "team"
    shutil.copytree(project.folder, top, ignore=shutil.ignore_patterns("megtrim-out"))
    team = Project(top)
    team.change(perf={"other_load": "any", "inconclusive": "warn"})
    for words in ("init -q", "add -A", "-c user.name=t -c user.email=t@invalid commit -qm base"):
        processes.capture("git", "-C", str(top), *words.split())
    base = processes.capture("git", "-C", str(top), "rev-parse", "HEAD").strip()
    again = show_again(Invocation(committed=True), SCENARIO, "fake-first")
    issue = body(replace(REGRESSED, reproduce=again), base=base)
    _, _, recipe = issue.partition("### To see it again")
    said = ""
    for line in recipe.split("```")[1].splitlines()[1:]:
        program, *arguments = shlex.split(line)
        if program == "megtrim":
            ended = run_megtrim(*arguments, cwd=top)
            assert ended.rc == 0, (line, ended.stderr)
            said = ended.stdout
        else:
            processes.capture(program, *arguments, cwd=top)
    assert "ratio to earlier" in said
