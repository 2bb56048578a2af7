"""A stranger's repository, from its first pull request with megtrim to a refreshed trace.

Each step depends on those before it; whichever test is asked for, they run first.
"""

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from act import golden, stranger
from act.driver.forge import BAIT, HOSTILE_BRANCH, STRANGER
from act.driver.runner import Run
from act.world import DEVICE_JOB, WITH_DEVICE, Chapter, World, content
from megtrim.core.config.units import format_growth
from megtrim.core.size.history import SIZE_FILES
from megtrim.libs.history.branch import DataBranch
from megtrim.libs.util.process import ProcessRunner

PROPOSAL = "megtrim/keepset-columns"
HISTORY = True
REFRESH_JOBS = dict.fromkeys(("build", DEVICE_JOB, "keep set", "propose"), "success")


def explain(cause: str, chapter: Chapter, budget: dict[str, Any]) -> str:
    growth = format_growth(budget["used"])
    [line] = (each for each in chapter.body.splitlines() if each.startswith("- **"))
    assert line.startswith(f"- **{cause}** {growth}: ")
    return line


@pytest.fixture(scope="module")
def first(world: World) -> Chapter:
    return world.run_pull(world.adopted)


@pytest.fixture(scope="module")
def stored(world: World, first: Chapter) -> Run:
    """That pull request merged: the run of the default branch."""
    world.forge.merge(first.number)
    return world.forge.run_push()


@pytest.fixture(scope="module")
def within(world: World, stored: Run) -> Chapter:
    """A pull request with another kernel that costs a little, from a branch with a hostile name."""
    return world.run_pull(world.propose(HOSTILE_BRANCH, stranger.another_kernel(400)))


@pytest.fixture(scope="module")
def over(world: World, within: Chapter) -> Chapter:
    """A pull request that costs more than is allowed: log lines, exceptions, type information."""
    config = f"{stranger.CONFIG}trim: {{minimum_size: false}}\n"
    return world.run_pull(world.propose("errors", {"megtrim.yaml": config}))


@pytest.fixture(scope="module")
def trapped(world: World, over: Chapter) -> Chapter:
    """A pull request after which the model needs a kernel that was cut away."""
    files: dict[str, str | bytes | None] = {stranger.ALGORITHMS: stranger.without_pointwise()}
    return world.run_pull(world.propose("columns", files))


@pytest.fixture(scope="module")
def retraced(world: World, trapped: Chapter) -> Run:
    """The refresh, started by hand on the branch of that pull request."""
    return world.forge.run_dispatch("megtrim-refresh.yml", "columns")


@pytest.fixture(scope="module")
def checked(world: World, retraced: Run) -> Chapter:
    world.forge.mirror(PROPOSAL)
    started = world.forge.api.dispatches[-1]
    number = int(started["inputs"]["pull-request"])
    branch = started["ref"]
    workflow = started["workflow"]
    run = world.forge.run_dispatch(workflow, branch, inputs=started["inputs"])
    return world.chapter(number, run)


@pytest.fixture(scope="module")
def fixed(world: World, trapped: Chapter, checked: Chapter) -> Chapter:
    """The same pull request, with the keep set that the refresh proposed to it."""
    world.forge.merge(world.open_pulls()[PROPOSAL])
    return world.run_pull(trapped.number)


@pytest.fixture(scope="module")
def settled(world: World, fixed: Chapter) -> Run:
    """The fix merged: a refresh of what is fresh."""
    world.forge.merge(fixed.number)
    return world.forge.run_dispatch("megtrim-refresh.yml")


def test_the_first_pull_request_has_no_baseline(first: Chapter) -> None:
    assert first.run.conclusions == WITH_DEVICE
    assert first.run.rc == 0
    golden.check("first", first.body)
    report = content(first.run, "megtrim-report", "verdict.json")
    assert (report["verdict"], report["scenarios"][0]["status"]) == ("pass", "pass")
    assert list(first.run.artifacts) == [
        "megtrim-bundle",
        "megtrim-evidence-desk-1",
        "megtrim-proofs",
        "megtrim-report",
        "megtrim-results",
    ]


def test_jobs_hand_on_what_they_say(first: Chapter) -> None:
    outputs = first.run.jobs["build"].outputs
    with zipfile.ZipFile(first.run.artifacts["megtrim-bundle"]) as archive:
        digest = hashlib.sha256(archive.read("bundle.json")).hexdigest()
    assert (outputs["bundle-sha256"], outputs["device-jobs"]) == (digest, "1")
    (leg,) = json.loads(outputs["device"])["include"]
    assert leg["artifact"] == "megtrim-evidence-desk-1"
    text, _, marker = first.body.rstrip("\n").rpartition("\n")
    assert marker == "<!-- megtrim:report:v1:megtrim.yaml -->"
    for job in ("verdict", "late"):
        assert first.run.jobs[job].summary.strip() == text.strip()


