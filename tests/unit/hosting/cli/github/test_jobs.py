from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.keepset_files import dump_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.trim.committed_keepset import write_committed
from megtrim.core.verdict.model import to_json
from megtrim.hosting.github.jobs import PollingLimits
from megtrim.libs.util.errors import InfrastructureFailure
from support.scenario_records import make_record
from unit.core.cli.support import Answer
from unit.core.verdict import examples
from unit.hosting.cli.github.job import Job

A = Region("a", (1,))
B = Region("b", ("float",))


def keep(*regions: Region) -> KeepSet:
    record = make_record(regions, scenario="m/s@any", trace_sha256="2" * 64)
    return build_keep_set(20220507, (record,), None)


def device(status: str) -> dict[str, Any]:
    return {"id": 1, "name": "size / device any 1/1", "status": status, "conclusion": None}


def test_wait_says_what_is_pending(job: Job) -> None:
    jobs = job.repository.jobs
    jobs[(77, 1)] = [[device("completed")]]
    answer = job("wait", "--jobs", "1")
    assert (answer.status, job.outputs()) == (0, {"pending": ""})
    assert answer.out == "device jobs: 1 of 1 ended, 0 run, 0 wait for a runner\n"

    jobs[(77, 1)] = [[device("queued")]]
    answer = job("wait", "--jobs", "1", "--pickup", "0", "--run", "5")
    assert (answer.status, job.outputs()) == (0, {"pending": "no-runner"})
    assert answer.out == "device jobs: 0 of 1 ended, 0 run, 1 wait for a runner (no-runner)\n"

    jobs[(77, 1)] = [[device("in_progress")]]
    assert job("wait", "--jobs", "1", "--pickup", "0", "--run", "0").status == 0
    assert job.outputs() == {"pending": "late"}


UNPROTECTED = "::warning title=Devices are not protected::the environment megtrim-devices protects"


@pytest.mark.parametrize(
    ("environments", "warns"),
    [
        ({}, False),
        ({"megtrim-devices": []}, True),
        ({"megtrim-devices": ["required_reviewers"]}, False),
        ({"megtrim-hosted": []}, False),
    ],
)
def test_an_environment_that_asks_no_one_is_a_warning(
    job: Job, environments: dict[str, list[str]], warns: bool
) -> None:
    job.repository.environments = environments
    job.repository.jobs[(77, 1)] = [[device("completed")]]
    for verb in ("wait", "environment"):
        answer = job(verb, "--jobs", "1")

        assert answer.status == 0
        assert (UNPROTECTED in answer.out) is warns


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ([], "environment megtrim-devices: it asks no one"),
        (["required_reviewers"], "environment megtrim-devices: it has rules"),
        (None, "environment megtrim-devices: GitHub does not show its rules"),
    ],
)
def test_what_an_environment_asks_is_said(job: Job, rules: list[str] | None, said: str) -> None:
    job.repository.environments = {} if rules is None else {"megtrim-devices": rules}

    assert job("environment", "--jobs", "1").out.splitlines()[-1] == said
    assert job("environment", "--jobs", "").out == "there are no device jobs\n"


def test_looking_at_an_environment_never_fails(job: Job) -> None:
    job.github.permissions["actions"] = "none"
    job.repository.environments = {"megtrim-devices": []}
    assert "GitHub does not show its rules" in job("environment", "--jobs", "1").expect(0).out

    job.env.setenv("GITHUB_EVENT_PATH", "nothing.json")
    assert "GITHUB_EVENT_PATH" in job("environment", "--jobs", "1").expect(0).err


