"""``megtrim ci github baseline``, ``wait`` and ``propose`` as a job calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.cli.ci.github import baseline as github_baseline
from megtrim.errors import InfrastructureFailure, Interrupted, ProductFailure
from megtrim.evidence.evidence import EvidenceSet, dump_set, load_proofs
from megtrim.github.jobs import PollingLimits
from megtrim.midout.keepset import KeepSet, ScenarioRecord, build_keep_set, dump_keep_set
from megtrim.midout.region import Region
from megtrim.size.baseline import dump_sizes, load_sizes
from megtrim.verdict.model import to_json
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.cli.support import Answer, Shell
from unit.verdict import examples

SIZES = {("load_and_run", "plain"): 1000, ("load_and_run", "reduced"): 100}
REBUILT = {("load_and_run", "plain"): 1500, ("load_and_run", "reduced"): 150}
EMPTY = EvidenceSet(entries=())
A, B = Region("a", (1,)), Region("b", ("float",))


def keep(*regions: Region) -> KeepSet:
    """Return the keep set of one scenario."""
    record = ScenarioRecord(
        id="m/s@any",
        model_sha256="0" * 64,
        arguments=("--cpu",),
        inputs=(),
        algo_cache_sha256=None,
        threads=1,
        trace_sha256="2" * 64,
        regions=regions,
    )
    return build_keep_set(20220507, (record,), None)


@dataclass(slots=True)
class Job:
    """A job of a pull request in a team's repository."""

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
        """Set what the job runs for."""
        path = self.folder / "event.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        self.env.setenv("GITHUB_EVENT_NAME", name)
        self.env.setenv("GITHUB_EVENT_PATH", str(path))
        for key, value in variables.items():
            self.env.setenv(f"GITHUB_{key}", value)

    def outputs(self) -> dict[str, str]:
        """Return the outputs of the step."""
        lines = (self.folder / "outputs").read_text(encoding="utf-8").splitlines()
        return {
            lines[at].partition("<<")[0]: lines[at + 1]
            for at in range(0, len(lines), 3)
            if lines[at].partition("<<")[2] == lines[at + 2]
        }

    def baseline(self) -> Path:
        return self.folder / "out" / "baseline"


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GithubDouble() as github:
        repository = github.repository("acme/phone", workflows={"megtrim.yml": {"pull-request"}})
        base = repository.commit({"a": "1"}, branch="main")
        head = repository.commit({"a": "2"}, parents=[base], branch="feature")
        told = Job(shell, github, repository, base, head, monkeypatch)
        ends = {
            "head": {"sha": head, "ref": "feature", "repo": repository.brief()},
            "base": {"sha": base, "ref": "main", "repo": repository.brief()},
        }
        told.event(
            "pull_request",
            {"pull_request": {"number": 7, **ends}, "repository": repository.brief()},
            REPOSITORY="acme/phone",
            SHA=head,
            REF="refs/pull/7/merge",
            RUN_ID="77",
            RUN_ATTEMPT="1",
            API_URL=github.url,
            TOKEN=github.token,
            OUTPUT=str(shell.folder / "outputs"),
        )
        yield told
        github.check()


def find(job: Job) -> Answer:
    """Run find as the workflow does."""
    return job("baseline", "find", "--out", "out")


def store(job: Job, *, sha: str = "") -> None:
    """Let a run on main store a baseline."""
    files = {"sizes.json": dump_sizes(SIZES), "evidence.json": dump_set(EMPTY)}
    run = job.repository.run(sha or job.base)
    job.repository.artifact(run, files)


def source(job: Job) -> str:
    """Return what a report will say of the baseline."""
    return load_sizes(job.baseline() / "sizes.json", shown="").source


