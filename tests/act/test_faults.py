"""What goes wrong around a check: each ends in the right verdict, and in exactly one comment."""

from __future__ import annotations

import pytest

from act import golden, stranger
from act.driver.runner import HOSTED
from act.world import DEVICE_JOB, HOSTED_JOBS, WITH_DEVICE, World
from support.github_state import Repository

pytestmark = pytest.mark.xdist_group("act")

CHECKOUT_FAULT = "MEGTRIM_STAND_IN_FAULT"


@pytest.fixture(scope="module")
def settled(world: World) -> World:
    """The default branch has adopted megtrim, and stored its baseline."""
    world.forge.merge(world.adopted)
    stored = world.forge.run_push()
    assert stored.conclusions == WITH_DEVICE
    return world


def change(world: World, branch: str) -> int:
    """Open a pull request that changes the program, so that no proof holds for it."""
    size = 64 + 8 * len(world.forge.api.pulls)
    return world.propose(branch, {stranger.MAIN: stranger.with_table(size)})


def test_no_runner_takes_the_device_job(settled: World) -> None:
    """The verdict does not wait for the phone: unverified is said, with what is pending."""
    number = change(settled, "offline")
    offline = settled.run_pull(number, runners=(HOSTED,))
    assert offline.run.conclusions == {
        **HOSTED_JOBS,
        DEVICE_JOB: "no runner",
        "verdict": "failure",
        "late": "failure",
    }
    golden.check("offline", offline.body)
    # The phone is back: the same pull request, run again.
    online = settled.run_pull(number)
    assert online.run.conclusions == WITH_DEVICE
    assert online.comments[0]["id"] == offline.comments[0]["id"]
    assert online.body != offline.body


def test_a_device_job_that_is_cut_off_leaves_the_verdict_to_the_rest(settled: World) -> None:
    """It brings no evidence; that is no trap, and no pass either."""
    number = change(settled, "cut-off")
    cut = settled.run_pull(number, env={CHECKOUT_FAULT: "device checkout kit"})
    assert cut.run.conclusions == {
        **WITH_DEVICE,
        DEVICE_JOB: "failure",
        "verdict": "failure",
        "late": "failure",
    }
    golden.check("device-cut-off", cut.body)


def test_a_build_that_left_nothing_is_no_pass(settled: World) -> None:
    """The runner was shut down before anything was uploaded: the check still reports."""
    number = change(settled, "shut-down")
    nothing = settled.run_pull(number, env={CHECKOUT_FAULT: "build checkout project"})
    assert nothing.run.conclusions == {**HOSTED_JOBS, "build": "failure", "verdict": "failure"}
    golden.check("nothing", nothing.body)
    again = settled.run_pull(number)
    assert again.run.conclusions == WITH_DEVICE
    assert again.comments[0]["id"] == nothing.comments[0]["id"]


def test_a_broken_configuration_is_said(settled: World) -> None:
    """There is no verdict to reach; the comment says what to mend."""
    broken = stranger.CONFIG.replace("kind: sample", "kind: simple")
    number = settled.propose("broken", {"megtrim.yaml": broken})
    ended = settled.run_pull(number)
    assert ended.run.conclusions["verdict"] == "failure"
    assert DEVICE_JOB not in ended.run.conclusions
    golden.check("broken", ended.body)


def test_an_expired_baseline_is_rebuilt(settled: World) -> None:
    """The merge base is built beside the change, and the comment says so."""
    api = settled.forge.api
    _set_expired(api, expired=True)
    number = change(settled, "expired")
    rebuilt = settled.run_pull(number)
    _set_expired(api, expired=False)
    assert rebuilt.run.conclusions == WITH_DEVICE
    assert rebuilt.run.jobs["build"].steps["Rebuild the baseline"] == "success"
    golden.check("expired", rebuilt.body)


def _set_expired(api: Repository, *, expired: bool) -> None:
    for artifact in api.artifacts.values():
        if artifact["name"] == "megtrim-baseline":
            artifact["expired"] = expired


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("GET", {"status": 502, "times": 2}),
        ("GET", {"status": 429, "times": 1, "headers": {"Retry-After": "1"}}),
        ("POST", {"status": 403, "times": 1, "headers": {"Retry-After": "1"}}),
        ("POST", {"status": 503, "times": 1, "headers": {"Retry-After": "1"}}),
    ],
    ids=["server error", "rate limit", "secondary limit", "unavailable"],
)
def test_a_passing_trouble_of_the_api_leaves_one_comment(
    settled: World, method: str, fault: dict[str, object]
) -> None:
    """It is tried again where GitHub certainly did nothing."""
    number = change(settled, f"trouble-{len(settled.forge.api.pulls)}")
    settled.forge.github.fail(method, f"/issues/{number}/comments", **fault)  # type: ignore[arg-type]
    chapter = settled.run_pull(number)
    assert chapter.run.conclusions == WITH_DEVICE
    assert len(chapter.comments) == 1


def test_a_comment_that_came_in_spite_of_an_error_is_not_doubled(settled: World) -> None:
    """GitHub wrote it and answered with an error: the job after it finds it and keeps it."""
    number = change(settled, "doubled")
    path = f"/issues/{number}/comments"
    settled.forge.github.fail("POST", path, status=502, acts=True)
    chapter = settled.run_pull(number)
    assert chapter.run.conclusions == WITH_DEVICE
    assert len(chapter.comments) == 1
    assert len(settled.forge.github.calls("POST", path)) == 1


def test_a_token_that_may_not_comment_changes_no_verdict(settled: World) -> None:
    """The job summary has the same text, and says what permission lacks."""
    number = change(settled, "forbidden")
    settled.forge.github.fail("POST", f"/issues/{number}/comments", status=403, times=99)
    forbidden = settled.run_pull(number)
    assert forbidden.run.conclusions == WITH_DEVICE
    assert forbidden.comments == ()
    summary = forbidden.run.jobs["verdict"].summary
    assert "megtrim: pass" in summary
    assert "pull-requests: write" in summary