def test_the_default_branch_stores_its_baseline(stored: Run) -> None:
    assert stored.conclusions == {**WITH_DEVICE, "history": "success"}
    assert stored.rc == 0
    assert "megtrim-baseline" in stored.artifacts
    sizes = content(stored, "megtrim-baseline", "sizes.json")
    assert sizes["artifacts"]["load_and_run"]["reduced"] > 50_000
    (proof,) = content(stored, "megtrim-baseline", "evidence.json")["entries"]
    assert proof["device"]["name"] == "bench"
    assert [each["status"] for each in proof["results"]] == ["pass"]


def test_the_sizes_of_the_default_branch_join_the_history(world: World, stored: Run) -> None:
    bare = world.forge.root / "remotes" / f"{STRANGER}.git"
    branch = DataBranch(ProcessRunner(os.environ), bare, "perf-history", remote=str(bare))

    sizes = content(stored, "megtrim-baseline", "sizes.json")
    (entry,) = (e for e in branch.read(SIZE_FILES).entries if e.commit == sizes["commit"])

    assert world.forge.api.runs[entry.run]["head_sha"] == entry.commit
    assert entry.config == "megtrim.yaml"
    variants = {name: each.size_bytes for name, each in entry.artifacts["load_and_run"].items()}
    assert variants == sizes["artifacts"]["load_and_run"]


def test_a_change_within_budget_passes(world: World, within: Chapter) -> None:
    assert within.run.conclusions == WITH_DEVICE
    assert within.run.rc == 0
    golden.check("within", within.body, causes=True)
    _, budget = content(within.run, "megtrim-report", "verdict.json")["budgets"]
    assert 4096 <= budget["used"] <= 8192
    assert not Path(world.forge.act.home["HOME"], BAIT).exists()
    assert BAIT not in within.body + within.run.jobs["verdict"].summary
    verdict = content(within.run, "megtrim-report", "verdict.json")
    assert [each["cause"] for each in verdict["notes"]] == ["source"]
    said = explain("source", within, budget)
    assert "src/kernels/conv/checksum.cpp, src/kernels/conv/direct.cpp differ." in said


def test_growth_over_budget_fails(over: Chapter) -> None:
    assert over.run.conclusions == {**WITH_DEVICE, "verdict": "failure", "late": "failure"}
    assert over.run.rc == 1
    golden.check("over", over.body, causes=True)
    _, budget = content(over.run, "megtrim-report", "verdict.json")["budgets"]
    said = explain("flags", over, budget)
    assert "trim.minimum\\_size: not set → False. If it was not meant" in said


def test_a_trap_fails_and_names_what_is_missing(trapped: Chapter) -> None:
    assert trapped.run.conclusions == {**WITH_DEVICE, "verdict": "failure", "late": "failure"}
    assert trapped.run.rc == 1
    golden.check("trapped", trapped.body)
    assert "sample_conv_im2col" in trapped.body


def test_a_refresh_proposes_what_is_missing(world: World, retraced: Run, trapped: Chapter) -> None:
    assert retraced.conclusions == REFRESH_JOBS
    assert retraced.rc == 0
    pull = world.forge.api.pulls[trapped.number + 1]
    assert (pull["head"]["ref"], pull["base"]["ref"]) == (PROPOSAL, "columns")
    assert sorted(retraced.artifacts) == [
        "megtrim-bundle",
        "megtrim-proposal",
        "megtrim-report",
        "megtrim-traces-desk-1",
    ]
    golden.check("proposal", pull["body"])


def test_a_refresh_starts_the_check_of_its_proposal(world: World, checked: Chapter) -> None:
    assert world.forge.api.dispatches == [
        {
            "workflow": "megtrim.yml",
            "ref": PROPOSAL,
            "inputs": {"pull-request": str(checked.number)},
        }
    ]
    assert checked.run.conclusions == WITH_DEVICE
    assert checked.run.rc == 0
    assert "megtrim: pass" in checked.body


def test_the_new_keep_set_fixes_it(trapped: Chapter, fixed: Chapter) -> None:
    assert fixed.run.conclusions == WITH_DEVICE
    assert fixed.run.rc == 0
    golden.check("fixed", fixed.body)
    assert fixed.comments[0]["id"] == trapped.comments[0]["id"]


def test_a_fresh_keep_set_is_left_alone(world: World, settled: Run) -> None:
    assert settled.conclusions == REFRESH_JOBS
    assert settled.rc == 0
    assert settled.jobs["propose"].outputs["outcome"] == "unchanged"