def test_a_stored_baseline_is_written(job: Job) -> None:
    """Sizes with their source, proofs, and which commit they are of."""
    store(job)

    answer = find(job)

    assert answer.status == 0
    assert job.outputs() == {"how": "merge-base", "rebuild": ""}
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == SIZES
    assert source(job).startswith(f"main at {job.base[:12]}, the merge base, stored ")
    assert answer.out == f"baseline: {source(job)}\n"
    assert load_proofs(job.baseline() / "evidence.json") == EMPTY
    assert json.loads((job.baseline() / "wanted.json").read_text()) == {
        "version": 1,
        "sha": job.base,
        "branch": "main",
        "what": "the merge base",
    }


def test_the_name_of_the_artifact_can_be_another(job: Job) -> None:
    """Each configuration stores under its own."""
    run = job.repository.run(job.base)
    job.repository.artifact(run, {"sizes.json": dump_sizes(SIZES)}, name="ios")

    assert job("baseline", "find", "--out", "out", "--artifact", "ios").status == 0
    assert job.outputs()["how"] == "merge-base"


def test_no_baseline_is_written_too(job: Job) -> None:
    """A report then says why there is none, and the merge base is built."""
    assert find(job).status == 0

    assert job.outputs() == {"how": "none", "rebuild": job.base}
    assert source(job) == "none: no run on main has stored one yet"
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == {}
    assert load_proofs(job.baseline() / "evidence.json") == EMPTY


def test_github_that_does_not_answer_blocks_nothing(job: Job) -> None:
    """A warning, an empty baseline, and what an earlier run wanted is forgotten."""
    find(job)
    job.github.permissions["contents"] = "none"

    answer = find(job)

    assert answer.status == 0
    assert "warning: no baseline: GET /repos/acme/phone/compare/" in answer.err
    assert "permissions: contents: read" in answer.err
    assert job.outputs() == {"how": "none", "rebuild": ""}
    assert source(job).startswith("none: GitHub did not answer (")
    assert not (job.baseline() / "wanted.json").exists()


def test_the_first_run_of_all_may_get_no_answer(job: Job) -> None:
    """There is nothing to forget then."""
    job.github.fail("GET", "/compare/", status=404)

    assert find(job).status == 0
    assert sorted(path.name for path in job.baseline().iterdir()) == ["evidence.json", "sizes.json"]


def test_outside_of_a_job_find_says_what_lacks(job: Job) -> None:
    """A workflow that passes no token is wrong, and would find nothing for ever."""
    job.env.setenv("GITHUB_TOKEN", "")

    answer = find(job)

    assert answer.status == 2
    assert "env GITHUB_TOKEN" in answer.err


@pytest.mark.parametrize(
    ("way", "quick"), [(("--quick",), True), (("--committed",), False), ((), False)]
)
def test_a_baseline_is_rebuilt_in_the_way_that_was_looked_for(
    job: Job, way: tuple[str, ...], quick: bool
) -> None:
    """What `find` left says which."""
    asked: list[Any] = []

    def built(options: Any) -> Any:
        asked.append((options.quick, options.committed))
        return REBUILT

    job.env.setattr(github_baseline, "_measure_variants", built)
    job("baseline", "find", "--out", "out", *way)
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    rebuild(job)
    rebuilt = load_sizes(job.baseline() / "sizes.json", shown="")

    assert asked == [(quick, not quick)]
    assert (left.quick, rebuilt.quick, rebuilt.sizes) == (quick, quick, REBUILT)


def rebuild(job: Job) -> Answer:
    """Run rebuild as the workflow does."""
    return job("baseline", "rebuild", "--config", "base/megtrim.yaml", "--out", "out")


def test_a_rebuilt_baseline_says_so(job: Job) -> None:
    """Its sizes are those of the merge base itself."""
    store(job, sha=job.repository.commit({"b": "1"}, parents=[job.base], branch="main"))
    find(job)
    assert job.outputs() == {"how": "last-known", "rebuild": job.base}
    asked: list[Any] = []

    def built(options: Any) -> Any:
        asked.append((str(options.config), str(options.out)))
        return REBUILT

    job.env.setattr(github_baseline, "_measure_variants", built)

    assert rebuild(job).status == 0

    assert asked == [("base/megtrim.yaml", "out")]
    assert job.outputs() == {"how": "rebuilt"}
    assert source(job) == f"main at {job.base[:12]}, the merge base, rebuilt"
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == REBUILT


