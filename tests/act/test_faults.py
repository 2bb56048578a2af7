"""What goes wrong around a check: each ends in the right verdict, and in exactly one comment."""

import zipfile
from pathlib import Path

import pytest

from act import golden, stranger
from act.driver.runner import ARM, HOSTED
from act.world import DEVICE_JOB, HOSTED_JOBS, WITH_DEVICE, Chapter, World, content
from support.github_state import Repository


@pytest.fixture(scope="module")
def settled(world: World) -> World:
    world.forge.merge(world.adopted)
    assert world.forge.run_push().conclusions == WITH_DEVICE
    return world


def change(world: World, branch: str) -> int:
    size = 64 + 8 * len(world.forge.api.pulls)
    return world.propose(branch, {stranger.MAIN: stranger.with_table(size)})


def words(world: World, branch: str) -> int:
    return world.propose(branch, {"README.md": f"# Vision app\n\nSees {branch}.\n"})


def verdict(chapter: Chapter) -> str:
    found: str = content(chapter.run, "megtrim-report", "verdict.json")["verdict"]
    return found


def test_no_runner_takes_the_device_job(settled: World) -> None:
    """The verdict waits a while, and reports what is pending: unverified, which blocks no one.

    With act there is no queue: `late` runs at once, as on GitHub after a day without a runner.
    """
    number = change(settled, "offline")
    offline = settled.run_pull(number, runners=(HOSTED,))
    assert offline.run.conclusions == {**WITH_DEVICE, DEVICE_JOB: "no runner"}
    assert verdict(offline) == "unverified"
    golden.check("offline-summary", offline.run.jobs["verdict"].summary)
    golden.check("offline", offline.body)


def test_a_machine_of_github_stands_for_a_class(settled: World) -> None:
    """Its label is the only one that has a runner, and no owner allowed anything."""
    config = stranger.CONFIG.replace("qemu_cpu: max}", f"qemu_cpu: max, runner: {ARM}}}")
    number = settled.propose(
        "hosted", {"megtrim.yaml": config, stranger.MAIN: stranger.with_table(32)}
    )
    env = {"RUNNER_ENVIRONMENT": "github-hosted", "MEGTRIM_HOST_RUNS_PROGRAMS": ""}
    hosted = settled.run_pull(number, runners=(HOSTED, ARM), env=env)
    assert hosted.run.conclusions == WITH_DEVICE
    assert verdict(hosted) == "pass"
    assert "- ✅ pass: bench: outputs equal to the last bit" in hosted.body


def test_late_answers_and_passing_troubles_leave_one_comment(settled: World) -> None:
    """The stored baseline has expired, and a device answers after the verdict.

    Meanwhile the API has troubles that pass; in the last GitHub writes the comment, and answers
    with an error.
    """
    number = change(settled, "late")
    path = f"/issues/{number}/comments"
    github = settled.forge.github
    _set_expired(settled.forge.api, expired=True)
    github.fail("GET", r"/runs/\d+/attempts/1/jobs$", status=403)
    later = {"Retry-After": "1"}
    github.fail("GET", path, status=502, times=2)
    github.fail("GET", path, status=429, headers=later)
    github.fail("POST", path, status=403, headers=later, message="secondary rate limit")
    github.fail("POST", path, status=503, headers=later)
    github.fail("POST", path, status=502, acts=True)
    late = settled.run_pull(number, env={"MEGTRIM_STAND_IN_DELAY": "device checkout kit verdict"})
    _set_expired(settled.forge.api, expired=False)
    assert late.run.conclusions == WITH_DEVICE
    assert late.run.jobs["build"].steps["Rebuild the baseline"] == "success"
    golden.check("late-summary", late.run.jobs["verdict"].summary)
    golden.check("expired", late.body)
    assert verdict(late) == "pass"
    patched = f"/issues/comments/{late.comments[0]['id']}"
    assert len(github.calls("PATCH", patched)) == 1
    assert [call.status for call in github.calls("GET", path)] == [502, 502, 429, 200, 200]
    assert [call.status for call in github.calls("POST", path)] == [403, 503, 502]


def test_a_build_that_left_nothing_is_no_pass(settled: World) -> None:
    """The runner was shut down before anything was uploaded: the check still reports."""
    number = change(settled, "shut-down")
    nothing = settled.run_pull(number, env={"MEGTRIM_STAND_IN_FAULT": "build checkout project"})
    assert nothing.run.conclusions == {**HOSTED_JOBS, "build": "failure", "verdict": "failure"}
    golden.check("nothing", nothing.body)


def test_a_broken_configuration_is_said(settled: World) -> None:
    broken = stranger.CONFIG.replace("kind: sample", "kind: simple")
    number = settled.propose("broken", {"megtrim.yaml": broken})
    ended = settled.run_pull(number)
    assert ended.run.conclusions["verdict"] == "failure"
    assert DEVICE_JOB not in ended.run.conclusions
    golden.check("broken", ended.body)


def test_the_log_of_a_build_that_failed_is_kept(settled: World) -> None:
    number = settled.propose("no-build", {stranger.MAIN: "int main() { return nowhere; }\n"})
    cache = {"CCACHE_REMOTE_STORAGE": "redis://ci:geheim@127.0.0.1:1"}
    failed = settled.run_pull(number, env=cache)
    assert failed.run.conclusions == {**HOSTED_JOBS, "verdict": "failure"}
    logs = _texts(failed.run.artifacts["megtrim-build-logs"])
    assert ["nowhere" in text for text in logs.values()] == [True, True]  # plain, and reduced
    assert all("geheim" not in text for text in logs.values())
    assert "geheim" not in failed.body
    log = failed.run.log.read_text(encoding="utf-8")
    assert "the remote compiler cache redis://127.0.0.1:1 does not answer" in log


def _texts(archive: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


def _set_expired(api: Repository, *, expired: bool) -> None:
    for artifact in api.artifacts.values():
        if artifact["name"] == "megtrim-baseline":
            artifact["expired"] = expired


def test_a_token_that_may_not_comment_changes_no_verdict(settled: World) -> None:
    """The job summary has the same text, and names the missing permission.

    Nor does a change of words take a device: the proof of the default branch holds.
    """
    number = words(settled, "forbidden")
    settled.forge.github.permissions["pull_requests"] = "read"
    forbidden = settled.run_pull(number)
    settled.forge.github.permissions["pull_requests"] = "write"
    assert forbidden.run.conclusions == HOSTED_JOBS
    assert verdict(forbidden) == "pass"
    assert forbidden.comments == ()
    summary = forbidden.run.jobs["verdict"].summary
    assert "megtrim: pass" in summary
    assert "pull-requests: write" in summary
    assert "so no device was used" in summary


def test_a_fork_takes_no_device_and_its_comment_comes_after_its_run(settled: World) -> None:
    number = change(settled, "fork")
    settled.forge.github.permissions["pull_requests"] = "read"
    fork = settled.run_pull(number, fork=True)
    settled.forge.github.permissions["pull_requests"] = "write"
    assert fork.run.conclusions == HOSTED_JOBS
    assert verdict(fork) == "unverified"
    assert fork.comments == ()
    assert settled.forge.github.calls("POST", f"/issues/{number}/comments") == []
    golden.check("fork-summary", fork.run.jobs["verdict"].summary)

    after = settled.chapter(number, settled.forge.run_after(number))
    assert after.run.conclusions == {"comment": "success"}
    assert after.body.startswith("## ⚠️ 1 of 1 scenario not verified")
    assert after.body.endswith("<!-- megtrim:report:v1:megtrim.yaml -->")