def test_minutes_are_minutes(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = Mock(side_effect=InfrastructureFailure("enough"))
    monkeypatch.setattr("megtrim.hosting.cli.github.jobs.wait_for_jobs", waited)
    answer = job("wait", "--jobs", "3", "--pickup", "10.5", "--run", "120")
    job("wait", "--jobs", "2", "--config", "android/megtrim.yaml")

    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert [call.args[2] for call in waited.call_args_list] == [
        PollingLimits(jobs=3, pickup_s=630, run_s=7200),
        PollingLimits(jobs=2, pickup_s=600, run_s=3600, config_id="android"),
    ]


def test_a_build_that_failed_names_no_jobs(job: Job) -> None:
    answer = job("wait", "--jobs", "")

    assert (answer.status, job.outputs()) == (0, {"pending": ""})
    assert answer.out == "device jobs: there are no device jobs\n"
    assert job.github.journal == []


@pytest.mark.parametrize("jobs", ["many", "-1", "1.5", "٣", "100000"])
def test_jobs_are_a_number(job: Job, jobs: str) -> None:
    assert job("wait", "--jobs", jobs).status == 2


def test_wait_never_fails(job: Job) -> None:
    job.github.permissions["actions"] = "none"
    answer = job("wait", "--jobs", "1")
    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert "permissions: actions: read" in answer.err

    job.env.setenv("GITHUB_EVENT_PATH", "nothing.json")
    answer = job("wait", "--jobs", "1")
    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert "GITHUB_EVENT_PATH" in answer.err


KEPT = "trim/keepset/m/s@any.json"


@pytest.fixture
def refresh(job: Job) -> Job:
    job.repository.commit({KEPT: dump_keep_set(keep(A))}, branch="main")
    write_committed(job.folder / "project" / "trim" / "keepset", keep(A, B))
    (job.folder / "final").mkdir()
    (job.folder / "final" / "verdict.json").write_text(to_json(examples.passing()))
    job.event("schedule", {}, REF="refs/heads/main", SHA=job.repository.heads["main"])
    return job


def propose(job: Job, *arguments: str, keep_set: str = "project/trim/keepset") -> Answer:
    reported = ("--project", "project", "--keep-set", keep_set, "--report", "final")
    return job("propose", *reported, *arguments)


def test_a_new_keep_set_is_proposed_and_its_checks_are_started(refresh: Job) -> None:
    answer = propose(refresh, "--workflow", "megtrim.yml").expect(0)

    assert refresh.outputs() == {"outcome": "opened", "pull-request": "1"}
    assert answer.out == "pull request 1: opened\n"
    assert answer.err == "megtrim.yml started on megtrim/keepset for pull request 1\n"
    repository = refresh.repository
    commit = repository.commits[repository.heads["megtrim/keepset"]]
    assert commit.files[KEPT].decode() == dump_keep_set(keep(A, B))
    assert commit.parents == (repository.heads["main"],)
    pull = repository.pulls[1]
    assert pull["title"] == commit.message == "Refresh trim/keepset"
    assert "| `m/s@any` | 1 | 2 | +1 | -0 |" in pull["body"]
    assert "- added `b<float>`" in pull["body"]
    assert "so the refresh starts `megtrim.yml` on this branch itself" in pull["body"]
    assert repository.dispatches == [
        {"workflow": "megtrim.yml", "ref": "megtrim/keepset", "inputs": {"pull-request": "1"}}
    ]


def test_again_nothing_is_written_and_nothing_started(refresh: Job) -> None:
    propose(refresh, "--workflow", "megtrim.yml")
    refresh.github.journal.clear()

    propose(refresh, "--workflow", "megtrim.yml").expect(
        0, "was already started on megtrim/keepset"
    )

    assert refresh.outputs() == {"outcome": "current", "pull-request": "1"}
    assert {call.method for call in refresh.github.journal} == {"GET"}


def test_checks_that_could_not_be_started_are_started_by_the_next_run(refresh: Job) -> None:
    refresh.github.permissions["actions"] = "read"
    answer = propose(refresh, "--workflow", "megtrim.yml")
    assert (answer.status, refresh.outputs()["outcome"]) == (0, "opened")
    assert "warning: megtrim.yml was not started on megtrim/keepset: POST" in answer.err
    assert "actions: write" in answer.err

    refresh.github.permissions["actions"] = "write"
    propose(refresh, "--workflow", "megtrim.yml")
    assert len(refresh.repository.dispatches) == 1


@pytest.mark.parametrize(
    ("config", "named", "said"),
    [
        ("trim/megtrim.yaml", "trim/keepset", ""),
        (
            "android/megtrim.yaml",
            "trim/keepset",
            "the report is of the configuration trim/megtrim.yaml, expected one of android/",
        ),
        (
            "trim/megtrim.yaml",
            "trim/other",
            "--keep-set: found trim/keepset, and trim/megtrim.yaml names trim/other",
        ),
    ],
)
def test_only_the_keep_set_of_the_configuration_is_proposed(
    refresh: Job, config: str, named: str, said: str
) -> None:
    """A caller of two configurations may have taken the folder of one for the other's."""
    verdict = examples.passing()
    traced = replace(verdict.invocation, config="trim/megtrim.yaml", keep_set=named)
    path = refresh.folder / "final" / "verdict.json"
    path.write_text(to_json(replace(verdict, invocation=traced)), encoding="utf-8")

    propose(refresh, "--config", config).expect(2 if said else 0, said)

    assert bool(refresh.repository.pulls) is not bool(said)


def test_an_equal_keep_set_is_not_proposed(refresh: Job) -> None:
    propose(refresh)
    lines = dump_keep_set(keep(A, B)).splitlines()
    merged = "\n".join([lines[0], *reversed(lines[1:-2]), *lines[-2:]]) + "\n"
    refresh.repository.commit({KEPT: merged}, branch="main")
    refresh.github.journal.clear()

    answer = propose(refresh, "--workflow", "megtrim.yml").expect(0)

    assert refresh.outputs() == {"outcome": "unchanged", "pull-request": ""}
    assert answer.out == "trim/keepset is what main has: nothing to propose\n"
    assert {call.method for call in refresh.github.journal} == {"GET"}
    assert refresh.repository.pulls[1]["state"] == "open"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--workflow", "megtrim.yml", "--token-starts-checks"), "They start by themselves"),
        ((), "close and reopen this pull request to start them"),
    ],
)
def test_checks_that_others_start_need_no_dispatch(
    refresh: Job, arguments: tuple[str, ...], said: str
) -> None:
    assert propose(refresh, *arguments).status == 0
    assert refresh.repository.dispatches == []
    assert said in refresh.repository.pulls[1]["body"]