@pytest.mark.parametrize(
    "failure",
    [ProductFailure("it does not compile"), InfrastructureFailure("it does not compile")],
)
def test_where_the_rebuild_fails_the_last_known_stays(job: Job, failure: Exception) -> None:
    """And the reason is said."""
    other = job.repository.commit({"b": "1"}, parents=[job.base], branch="main")
    store(job, sha=other)
    find(job)
    known = source(job)

    def fails(_options: Any) -> Any:
        raise failure

    job.env.setattr(github_baseline, "_measure_variants", fails)
    answer = rebuild(job)

    assert answer.status == 0
    assert job.outputs() == {"how": "last-known"}
    assert source(job) == f"{known}; the merge base cannot be rebuilt (it does not compile)"
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == SIZES
    assert answer.err == (
        f"warning: main at {job.base[:12]} cannot be rebuilt: it does not compile\n"
    )


def test_a_merge_base_without_a_configuration_cannot_be_rebuilt(job: Job) -> None:
    """The first pull request of a team brings the configuration."""
    find(job)

    assert rebuild(job).status == 0

    assert job.outputs() == {"how": "none"}
    assert source(job).startswith(
        "none: no run on main has stored one yet; the merge base cannot be rebuilt ("
    )
    assert "base/megtrim.yaml" in source(job)


def test_ctrl_c_ends_a_rebuild(job: Job) -> None:
    """It is no reason to go on without a baseline."""
    find(job)

    answer_to_signal = "interrupted"

    def interrupted(_options: Any) -> Any:
        raise Interrupted(answer_to_signal)

    job.env.setattr(github_baseline, "_measure_variants", interrupted)

    assert rebuild(job).status == 130


@pytest.mark.parametrize("text", [None, "{}", '{"version": 1, "sha": "x"}'])
def test_rebuild_needs_what_find_left(job: Job, text: str | None) -> None:
    """Which commit it builds is not guessed."""
    find(job)
    wanted = job.baseline() / "wanted.json"
    wanted.unlink()
    if text is not None:
        wanted.write_text(text)

    answer = rebuild(job)

    assert answer.status == 2
    assert "run `megtrim ci github baseline find` first" in answer.err


def device(status: str) -> dict[str, Any]:
    """Return the state of the one device job."""
    return {"id": 1, "name": "size / device any 1/1", "status": status, "conclusion": None}


def test_wait_says_what_is_pending(job: Job) -> None:
    """Nothing, no runner, or late."""
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


