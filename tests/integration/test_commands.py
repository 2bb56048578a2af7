"""Every command that a failure prints is pasted where its reader stands, and fails the same way.

Each failure is met in a project whose configuration, results and mode are not the usual ones: what
a command leaves out is then missed.
"""

import dataclasses
import json
import os
import re
import shlex
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import junitparser
import pytest

from integration.conftest import MakeProject
from megtrim.core.checks.invocation import BASELINE_FILE, REPORT_ARTIFACT, Invocation
from megtrim.core.config.config_id import suffix_of
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import dump_keep_set, read_keep_set
from megtrim.libs.util.process import CompletedCommand, ProcessRunner
from megtrim.times.outcomes import show_again
from support.clock import clock_at
from support.megtrim_cli import Project, run_megtrim
from support.source_forge import GIT_ENV
from unit.core.verdict.performance_examples import REGRESSED
from unit.times.report.test_regression_issue import body

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
SCENARIO = f"{MODEL}/default@any"
PASSED = ("pass", "skipped")


class Team:
    """A checkout with its configuration in a folder, called from the top with other results."""

    def __init__(self, top: Path, out: Path) -> None:
        self.top = top
        self.project = Project(top / "trim it")
        self.config = "trim it/team.yaml"
        self.out = os.path.relpath(out, top)

    def change(self, **keys: Any) -> None:
        changed = self.project.read() | keys
        self.project.write(changed)
        (self.top / self.config).write_text(self.project.config.read_text("utf-8"), "utf-8")

    @property
    def keep_set(self) -> Path:
        return self.project.folder / "megtrim" / "keepset" / f"{SCENARIO}.json"

    def run(self, *words: str, env: dict[str, str] | None = None) -> CompletedCommand:
        return run_megtrim(*words, cwd=self.top, env=env)

    def trim(self, *words: str, env: dict[str, str] | None = None) -> CompletedCommand:
        return self.run("trim", "--config", self.config, "--out", self.out, *words, env=env)

    def paste(self, command: str) -> CompletedCommand:
        program, *words = shlex.split(command)
        assert program == "megtrim", command
        return self.run(*words)

    def printed(self, check: str) -> str:
        final = self.top / self.out / "final"
        checks = json.loads((final / "verdict.json").read_text(encoding="utf-8"))["checks"]
        commands = {e["id"]: e["reproduce"] for e in checks if e["status"] not in PASSED}
        assert check in commands, commands
        command: str = commands[check]
        assert f"```text\n{command}\n```" in (final / "report.md").read_text(encoding="utf-8")
        junit = junitparser.JUnitXml.fromfile(str(final / "junit.xml"))
        texts = [str(part.text) for suite in junit for case in suite for part in case.result]
        assert any(f"to reproduce: {command}" in text for text in texts)
        return command


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trimmed checkout, next to the results of all teams: their builds are made once."""
    folder = tmp_path_factory.mktemp("commands")
    team = Team(folder / "checkout", folder / "results")
    Project.of_sample(team.project.folder, models=(MODEL,))
    # Another one of the usual name, which a command without --config would take.
    (team.top / "megtrim.yaml").write_text("version: 1\n", encoding="utf-8")
    team.change(toolchain={"kind": "host"}, budgets=[])
    ended = team.trim()
    assert ended.rc == 0, ended.stderr
    return folder


@pytest.fixture
def team(tmp_path: Path, trimmed: Path) -> Team:
    return Team(shutil.copytree(trimmed / "checkout", tmp_path / "checkout"), trimmed / "results")


def _seen_again(team: Team, ended: CompletedCommand, check: str, rc: int = 1) -> CompletedCommand:
    """Paste the command of a check; its status and output are those of the trim."""
    assert ended.rc == rc, ended.stdout + ended.stderr
    command = team.printed(check)
    assert f"to reproduce: {command}\n" in ended.stdout
    again = team.paste(command)
    assert again.rc == rc, (command, again.stdout, again.stderr)
    return again


def _without_a_kernel(path: Path) -> str:
    before = read_keep_set(path)
    [record] = before.scenarios
    kernels = ("conv", "pooling")
    gone = next(region for region in record.regions if any(e in region.tag for e in kernels))
    left = tuple(each for each in record.regions if each != gone)
    after = KeepSet(
        generation=before.generation,
        scenarios=(dataclasses.replace(record, regions=left),),
        operators=before.operators,
    )
    path.write_text(dump_keep_set(after), encoding="utf-8")
    return str(gone)


def test_a_trap(team: Team) -> None:
    gone = _without_a_kernel(team.keep_set)

    ended = team.trim("--committed")
    again = _seen_again(team, ended, f"trap:{SCENARIO}")
    assert f"fail: trap:{SCENARIO}: it trapped" in again.stdout
    explained = team.run("explain", "--config", team.config, "--out", team.out, gone)
    accept = re.search(r"^megtrim trim .* --accept$", ended.stdout, re.MULTILINE)
    assert accept is not None
    assert accept[0] in explained.stdout
    assert f"{SCENARIO} trapped without it" in explained.stdout

    assert team.trim().rc == 1  # tracing it again is no way out by itself
    assert team.paste(accept[0]).rc == 0
    assert team.trim("--committed").rc == 0


def test_a_stale_keep_set(team: Team) -> None:
    _without_a_kernel(team.keep_set)

    again = _seen_again(team, team.trim(), "keep-set:megtrim/keepset")
    assert "the keep set is stale" in again.stderr


def test_a_shrunken_trace(team: Team) -> None:
    text = team.keep_set.read_text(encoding="utf-8")
    line = f' "region aaa_gone<7>": ["{SCENARIO}"],\n'
    team.keep_set.write_text(text.replace("{\n", "{\n" + line, 1), encoding="utf-8")

    again = _seen_again(team, team.trim(), "header:header/keepset")
    assert "no longer runs aaa_gone<7>" in again.stderr


def test_a_stale_trace(team: Team) -> None:
    [model] = team.project.read()["models"]
    model["scenarios"][0]["args"] = ["--cpu", "--iter", "3"]
    team.change(models=[model])

    again = _seen_again(team, team.trim("--committed"), f"trace:{SCENARIO}")
    assert "is not what was traced: the arguments changed" in again.stdout


def test_a_budget_that_is_exceeded(team: Team) -> None:
    waiver = {"budget": "load_and_run", "bytes": "9 MiB", "reason": "new model", "owner": "Ann"}
    team.change(
        budgets=[{"artifact": "load_and_run", "max": "1 KiB"}],
        waivers=[waiver | {"expires": "2027-01-31"}],
    )

    with clock_at("2027-01-20"):
        warned = team.trim()
    assert warned.rc == 0, warned.stderr
    assert "warning: the waiver of Ann for load_and_run lapses after 2027-01-31, in 11 days" in (
        warned.stdout
    )
    assert "PydanticSerialization" not in warned.stderr
    with clock_at("2027-02-01"):
        again = _seen_again(team, team.trim(), "size:load_and_run/reduced")
    assert "the waiver of Ann lapsed on 2027-01-31: new model" in again.stdout


@pytest.mark.parametrize("in_ci", [False, True])
def test_growth(team: Team, tmp_path: Path, in_ci: bool) -> None:
    assert team.trim().rc == 0
    baseline = tmp_path / "before" / "sizes.json"
    baseline.parent.mkdir()
    sizes = json.loads((team.top / team.out / "final" / "sizes.json").read_text("utf-8"))
    sizes["artifacts"]["load_and_run"]["reduced"] -= 4096
    del sizes["parts"]  # which would not add up to that
    baseline.write_text(json.dumps(sizes), encoding="utf-8")
    team.change(budgets=[{"artifact": "load_and_run", "growth": "1 KiB"}])
    given = os.path.relpath(baseline, team.top)

    env = {"GITHUB_ACTIONS": "true"} if in_ci else {}
    ended = team.trim("--baseline", given, env=env)
    if in_ci:
        artifact = team.top / f"{REPORT_ARTIFACT}{suffix_of(team.config)}"
        artifact.mkdir()
        left = team.top / team.out / "final" / BASELINE_FILE
        left.rename(artifact / BASELINE_FILE)
        baseline.unlink()
        assert "--out" not in team.printed("growth:load_and_run/reduced")
        # The reader has no results yet; here the builds are not made again.
        (team.top / "megtrim-out").symlink_to(team.top / team.out)
    again = _seen_again(team, ended, "growth:load_and_run/reduced")
    assert "fail: growth:load_and_run/reduced: +4 KiB" in again.stdout


def test_a_pass_counts_for_the_commit_that_holds_what_it_was_made_of(
    make_project: MakeProject,
) -> None:
    """What the team adds is untracked until then, and git calls such a tree unchanged."""
    project = make_project(MODEL)
    project.env = {"CI": ""}
    git = partial(ProcessRunner(GIT_ENV).capture, "git", "-C", str(project.folder))
    git("init", "--quiet", "--initial-branch=main", ".")
    git("add", "engine", "megtrim.yaml")
    git("commit", "--quiet", "--message", "Without a keep set")
    project.expect("trim")

    refused = project.run("trim", "--against", "main")
    assert refused.rc == 2
    assert re.search(r"found no sizes of .*json is not as the commit has it", refused.stderr)
    git("add", "--all")
    git("commit", "--quiet", "--message", "Keep what scenarios run")
    sha = git("rev-parse", "HEAD").strip()
    found = project.expect("trim", "--against", "main")
    assert f"main at {sha[:12]}, which passed on this machine" in found.stdout + found.stderr
    empty = project.run("trim", "--against", "")
    assert (empty.rc, "--against: found nothing" in empty.stderr) == (2, True)


@pytest.mark.parametrize(
    ("statement", "check", "said"),
    [
        ("out.back() ^= 1;", f"parity:{SCENARIO}", "output"),
        ("std::_Exit(7);", f"engine:{SCENARIO}", "it ended with 7"),
    ],
)
def test_a_run_that_fails_though_nothing_is_missing(
    team: Team, statement: str, check: str, said: str
) -> None:
    _plant(team, statement)

    again = _seen_again(team, team.trim(), check)
    assert f"fail: {check}: {said}" in again.stdout


def _plant(team: Team, statement: str) -> None:
    source = team.project.folder / "engine/src/load_and_run/outputs.cpp"
    text = source.read_text(encoding="utf-8")
    written = "out.append(tensor.as<char>(), tensor.bytes());"
    planted = f"{written}\n#if SAMPLE_NO_EXCEPTIONS\n{statement}\n#endif\nreturn out;"
    assert f"return {written}" in text
    text = text.replace(f"return {written}", planted)
    source.write_text(f"#include <cstdlib>\n{text}", encoding="utf-8")


def test_an_engine_that_does_not_compile(team: Team) -> None:
    source = team.project.folder / "engine/src/opr/pooling.cpp"
    source.write_text(f"{source.read_text('utf-8')}\nint broken( {{\n", encoding="utf-8")

    again = _seen_again(team, team.trim(), "build:build/plain")
    assert "the engine does not compile" in again.stderr
    assert "pooling.cpp" in again.stderr


def test_a_run_that_cannot_be_traced(team: Team) -> None:
    source = team.project.folder / "engine/src/midout/midout.cpp"
    planted = "#include <cstdlib>\nstatic const int planted = (std::_Exit(7), 0);\n"
    text = f"#if defined(MIDOUT_PROFILING)\n{planted}#endif\n{source.read_text('utf-8')}"
    source.write_text(text, encoding="utf-8")

    again = _seen_again(team, team.trim(), f"trace:{SCENARIO}")
    assert f"profile/{SCENARIO}" in again.stderr


def test_a_machine_that_is_away(team: Team, tmp_path: Path) -> None:
    """It is no failure of the product, here and there: exit 3 of the verb, none of the verdict.

    When the last proof is too old, the verdict says so by itself: a run would not.
    """
    assert team.trim().rc == 0  # the last proof
    for name in ("key", "hosts"):
        (tmp_path / name).write_text("", encoding="utf-8")
    place = {"host": "127.0.0.1", "port": 1, "sysroot": "/"}
    files = {"key": str(tmp_path / "key"), "known_hosts": str(tmp_path / "hosts")}
    team.change(devices=[{"name": "rock", "kind": "ssh", "class": "any", **place, **files}])

    ended = team.trim("--committed")
    command = team.printed(f"device:{SCENARIO}")
    again = team.paste(command)
    assert again.rc == 3
    assert f"infrastructure: device:{SCENARIO}" in again.stdout
    assert "127.0.0.1" in ended.stdout
    assert "127.0.0.1" in again.stdout
    with clock_at("2199-01-01"):
        again = _seen_again(team, team.trim("--committed"), f"coverage:{SCENARIO}")
    assert f"fail: coverage:{SCENARIO}: unverified, last proof" in again.stdout


def test_functions_of_another_link(team: Team) -> None:
    """Each change of the engine makes one; accepting is the way out."""
    team.change(trim={"level": "function"})
    assert team.trim("--accept").rc == 0
    _plant(team, "if (out.empty()) out.reserve(64);")

    again = _seen_again(team, team.trim(), "keep-set:megtrim/keepset")
    assert "lists functions of another link" in again.stderr
    assert team.trim("--committed").rc == 1
    assert team.trim("--accept").rc == 0
    assert team.trim("--committed").rc == 0


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Trimmed by functions, by the command that a check prints."""
    project = Project.of_sample(tmp_path_factory.mktemp("steps") / "trim it", models=(MODEL,))
    project.change(toolchain={"kind": "host"}, trim={"level": "function"}, budgets=[])
    ended = run(project, "check", "--config", "trim it/megtrim.yaml")
    assert type_hint(project, ended.stderr, "make it with ").rc == 0
    return project


