from typing import Any

import pytest

from workflows.documents import workflow

JOBS = workflow("release-kit").jobs
COMMAND = "scripts/kit_release.py "


def steps(job_id: str) -> list[str]:
    done = [step.get("run") or step["uses"].partition("@")[0] for step in JOBS[job_id]["steps"]]
    return [each.rpartition(COMMAND)[2] for each in done]


def conditions(job: dict[str, Any]) -> list[str]:
    return [each["if"] for each in (job, *job["steps"]) if "if" in each]


def test_each_job_waits_for_those_before() -> None:
    assert {name: job.get("needs", []) for name, job in JOBS.items()} == {
        "build": [],
        "rebuild": [],
        "try": ["build", "rebuild"],
        "attest": ["build", "try"],
        "publish": ["build", "attest"],
    }
    assert [conditions(job) for job in JOBS.values()] == [[]] * len(JOBS)
    assert not any("continue-on-error" in step for _, step in workflow("release-kit").steps())


def test_a_wrong_tag_ends_the_run_before_anything_is_built() -> None:
    names = steps("build")
    (held,) = (step for step in JOBS["build"]["steps"] if "kit_release.py check" in str(step))

    assert held["env"] == {"TAG": "${{ github.ref_name }}"}
    assert names.index('check "$TAG"') < names.index("build dist")


def test_the_second_build_is_somewhere_else() -> None:
    (first,) = (step for step in JOBS["build"]["steps"] if step["name"] == "Build")
    (second,) = (step for step in JOBS["rebuild"]["steps"] if step["name"] == "Build")

    assert first["run"] == f"python3 kit/{COMMAND}build dist"
    assert second["run"] == f"python3 kit-in-another-folder/{COMMAND}build --umask 077 again"
    assert sorted(second["env"]) == ["LC_ALL", "TZ"]
    assert "env" not in first


def test_both_are_compared_and_one_is_tried() -> None:
    assert steps("try")[-2:] == ["compare dist again", "try dist"]


@pytest.mark.parametrize("name", ["try", "attest", "publish"])
def test_what_was_built_is_taken_by_its_id(name: str) -> None:
    taken = [
        step["with"] for step in JOBS[name]["steps"] if "download-artifact@" in step.get("uses", "")
    ]
    built = {"artifact-ids": "${{ needs.build.outputs.files }}", "path": "dist"}

    assert taken[0] == built
    assert len(taken) == (2 if name == "try" else 1)


def test_the_job_that_signs_has_no_code_at_all() -> None:
    assert steps("attest") == ["actions/download-artifact", "actions/attest"]
    assert JOBS["attest"]["steps"][1]["with"] == {"subject-checksums": "dist/SHA256SUMS"}


def test_the_job_that_writes_builds_nothing() -> None:
    job = JOBS["publish"]

    assert job["environment"] == "megtrim-kit"
    assert not [each for each in steps("publish") if COMMAND in each]
    assert [step["name"] for step in job["steps"] if "env" in step] == ["Publish"]
    assert job["steps"][-1]["name"] == "Publish"


def test_nothing_is_taken_from_a_cache() -> None:
    assert "cache" not in workflow("release-kit").text