def test_minutes_are_minutes(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten minutes to be picked up, two hours in all."""
    seen: list[Any] = []
    failure = InfrastructureFailure("enough")

    def waited(_api: Any, _event: Any, limits: Any, **_rest: Any) -> Any:
        seen.append(limits)
        raise failure

    monkeypatch.setattr("megtrim.cli.ci.github.jobs.wait_for_jobs", waited)
    arguments = ("--pickup", "10.5", "--run", "120", "--name-prefix", "phone")
    answer = job("wait", "--jobs", "3", *arguments)
    job("wait", "--jobs", "2")

    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert seen == [
        PollingLimits(jobs=3, pickup_s=630, run_s=7200, prefix="phone"),
        PollingLimits(jobs=2, pickup_s=600, run_s=3600, prefix="device"),
    ]


def test_a_build_that_failed_names_no_jobs(job: Job) -> None:
    """Its output is empty: there is nothing to wait for."""
    answer = job("wait", "--jobs", "")

    assert (answer.status, job.outputs()) == (0, {"pending": ""})
    assert answer.out == "device jobs: there are no device jobs\n"
    assert job.github.journal == []


@pytest.mark.parametrize("jobs", ["many", "-1", "1.5", "٣", "100000"])
def test_jobs_are_a_number(job: Job, jobs: str) -> None:
    """Anything else is a mistake in the workflow."""
    assert job("wait", "--jobs", jobs).status == 2


def test_wait_never_fails(job: Job) -> None:
    """Without an answer, and without an event."""
    job.github.permissions["actions"] = "none"
    answer = job("wait", "--jobs", "1")
    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert "permissions: actions: read" in answer.err

    job.env.setenv("GITHUB_EVENT_PATH", "nothing.json")
    answer = job("wait", "--jobs", "1")
    assert (answer.status, job.outputs()) == (0, {"pending": "late"})
    assert "GITHUB_EVENT_PATH" in answer.err


@pytest.fixture
def refresh(job: Job) -> Job:
    """A job that traced again: a checkout with the new keep set, and a report."""
    job.repository.commit({"trim/keepset.json": dump_keep_set(keep(A))}, branch="main")
    project = job.folder / "project" / "trim"
    project.mkdir(parents=True)
    (project / "keepset.json").write_text(dump_keep_set(keep(A, B)))
    (job.folder / "final").mkdir()
    (job.folder / "final" / "verdict.json").write_text(to_json(examples.passing()))
    job.event("schedule", {}, REF="refs/heads/main", SHA=job.repository.heads["main"])
    return job


def propose(job: Job, *arguments: str, keep_set: str = "project/trim/keepset.json") -> Answer:
    """Run propose as the workflow does."""
    told = ("--project", "project", "--keep-set", keep_set, "--report", "final")
    return job("propose", *told, *arguments)


def test_a_new_keep_set_is_proposed_and_its_checks_are_started(refresh: Job) -> None:
    """One commit, one pull request, one dispatch."""
    answer = propose(refresh, "--workflow", "megtrim.yml")

    assert answer.status == 0
    assert refresh.outputs() == {"outcome": "opened", "pull-request": "1"}
    assert answer.out == "pull request 1: opened\n"
    assert answer.err == "megtrim.yml started on megtrim/keepset for pull request 1\n"
    repository = refresh.repository
    commit = repository.commits[repository.heads["megtrim/keepset"]]
    assert commit.files["trim/keepset.json"].decode() == dump_keep_set(keep(A, B))
    assert commit.parents == (repository.heads["main"],)
    pull = repository.pulls[1]
    assert pull["title"] == commit.message == "Refresh trim/keepset.json"
    assert "| `m/s@any` | 1 | 2 | +1 | -0 |" in pull["body"]
    assert "- added `b<float>`" in pull["body"]
    assert "so the refresh starts `megtrim.yml` on this branch itself" in pull["body"]
    assert repository.dispatches == [
        {"workflow": "megtrim.yml", "ref": "megtrim/keepset", "inputs": {"pull-request": "1"}}
    ]


def test_again_nothing_is_written_and_nothing_started(refresh: Job) -> None:
    """A refresh every night."""
    propose(refresh, "--workflow", "megtrim.yml")
    refresh.github.journal.clear()

    answer = propose(refresh, "--workflow", "megtrim.yml")

    assert answer.status == 0
    assert refresh.outputs() == {"outcome": "current", "pull-request": "1"}
    assert "was already started on megtrim/keepset" in answer.err
    assert {call.method for call in refresh.github.journal} == {"GET"}


def test_checks_that_could_not_be_started_are_started_by_the_next_run(refresh: Job) -> None:
    """A pull request without checks is still worth having."""
    refresh.github.permissions["actions"] = "read"
    answer = propose(refresh, "--workflow", "megtrim.yml")
    assert (answer.status, refresh.outputs()["outcome"]) == (0, "opened")
    assert "warning: megtrim.yml was not started on megtrim/keepset: POST" in answer.err
    assert "actions: write" in answer.err

    refresh.github.permissions["actions"] = "write"
    propose(refresh, "--workflow", "megtrim.yml")
    assert len(refresh.repository.dispatches) == 1


def test_an_equal_keep_set_is_not_proposed(refresh: Job) -> None:
    """Also where git has merged the committed one line by line; nothing is closed."""
    propose(refresh)
    lines = dump_keep_set(keep(A, B)).splitlines()
    merged = "\n".join([lines[0], *reversed(lines[1:-2]), *lines[-2:]]) + "\n"
    refresh.repository.commit({"trim/keepset.json": merged}, branch="main")
    refresh.github.journal.clear()

    answer = propose(refresh, "--workflow", "megtrim.yml")

    assert answer.status == 0
    assert refresh.outputs() == {"outcome": "unchanged", "pull-request": ""}
    assert answer.out == "trim/keepset.json is what main has: nothing to propose\n"
    assert {call.method for call in refresh.github.journal} == {"GET"}
    assert refresh.repository.pulls[1]["state"] == "open"


def test_a_token_that_starts_checks_needs_no_dispatch(refresh: Job) -> None:
    """That of a GitHub App."""
    answer = propose(refresh, "--workflow", "megtrim.yml", "--token-starts-checks")

    assert answer.status == 0
    assert refresh.repository.dispatches == []
    assert "They start by themselves" in refresh.repository.pulls[1]["body"]


def test_without_a_workflow_people_start_the_checks(refresh: Job) -> None:
    """The text says how."""
    assert propose(refresh).status == 0

    assert refresh.repository.dispatches == []
    assert (
        "close and reopen this pull request to start them" in (refresh.repository.pulls[1]["body"])
    )


@pytest.mark.parametrize("committed", ["no keep set", None])
def test_a_first_or_broken_keep_set_is_replaced(refresh: Job, committed: str | None) -> None:
    """What cannot be read cannot be compared; the new one is proposed all the same."""
    files = refresh.repository.commits[refresh.repository.heads["main"]].files
    rest = {path: data for path, data in files.items() if path != "trim/keepset.json"}
    added = {} if committed is None else {"trim/keepset.json": committed.encode()}
    parents = (refresh.repository.heads["main"],)
    refresh.repository.set_head("main", refresh.repository.add_commit(rest | added, parents, "x"))

    answer = propose(refresh)

    assert refresh.outputs()["outcome"] == "opened"
    assert "| `m/s@any` | none | 2 | +2 | -0 |" in refresh.repository.pulls[1]["body"]
    assert ("warning: the committed keep set:1: not JSON" in answer.err) == bool(committed)


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
    """Unless another one is named. Each base has a proposal of its own."""
    refresh.repository.set_head("release", refresh.repository.heads["main"])
    content = {"repository": refresh.repository.brief()}
    refresh.event("workflow_dispatch", content, REF=ref)

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
    """Nothing is written then."""
    answer = propose(refresh, *arguments)

    assert answer.status == 2
    assert said in answer.err
    assert refresh.repository.pulls == {}
    assert "megtrim/keepset" not in refresh.repository.heads


def test_a_failing_verdict_is_proposed_with_its_headline(refresh: Job) -> None:
    """The pull request is where people look at it."""
    failing = examples.failing()
    (refresh.folder / "final" / "verdict.json").write_text(to_json(failing))

    assert propose(refresh).status == 0
    assert "❌ **fail**: " in refresh.repository.pulls[1]["body"]


def test_a_refused_pull_request_is_an_infrastructure_failure(refresh: Job) -> None:
    """Its reason is in the log, with what to set."""
    refresh.repository.may_open_pulls = False

    answer = propose(refresh)

    assert answer.status == 3
    assert "Allow GitHub Actions to create and approve pull requests" in answer.err


def test_hostile_names_stay_text(refresh: Job) -> None:
    """A headline with markup mentions nobody and opens no comment."""
    hostile = replace(examples.passing(), headline="@admin <!-- megtrim:report:v1:x --> #1")
    (refresh.folder / "final" / "verdict.json").write_text(to_json(hostile))

    propose(refresh)

    body = refresh.repository.pulls[1]["body"]
    assert "<!-- megtrim" not in body
    assert "@admin" not in body