def run(project: Project, *words: str) -> CompletedCommand:
    return run_megtrim(*words, cwd=project.folder.parent)


def type_hint(project: Project, said: str, before: str, placeholder: str = "") -> CompletedCommand:
    found = re.search(rf"{before}(megtrim .*?)(?:, and .*)?$", said, re.MULTILINE)
    assert found, said
    return run(project, *shlex.split(found[1].replace(placeholder or "…", "--cpu"))[1:])


def test_results_of_another_mode(steps: Project) -> None:
    asked = ("size", "why", "main", "--config", "trim it/megtrim.yaml", "--committed")
    refused = run(steps, *asked)
    assert refused.rc == 2

    ended = type_hint(steps, refused.stderr, "about its results: ")
    assert ended.rc == 0, ended.stderr
    assert run(steps, *asked).rc == 0


def test_a_scenario_that_is_probed(steps: Project) -> None:
    words = ("--config", "trim it/megtrim.yaml", "tiny-mobile/default", "--", "--cpu")
    refused = run(steps, "probe", *words)

    ended = type_hint(steps, refused.stderr, "probe its model: ", "ARGUMENT...")
    assert ended.rc == 0, ended.stderr


def test_a_regression_of_the_night(steps: Project) -> None:
    processes = ProcessRunner(os.environ)
    top = steps.folder.parent / "team"
    shutil.copytree(steps.folder, top, ignore=shutil.ignore_patterns("megtrim-out"))
    team = Project(top)
    team.change(perf={"other_load": "any", "inconclusive": "warn"})
    for words in ("init -q", "add -A", "-c user.name=t -c user.email=t@invalid commit -qm base"):
        processes.capture("git", "-C", str(top), *words.split())
    base = processes.capture("git", "-C", str(top), "rev-parse", "HEAD").strip()
    again = show_again(Invocation(committed=True), SCENARIO, "fake-first")
    issue = body(dataclasses.replace(REGRESSED, reproduce=again), base=base)
    _, _, recipe = issue.partition("### To reproduce")
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
