"""Attempts on the jobs around a trim; the steps that conclude are run as they stand."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from attacks.arena import Arena
from attacks.documents import Documents, trap
from megtrim.libs.util.process import Command, ProcessRunner
from unit.core.cli.support import Shell
from unit.hosting.cli.evidence.test_pack import Job
from unit.lab.evidence.support import device
from workflows.documents import action, script, workflow
from workflows.expressions import evaluate
from workflows.test_policy import ALLOWED, DEVICE_JOBS, HOSTED, ON_DEVICES, start

pytestmark = [pytest.mark.chain]


@dataclass(slots=True)
class Runner:
    folder: Path
    arena: Arena

    def __post_init__(self) -> None:
        papers = Documents(self.arena)
        papers.start()
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(papers.folder, self.folder)
        self.lose("report")
        kit = self.folder / "kit/.venv/bin/megtrim"
        kit.parent.mkdir(parents=True)
        kit.write_text(f'#!/bin/sh\nexec {sys.executable} -m megtrim "$@"\n', encoding="utf-8")
        kit.chmod(0o755)

    def lose(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self.folder / name)

    def conclude(self, pending: str = "") -> tuple[str, int]:
        codes = {
            step["name"]: self._run(step["run"], pending)
            for _, step in action("conclude").steps()
            if step["name"] in ("Join", "Gate")
        }
        path = self.folder / "report/verdict.json"
        verdict = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return verdict.get("verdict", ""), codes["Gate"]

    def _run(self, script: str, pending: str) -> int:
        argv = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
        env = {"CONFIG": "megtrim.yaml", "PENDING": pending}
        command = Command(argv=argv, timeout_s=120, cwd=self.folder, env=env)
        return ProcessRunner(os.environ).run(command).rc


@pytest.fixture
def runner(arena: Arena) -> Runner:
    return Runner(arena.root / "runner", arena)


def end_early(runner: Runner) -> None:
    (runner.folder / "results/verdict.json").unlink()
    said = {"message": "megtrim.yaml: no such key", "hint": ""}
    ending = {"version": 2, "config": "megtrim.yaml", "exit": 2, **said}
    (runner.folder / "results/ending.json").write_text(json.dumps(ending), encoding="utf-8")


def damage_results(runner: Runner) -> None:
    (runner.folder / "results/verdict.json").write_bytes(b"\x00" * 100)


ENDS: dict[str, tuple[Callable[[Runner], None], int]] = {
    "the_build_left_nothing": (lambda runner: runner.lose("results", "bundle", "evidence"), 3),
    "the_build_ended_early": (end_early, 2),
    "the_build_passed_and_lost_its_bundle": (lambda runner: runner.lose("bundle"), 3),
    "results_that_cannot_be_read": (damage_results, 2),
}
LABEL = "ubuntu-24.04-arm"
TEAM = "megtrim-devices"
OURS = "megtrim-hosted"
MATRICES: tuple[tuple[dict[str, str], Any, str], ...] = (
    ({"class": "phone", "runner": LABEL}, LABEL, OURS),
    *(
        ({"class": named, **more}, ["self-hosted", "megtrim", named], TEAM)
        for named in ("phone", 'x", "big', "x]", "${{ secrets.key }}", LABEL)
        for more in (
            {},
            {"runner": ""},
            {"runner": "big"},
            {"runner": f"{LABEL}64"},
            {"runner": f'["{LABEL}", "big"]'},
            {"runner": "self-hosted"},
        )
    ),
)
RUNS = {
    "a_run_by_hand_says_where_its_sources_come_from": (
        ("workflow_dispatch", "refs/heads/topic"),
        ("push", "refs/heads/topic"),
    ),
    "a_tag_says_where_its_sources_come_from": (("push", "refs/tags/v9"),),
}
ATTEMPTS = {*ENDS, *RUNS}


@pytest.mark.parametrize("attempt", ENDS)
def test_attempt_to_conclude(runner: Runner, attempt: str) -> None:
    change, code = ENDS[attempt]
    change(runner)

    assert runner.conclude() == ("", code)


def test_a_device_job_failed_to_upload(runner: Runner) -> None:
    runner.lose("evidence")

    for pending in ("", "late"):
        assert runner.conclude(pending)[0] == "unverified"


def test_the_report_of_another_attempt(runner: Runner) -> None:
    assert runner.conclude() == ("pass", 0)
    runner.lose("results", "bundle", "evidence")

    assert runner.conclude() == ("", 3)


def test_a_skipped_verdict() -> None:
    jobs = workflow("size-check").jobs
    steps = [step for _, step in action("conclude").steps()]

    assert jobs["verdict"]["if"] == "always()"
    assert "continue-on-error" not in jobs["verdict"]
    assert (steps[-1]["name"], steps[-1]["if"]) == ("Gate", "always()")
    assert jobs["verdict"]["steps"][-1]["uses"] == "./kit/.github/actions/conclude"
    assert "if" not in jobs["verdict"]["steps"][-1]


def test_the_trim_step_may_fail() -> None:
    steps = [step for _, step in action("conclude").steps()]
    last = workflow("size-check").jobs["verdict"]["steps"][-1]

    assert {"Join", "Gate"}.isdisjoint(s["name"] for s in steps if "continue-on-error" in s)
    assert last["name"] == "Conclude"
    assert "continue-on-error" not in last


def test_artifacts_by_name() -> None:
    steps = [step for _, step in action("conclude").steps()]
    taken = [step["with"] for step in steps if "download-artifact" in step.get("uses", "")]
    names = [given.get("pattern", given.get("artifact-ids")) for given in taken]
    given = workflow("size-check").jobs["verdict"]["steps"][-1]["with"]

    assert names == [
        *(f"${{{{ inputs.{name} }}}}" for name in ("results", "proofs", "bundle")),
        "megtrim-evidence${{ inputs.infix }}*",
        "${{ inputs.annotated }}",
    ]
    for name in ("results", "proofs", "bundle"):
        assert given[name] == f"${{{{ needs.build.outputs.{name} }}}}"


def test_a_late_trap(runner: Runner) -> None:
    evidence = runner.folder / "evidence"
    evidence.rename(runner.folder / "later")
    assert runner.conclude("late")[0] == "unverified"
    (runner.folder / "later").rename(evidence)
    path = evidence / "evidence.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    trap(data["entries"][0]["results"][0])
    path.write_text(json.dumps(data), encoding="utf-8")

    assert runner.conclude() == ("fail", 1)
    late = workflow("size-check").jobs["late"]
    assert late["if"].startswith("always()")
    assert late["steps"][-1]["uses"] == "./kit/.github/actions/conclude"


@pytest.mark.parametrize(
    "event",
    [
        "pull_request_target",
        "pull_request_review",
        "pull_request_review_comment",
        "issue_comment",
        "workflow_run",
        "check_suite",
        "discussion_comment",
        "fork",
        "watch",
        "label",
        "repository_dispatch",
        "registry_package",
        "release",
        "status",
    ],
)
def test_a_fork_by_an_event_that_no_one_thought_of(event: str) -> None:
    run = start(event)
    for name in (each for each in ALLOWED if event not in ALLOWED[each]):
        for job in workflow(name).jobs.values():
            assert evaluate(job["steps"][0]["env"]["ALLOWED_EVENT"], run) is False
            runner = job["runs-on"]
            if "matrix" not in str(runner):  # a device job has a condition
                found = evaluate(runner, run) if runner.startswith("${{") else runner
                assert found == HOSTED
            keys = [step["with"]["key"] for step in job["steps"] if "key" in step.get("with", {})]
            assert [evaluate(each, run) for each in keys] == [""] * len(keys)


@pytest.mark.parametrize(("name", "job"), DEVICE_JOBS, ids=[" ".join(job) for job in ON_DEVICES])
def test_a_build_names_a_runner_of_its_own(name: str, job: dict[str, Any]) -> None:
    for matrix, labels, environment in MATRICES if name != "nightly-performance" else ():
        facts = {"matrix": matrix}
        assert evaluate(job["runs-on"], facts) == labels
        assert evaluate(job["environment"], facts) == environment


def test_a_build_calls_a_machine_of_the_team_one_of_github(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_ENVIRONMENT", "self-hosted")
    monkeypatch.delenv("MEGTRIM_HOST_RUNS_PROGRAMS", raising=False)
    monkeypatch.chdir(tmp_path)
    job = Job(Shell(tmp_path, capsys))
    job.write(devices=(device(hosted=True),))

    job().expect(2, "its programs would run on this machine")


@pytest.mark.parametrize("attempt", RUNS)
def test_attempt_by_a_ref(attempt: str) -> None:
    (trusted,) = (step["with"]["ref"] for _, step in action("sources").steps() if "uses" in step)

    for event, ref in RUNS[attempt]:
        assert evaluate(trusted, start(event, ref=ref)) == "refs/heads/main"


def test_a_night_by_hand_fills_the_cache() -> None:
    saves = [step for _, step in action("compiler-cache").steps() if "save" in step["uses"]]
    for ref in ("refs/heads/topic", "refs/tags/main", "refs/heads/main/x", "refs/pull/1/merge"):
        run = start("workflow_dispatch", ref=ref)
        run["inputs"] = {"save": "true"}
        assert [evaluate(each["if"], run) for each in saves] == [False]


def test_a_build_uploads_the_report_of_another_toolchain() -> None:
    steps = workflow("size-summary").jobs["verdict"]["steps"]
    (taken,) = (s["with"] for s in steps if "download-artifact" in s.get("uses", ""))

    assert taken == {"artifact-ids": "${{ inputs.reports }}", "path": "reports"}
    given = workflow("size-summary").events["workflow_call"]["inputs"]["reports"]
    assert given["required"] == "true"


def test_a_job_leaves_libraries_for_the_next(tmp_path: Path) -> None:
    env = {
        "RUNNER_ENVIRONMENT": "self-hosted",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "RUNNER_TOOL_CACHE": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    assert script("kit").cache_root(env) == tmp_path / "temp/megtrim"