@pytest.mark.parametrize("committed", ["no keep set", None])
def test_a_first_or_broken_keep_set_is_replaced(refresh: Job, committed: str | None) -> None:
    files = refresh.repository.commits[refresh.repository.heads["main"]].files
    rest = {path: data for path, data in files.items() if path != KEPT}
    added = {} if committed is None else {KEPT: committed.encode()}
    parents = (refresh.repository.heads["main"],)
    refresh.repository.set_head("main", refresh.repository.add_commit(rest | added, parents, "x"))

    answer = propose(refresh)

    assert refresh.outputs()["outcome"] == "opened"
    assert "| `m/s@any` | none | 2 | +2 | -0 |" in refresh.repository.pulls[1]["body"]
    assert ("warning: the committed keep set/m/s@any.json:1: not JSON" in answer.err) == bool(
        committed
    )


@pytest.mark.parametrize(
    ("ref", "arguments", "base"),
    [
        ("refs/heads/main", (), "main"),
        ("refs/heads/release", (), "release"),
        ("refs/heads/main", ("--base", "release"), "release"),
        ("refs/tags/v1", (), "main"),
    ],
)
def test_it_is_proposed_to_the_branch_that_was_traced(
    refresh: Job, ref: str, arguments: tuple[str, ...], base: str
) -> None:
    refresh.repository.set_head("release", refresh.repository.heads["main"])
    refresh.event("workflow_dispatch", {"repository": refresh.repository.brief()}, REF=ref)

    assert propose(refresh, *arguments).status == 0
    (pull,) = refresh.repository.pulls.values()
    branch = "megtrim/keepset" if base == "main" else f"megtrim/keepset-{base}"
    assert (pull["base"]["ref"], pull["head"]["ref"]) == (base, branch)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--base", "nothing"), "there is no branch 'nothing'"),
        (("--branch", "main"), "branch main cannot be proposed to itself"),
        (("--report", "nowhere"), "verdict.json: cannot be read"),
        (("--project", "final"), "is not in final"),
    ],
)
def test_mistakes_in_the_workflow_are_named(
    refresh: Job, arguments: tuple[str, ...], said: str
) -> None:
    propose(refresh, *arguments).expect(2, said)

    assert refresh.repository.pulls == {}
    assert "megtrim/keepset" not in refresh.repository.heads


def test_a_failing_verdict_is_proposed_with_its_headline(refresh: Job) -> None:
    (refresh.folder / "final" / "verdict.json").write_text(to_json(examples.failing()))

    assert propose(refresh).status == 0
    assert "❌ **fail**: " in refresh.repository.pulls[1]["body"]


def test_a_refused_pull_request_is_an_infrastructure_failure(refresh: Job) -> None:
    refresh.repository.may_open_pulls = False

    propose(refresh).expect(3, "Allow GitHub Actions to create and approve pull requests")


def test_hostile_names_stay_text(refresh: Job) -> None:
    hostile = replace(examples.passing(), headline="@admin <!-- megtrim:report:v1:x --> #1")
    (refresh.folder / "final" / "verdict.json").write_text(to_json(hostile))

    propose(refresh)

    body = refresh.repository.pulls[1]["body"]
    assert "<!-- megtrim" not in body
    assert "@admin" not in body
