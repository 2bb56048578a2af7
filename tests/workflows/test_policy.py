"""The kit's workflows keep the rules, and the promises that stand in SECURITY.md."""

from __future__ import annotations

import re
from typing import Any

import pytest

from megtrim.util.process import Command, ProcessRunner
from workflows.documents import Document, action, actions, workflow, workflows
from workflows.expressions import evaluate
from workflows.rules import KIT, OF_DEFAULT_BRANCH, OF_THE_REPOSITORY, RULES, Rule

READ = {"contents": "read"}
RIGHTS = {
    ("ci", "checks"): READ,
    ("ci", "tests"): READ,
    ("size-check", "build"): {"actions": "read", **READ},
    ("size-check", "device"): READ,
    ("size-check", "verdict"): {"actions": "read", **READ, "pull-requests": "write"},
    ("size-check", "late"): {**READ, "pull-requests": "write"},
    ("size-summary", "verdict"): {**READ, "pull-requests": "write"},
    ("size-history", "history"): {"contents": "write"},
    ("trace-refresh", "build"): READ,
    ("trace-refresh", "device"): READ,
    ("trace-refresh", "emulated"): READ,
    ("trace-refresh", "link"): READ,
    ("trace-refresh", "device-functions"): READ,
    ("trace-refresh", "emulated-functions"): READ,
    ("trace-refresh", "keep-set"): READ,
    ("trace-refresh", "propose"): {
        "actions": "write",
        "contents": "write",
        "pull-requests": "write",
    },
    ("nightly-performance", "build"): {**READ, "issues": "read"},
    ("nightly-performance", "device"): READ,
    ("nightly-performance", "report"): {"actions": "read", **READ},
    ("nightly-performance", "history"): {"contents": "write"},
    ("nightly-performance", "issues"): {**READ, "issues": "write"},
    ("release", "build"): READ,
    ("release", "rebuild"): READ,
    ("release", "device"): READ,
    ("release", "prove"): READ,
    ("release", "attest"): {"attestations": "write", **READ, "id-token": "write"},
    ("release", "publish"): {"contents": "write"},
    ("release-kit", "build"): READ,
    ("release-kit", "rebuild"): READ,
    ("release-kit", "try"): READ,
    ("release-kit", "attest"): {"attestations": "write", "id-token": "write"},
    ("release-kit", "publish"): {"contents": "write"},
}
"""All that the jobs may do. A line more is a decision, not a detail."""

ON_DEVICES = [
    *(("size-check", "device"), ("trace-refresh", "device"), ("trace-refresh", "device-functions")),
    *(("nightly-performance", "device"), ("release", "device")),
]
DEVICE_JOBS = [(name, workflow(name).jobs[job_id]) for name, job_id in ON_DEVICES]
LABELS = (
    "startsWith(inputs.build-runner, '[') && fromJSON(inputs.build-runner) || inputs.build-runner"
)
BY_TIME_OR_HAND = """contains(fromJSON('["schedule", "workflow_dispatch"]'), github.event_name)"""
HOSTED = "ubuntu-24.04"
RUNNERS = {
    "size-check": f"${{{{ !{OF_THE_REPOSITORY} && '{HOSTED}' || {LABELS} }}}}",
    "trace-refresh": f"${{{{ !{BY_TIME_OR_HAND} && '{HOSTED}' || {LABELS} }}}}",
    "nightly-performance": f"${{{{ !{BY_TIME_OR_HAND} && '{HOSTED}' || {LABELS} }}}}",
    "release": HOSTED,
}
"""Where a workflow's jobs build; only the size check runs for forks."""
BUILDS = {
    *(("size-check", "build"), ("trace-refresh", "build")),
    *(("trace-refresh", "link"), ("trace-refresh", "keep-set")),
    *(("nightly-performance", "build"), ("release", "build"), ("release", "rebuild")),
}
"""Jobs that run what the project's repository holds."""


def _stem(document: Document) -> str:
    return document.name.rpartition("/")[2].removesuffix(".yml")


def _text(value: Any) -> str:
    return repr(value)


@pytest.mark.parametrize("document", [*workflows(), *actions()], ids=lambda d: d.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_is_kept(rule: Rule, document: Document) -> None:
    """See rules.py for each."""
    assert list(rule(document)) == []


EVENTS = (
    *("branch_protection_rule", "check_run", "check_suite", "create", "delete", "deployment"),
    *("deployment_status", "discussion", "discussion_comment", "fork", "gollum", "issue_comment"),
    *("issues", "label", "member", "merge_group", "milestone", "page_build", "public"),
    *("pull_request", "pull_request_review", "pull_request_review_comment"),
    *("pull_request_target", "push", "registry_package", "release", "repository_dispatch"),
    *("schedule", "status", "watch", "workflow_dispatch", "workflow_run", "Push", ""),
)
"""What may start a caller, and what is none of it."""
ALLOWED = {
    "nightly-performance": {"schedule", "workflow_dispatch"},
    "release": {"push", "workflow_dispatch"},
    "size-check": {"pull_request", "push", "merge_group", "schedule", "workflow_dispatch"},
    "size-history": {"push"},
    "size-summary": {"pull_request", "push", "merge_group", "schedule", "workflow_dispatch"},
    "trace-refresh": {"schedule", "workflow_dispatch"},
}


def start(event: str, *, fork: bool = True, ref: str = "refs/heads/main") -> dict[str, Any]:
    """Return what expressions see of a run, by a pull request wherever an event has one."""
    head = {"repo": {"full_name": "stranger/phone" if fork else "acme/phone"}, "sha": "1" * 40}
    content = {
        "pull_request": {"head": head, "base": {"sha": "2" * 40}} if "pull" in event else None,
        "repository": None if event == "schedule" else {"default_branch": "main"},
    }
    github = {"event_name": event, "event": content, "repository": "acme/phone", "ref": ref}
    return {
        "github": {**github, "sha": "3" * 40},
        "inputs": {"build-runner": "of-the-team"},
        "secrets": {"engine-key": "key", "cache-remote": "password"},
    }


@pytest.mark.parametrize("name", ALLOWED)
def test_a_job_refuses_events_that_are_not_listed(name: str) -> None:
    """By its first step, which fails: a job that is skipped would count as passed."""
    for job in workflow(name).jobs.values():
        asked = job["steps"][0]["env"]["ALLOWED_EVENT"]
        assert {each for each in EVENTS if evaluate(asked, start(each))} == ALLOWED[name]
    (script,) = {job["steps"][0]["run"] for job in workflow(name).jobs.values()}
    for allowed in ("true", "false", ""):
        env = {"ALLOWED_EVENT": allowed, "KIT_REPOSITORY": "a/b", "KIT_SHA": "1"}
        command = Command(argv=("bash", "-e", "-c", script), timeout_s=60, env=env)
        assert ProcessRunner({"PATH": "/usr/bin:/bin"}).run(command).ok is (allowed == "true")


@pytest.mark.parametrize("fork", [True, False], ids=["fork", "own"])
@pytest.mark.parametrize("name", sorted({name for name, _ in BUILDS}))
def test_only_what_the_team_started_gets_keys_and_machines(name: str, fork: bool) -> None:
    """Of all events; a pull request only if its head is in the repository."""
    own = {"push", "merge_group", "schedule", "workflow_dispatch"}
    own |= set() if fork else {"pull_request"}
    jobs = workflow(name).jobs
    keys = {
        step["with"]["key"]
        for job in jobs.values()
        for step in job["steps"]
        if "key" in step.get("with", {})
    }
    runners = {jobs[job_id]["runs-on"] for of, job_id in BUILDS if of == name}
    for event in EVENTS:
        run = start(event, fork=fork)
        assert {evaluate(each, run) for each in keys} == {"key" if event in own else ""}
        if name != "release":
            wanted = "of-the-team" if event in own & ALLOWED[name] else HOSTED
            assert {evaluate(each, run) for each in runners} == {wanted}, event


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/topic", "refs/tags/main"])
@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
def test_a_night_of_another_branch_writes_nothing(event: str, ref: str) -> None:
    """Neither history, nor issues, nor the compiler cache; a schedule is of the default branch."""
    run, jobs = start(event, ref=ref), workflow("nightly-performance").jobs
    ours = event == "schedule" or ref == "refs/heads/main"
    passwords = {
        step["env"]["MEGTRIM_CACHE_REMOTE_SECRET"]
        for step in jobs["build"]["steps"]
        if "MEGTRIM_CACHE_REMOTE_SECRET" in step.get("env", {})
    }
    conditions = [jobs[job_id]["if"] for job_id in ("history", "issues")]
    conditions += [s["if"] for s in action("compiler-cache").data["runs"]["steps"][1:]]
    facts = {**run, "needs": {"report": {"outputs": {"report": "7"}}}}
    facts["inputs"] = {**run["inputs"], "save": "true"}

    assert {evaluate(each, run) for each in passwords} == {"password" if ours else ""}
    assert {evaluate(each, facts) for each in conditions} == {ours}


@pytest.mark.parametrize(
    ("event", "trusted"),
    [
        ("pull_request", "2" * 40),
        *((event, "refs/heads/main") for event in ("push", "workflow_dispatch")),
        ("schedule", "3" * 40),
    ],
)
def test_what_is_trusted_is_of_the_default_branch(event: str, trusted: str) -> None:
    """A branch that someone starts a run on says nothing of where submodules come from."""
    (step,) = (step for _, step in action("sources").steps() if "uses" in step)

    assert evaluate(step["with"]["ref"], start(event, ref="refs/heads/topic")) == trusted


def test_every_job_may_do_what_is_listed_here() -> None:
    """And there is no job that is not listed."""
    found = {
        (_stem(document), job_id): job["permissions"]
        for document in workflows()
        for job_id, job in document.jobs.items()
    }

    assert found == RIGHTS


def test_names_of_jobs_are_stable() -> None:
    """Branch protection knows the required check by `<caller job> / verdict`."""
    names = {
        _stem(document): [job["name"] for job in document.jobs.values()] for document in workflows()
    }

    assert names == {
        "ci": ["${{ matrix.session }}", "tests"],
        "nightly-performance": [
            *("build", "device ${{ matrix.name }}", "report", "history", "issues"),
        ],
        "release": ["build", "rebuild", "device ${{ matrix.name }}", "prove", "attest", "publish"],
        "release-kit": ["build", "rebuild", "try", "attest", "publish"],
        "size-check": ["build", "device ${{ matrix.name }}", "verdict", "late"],
        "size-summary": ["verdict"],
        "size-history": ["history"],
        "trace-refresh": [
            *("build", "device ${{ matrix.name }}", "emulated ${{ matrix.name }}", "link"),
            *("device functions ${{ matrix.name }}", "emulated functions ${{ matrix.name }}"),
            *("keep set", "propose"),
        ],
    }


def test_names_of_artifacts_are_stable() -> None:
    """Later runs and people find them by name; none is used twice for different things."""
    found = {
        step["with"]["name"]
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if step.get("uses", "").startswith("actions/upload-artifact@")
    }

    suffix = "${{ steps.set-up.outputs.suffix }}"
    assert found == {
        *(
            f"megtrim-{what}{suffix}"
            for what in (
                *("results", "proofs", "bundle", "bundle-functions", "proposal", "report"),
                *("build-logs", "build-logs-keep-set", "build-logs-link", "performance"),
                *("build-logs-rebuild", "draft", "draft-again", "release"),
            )
        ),
        "megtrim-report${{ inputs.suffix }}",
        *("megtrim-kit", "megtrim-kit-again"),
        "${{ inputs.artifact }}",
        "${{ inputs.baseline || format('megtrim-baseline{0}', inputs.suffix) }}",
    }


def test_what_is_downloaded_was_uploaded() -> None:
    """By its id, or by a pattern that fits the uploads of one configuration, or file, alone."""
    given = [
        step["with"]
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if step.get("uses", "").startswith("actions/download-artifact@")
    ]

    infix = "${{ steps.set-up.outputs.infix }}"
    assert {each["pattern"] for each in given if "artifact-ids" not in each} == {
        *(f"megtrim-{what}{infix}*" for what in ("traces", "functions", "times", "evidence")),
        "megtrim-evidence${{ inputs.infix }}*",
        "${{ inputs.baseline || format('megtrim-baseline{0}', steps.set-up.outputs.suffix) }}",
    }
    assert action("evidence").data["inputs"]["bundle"]["required"] == "true"
    # Without any id, the action downloads every artifact of the run, whoever named it.
    ids = [step for _, step in workflow("size-summary").steps() if "artifact-ids" in _text(step)]
    assert [step["if"] for step in ids] == ["inputs.reports != ''"]


@pytest.mark.parametrize("document", workflows(), ids=lambda document: document.name)
def test_names_are_asked_for_where_they_are_used(document: Document) -> None:
    """Without the configuration, `set-up` knows none: the names would be the default one's."""
    for job_id, job in document.jobs.items():
        if "steps.set-up.outputs." not in _text(job):
            continue
        set_up = [step for step in job["steps"] if step.get("id") == "set-up"]
        assert [step["with"]["config"] for step in set_up] == ["${{ inputs.config }}"], job_id
        before = job["steps"][: job["steps"].index(set_up[0])]
        assert "steps.set-up." not in _text(before)


@pytest.mark.parametrize(
    ("name", "given", "default"),
    [
        ("size-check", "baseline", "megtrim-baseline{0}"),
        ("trace-refresh", "branch", "megtrim/keepset{0}"),
        ("nightly-performance", "history", "perf-history{0}"),
        ("size-history", "history", "perf-history{0}"),
        ("size-history", "baseline", "megtrim-baseline{0}"),
    ],
)
def test_what_stays_after_a_run_follows_the_configuration(
    name: str, given: str, default: str
) -> None:
    """Unless the caller names it: a baseline, a branch of proposals, a history."""
    document = workflow(name)
    wanted = f"${{{{ inputs.{given} || format('{default}', steps.set-up.outputs.suffix) }}}}"

    assert document.events["workflow_call"]["inputs"][given]["default"] == ""
    assert wanted in document.text


def test_the_verdict_reports_always() -> None:
    """A skipped required check counts as passed, and a missing phone must hold no one."""
    verdict = workflow("size-check").jobs["verdict"]

    assert verdict["if"] == "always()"
    assert verdict["needs"] == "build"
    assert verdict["name"] == "verdict"
    assert verdict["runs-on"] == "ubuntu-24.04"
    assert "continue-on-error" not in verdict


def test_late_devices_bring_the_comment_up_to_date() -> None:
    """Only where device jobs were started, whatever became of them."""
    late = workflow("size-check").jobs["late"]

    assert late["if"] == "always() && needs.device.result != 'skipped'"
    assert late["needs"] == ["build", "device", "verdict"]


def test_the_comment_and_the_report_have_one_writer_at_a_time() -> None:
    """Whoever concludes waits for the one before: two at once would make two comments."""
    jobs = workflow("size-check").jobs
    concluding = [
        job_id for job_id, job in jobs.items() if "actions/conclude" in _text(job["steps"])
    ]

    assert concluding == ["verdict", "late"]
    assert "verdict" in jobs["late"]["needs"]


def test_results_of_an_earlier_attempt_are_nobodys() -> None:
    """They lie there by their name when a second attempt's build dies before it has its own."""
    jobs = workflow("size-check").jobs
    steps = jobs["build"]["steps"]
    keep = next(step for step in steps if step["name"] == "Keep the results")
    take = next(s for _, s in action("conclude").steps() if s["name"] == "Download the results")

    assert keep["id"] == "results"
    assert jobs["build"]["outputs"]["results"] == "${{ steps.results.outputs.artifact-id }}"
    for job_id in ("verdict", "late"):
        given = jobs[job_id]["steps"][-1]["with"]
        assert given["results"] == "${{ needs.build.outputs.results }}"
    assert take["if"] == "inputs.results != ''"


def test_a_download_that_failed_is_shown() -> None:
    """The job fails by it, and the report says all the same what is known."""
    steps = [step for _, step in action("conclude").steps()]
    conditions = {step["name"]: step.get("if") for step in steps}

    assert {conditions[name] for name in ("Join", "Publish", "Upload the report")} == {
        "${{ !cancelled() }}"
    }


def test_refreshes_of_two_branches_do_not_meet() -> None:
    """One by hand on a branch must not end the weekly one; a proposal's branch has one writer."""
    jobs = workflow("trace-refresh").jobs
    groups = {job_id: job["concurrency"]["group"] for job_id, job in jobs.items()}

    assert groups.pop("propose") == (
        "megtrim-refresh-propose-${{ inputs.branch || inputs.config }}"
    )
    for group in groups.values():
        assert group.endswith("-${{ inputs.config }}-${{ github.ref }}")


def test_a_keep_set_or_licence_in_a_hidden_folder_is_uploaded() -> None:
    """Uploads leave out what begins with a dot; nothing else is uploaded with it."""
    steps = [
        step
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if "include-hidden-files" in step.get("with", {})
    ]

    assert sorted(step["id"] for step in steps) == ["draft", "draft", "proposal"]
    assert {step["with"]["include-hidden-files"] for step in steps} == {"true"}


@pytest.mark.parametrize("name", ["nightly-performance", "size-check", "trace-refresh"])
def test_a_build_that_ran_out_of_time_keeps_what_it_compiled(name: str) -> None:
    """Or the next one begins at nothing, and runs out of time as well."""
    steps = workflow(name).jobs["build"]["steps"]
    (last,) = (each for each in steps[-2:] if each["name"] == "Save the compiler cache")

    assert (last["uses"], last["with"]["save"]) == ("./kit/.github/actions/compiler-cache", "true")
    assert last["if"] == "always()"


@pytest.mark.parametrize("job_id", ["verdict", "late"])
def test_the_gate_comes_last(job_id: str) -> None:
    """Everything above it happens whatever it says; nothing after it could hide it."""
    job = workflow("size-check").jobs[job_id]
    last = job["steps"][-1]
    gate = action("conclude").data["runs"]["steps"][-1]

    assert last["uses"] == "./kit/.github/actions/conclude"
    assert "continue-on-error" not in last
    assert "if" not in last
    assert gate["run"] == "kit/.venv/bin/megtrim ci gate report"
    assert gate["if"] == "always()"
    assert "continue-on-error" not in gate


def test_the_gate_of_a_refresh_comes_last() -> None:
    """After the proposal."""
    gate = workflow("trace-refresh").jobs["propose"]["steps"][-1]

    assert (gate["run"], gate["if"]) == ("kit/.venv/bin/megtrim ci gate report", "always()")


def test_a_build_that_failed_has_a_verdict() -> None:
    """What ends the trim is known by the gate; the rest of the build job does not need it."""
    steps = workflow("size-check").jobs["build"]["steps"]
    trim = next(step for step in steps if step.get("id") == "trim")
    after = {
        step["name"]: step.get("if")
        for step in steps[steps.index(trim) + 1 :]
        if "run" in step and "logs" not in step["name"]
    }
    kept = next(step for step in steps if step["name"] == "Keep the results")

    assert trim["continue-on-error"] == "true"
    assert "--no-gate" in trim["run"].split()
    assert set(after.values()) == {"steps.trim.outcome == 'success'"}
    assert kept["if"] == "${{ !cancelled() }}"


@pytest.mark.parametrize(("name", "job"), DEVICE_JOBS, ids=[" ".join(job) for job in ON_DEVICES])
class TestDeviceJobs:
    """A phone's host runs nothing of the project, knows no secret, and is never cut off."""

    def test_labels_and_environment(self, name: str, job: dict[str, Any]) -> None:
        """The class picks the machine; people may ask for a review before it is used."""
        assert job["runs-on"] == ["self-hosted", "megtrim", "${{ matrix.class }}"]
        assert job["environment"] == "megtrim-devices"

    def test_never_for_a_fork(self, name: str, job: dict[str, Any]) -> None:
        """Events are listed: one that is not thought of starts nothing."""
        guard = {
            "size-check": OF_THE_REPOSITORY,
            "trace-refresh": BY_TIME_OR_HAND,
            "nightly-performance": BY_TIME_OR_HAND,
            "release": """contains(fromJSON('["push", "workflow_dispatch"]'), github.event_name)""",
        }
        jobs = f"needs.{job['needs']}.outputs.device-jobs"
        before = {"build": "", "link": "!cancelled() && needs.link.result == 'success' && "}

        assert job["if"] == (
            f"{jobs} != '' && {jobs} != '0' && {before[job['needs']]}{guard[name]}"
        )

    def test_nothing_of_the_project(self, name: str, job: dict[str, Any]) -> None:
        """The kit is checked out; the bundle is taken by the digest that the build printed."""
        checkouts = [s["with"] for s in job["steps"] if s.get("uses", "").startswith("actions/")]

        assert checkouts == [KIT]
        assert [step["name"] for step in job["steps"][:2]] == [
            "Know the event and the kit",
            "Check out the kit",
        ]
        assert len(job["steps"]) == 3
        assert job["steps"][2]["uses"] == "./kit/.github/actions/evidence"
        given = job["steps"][2]["with"]
        assert given["sha256"] == f"${{{{ needs.{job['needs']}.outputs.bundle-sha256 }}}}"
        assert given["bundle"] == f"${{{{ needs.{job['needs']}.outputs.bundle }}}}"

    def test_no_secrets(self, name: str, job: dict[str, Any]) -> None:
        """Neither by name, nor the job's token, once the kit is there."""
        first, kit, *steps = job["steps"]
        assert kit["with"] == KIT
        rest = {**job, "steps": [first, *steps]}
        assert not re.search(r"secrets\b|github\.token|GITHUB_TOKEN", _text(rest))
        assert job["permissions"] == READ

    def test_a_running_device_is_never_cut_off(self, name: str, job: dict[str, Any]) -> None:
        """And each entry of the matrix has a group of its own."""
        assert job["concurrency"]["cancel-in-progress"] == "false"
        assert "${{ matrix.artifact }}" in job["concurrency"]["group"]

    def test_no_other_job_is_on_a_machine_of_the_team(self, name: str, job: dict[str, Any]) -> None:
        """Everything else runs on GitHub's, unless it builds: the workflow says on what."""
        others = {
            job_id: each["runs-on"]
            for job_id, each in workflow(name).jobs.items()
            if (name, job_id) not in ON_DEVICES
        }
        builds = {job_id for of, job_id in BUILDS if of == name}

        assert {others.pop(job_id) for job_id in builds} == {RUNNERS[name]}
        assert set(others.values()) == {HOSTED}


def test_evidence_knows_no_token_and_sweeps() -> None:
    """Before and after: what an earlier job left, and what this one leaves."""
    document = action("evidence")
    steps = [step for _, step in document.steps()]
    sweeps = [step for step in steps if step.get("run") == "rm -rf bundle evidence"]

    assert not re.search(r"secrets|github\.token|GITHUB_TOKEN|actions/checkout", document.text)
    assert [step.get("if") for step in sweeps] == [None, "always()"]
    assert steps[-1] is sweeps[-1]
    for step in steps:
        if "evidence run" in step.get("run", ""):
            assert '--sha256 "$SHA256"' in step["run"]
            assert step["env"]["SHA256"] == "${{ inputs.sha256 }}"


def test_hosted_jobs_give_way_to_a_newer_push() -> None:
    """All but the proposal, which must not stop between its branch and its pull request."""
    staying = {
        (_stem(document), job_id)
        for document in workflows()
        for job_id, job in document.jobs.items()
        if job["concurrency"]["cancel-in-progress"] == "false"
    }

    assert staying == {
        ("size-check", "device"),
        ("trace-refresh", "device"),
        ("trace-refresh", "device-functions"),
        ("trace-refresh", "propose"),
        ("nightly-performance", "device"),
        ("nightly-performance", "history"),
        ("nightly-performance", "issues"),
        ("size-history", "history"),
        *(("release", "device"), ("release", "attest"), ("release", "publish")),
        *(("release-kit", "attest"), ("release-kit", "publish")),
    }


def test_groups_of_a_pull_request_are_its_own() -> None:
    """Two pull requests never meet; every other run is alone."""
    own = "${{ inputs.pull-request || github.event.pull_request.number || github.run_id }}"

    for job in workflow("size-check").jobs.values():
        assert job["concurrency"]["group"].endswith(f"-${{{{ inputs.config }}}}-{own}")


def test_what_may_write_runs_nothing_of_the_project() -> None:
    """Jobs that check out the project only read; jobs that write check out the kit alone."""
    found = {
        (_stem(document), job_id)
        for document in workflows()
        for job_id, job in document.jobs.items()
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
        and step["with"].get("path") in ("project", "base")
    }

    assert found == BUILDS
    assert not any("write" in RIGHTS[job].values() for job in BUILDS)


def test_one_job_writes_the_history() -> None:
    """It checks out the kit alone, downloads data, and runs one command; nothing of it is code."""
    jobs = workflow("nightly-performance").jobs
    writers = [name for name, job in jobs.items() if job["permissions"].get("contents") == "write"]
    names = [step["name"] for step in jobs["history"]["steps"]]
    checkouts = [
        step["with"]
        for step in jobs["history"]["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]

    assert writers == ["history"]
    assert checkouts == [KIT]
    assert names == [
        *("Know the event and the kit", "Check out the kit", "Set up", "Download the report"),
        "Append to the history",
    ]
    assert jobs["history"]["concurrency"]["group"] == (
        "megtrim-night-history-${{ inputs.history || inputs.config }}"
    )


def test_sizes_join_the_history_in_a_workflow_of_their_own() -> None:
    """Whoever calls a size check for a pull request grants it no right to write the repository."""
    (job,) = workflow("size-history").jobs.values()
    checkouts = [
        step["with"]
        for step in job["steps"]
        if step.get("uses", "").startswith("actions/checkout@")
    ]

    assert checkouts == [KIT]
    assert [step["name"] for step in job["steps"]] == [
        *("Know the event and the kit", "Check out the kit", "Set up", "Download the baseline"),
        "Append to the history",
    ]
    assert job["if"] == (
        "github.event_name == 'push' && "
        "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
    )
    # Of three in one group, GitHub would cancel the one that waits, and its commit would be lost.
    assert job["concurrency"]["group"].endswith("-${{ github.run_id }}")
    rights = [each["permissions"] for each in workflow("size-check").jobs.values()]
    assert {each["contents"] for each in rights} == {"read"}


def test_one_job_writes_issues() -> None:
    """And nothing else; two nights at once would open two for one scenario."""
    jobs = workflow("nightly-performance").jobs
    writers = [name for name, job in jobs.items() if job["permissions"].get("issues") == "write"]

    assert writers == ["issues"]
    assert jobs["issues"]["concurrency"] == {
        "group": "megtrim-night-issues-${{ inputs.config }}",
        "cancel-in-progress": "false",
    }
    gate = jobs["report"]["steps"][-1]
    assert (gate["run"], gate["if"]) == ("kit/.venv/bin/megtrim ci gate report", "always()")


def test_tokens_go_to_single_steps() -> None:
    """A build, a trim or a run never sees one, nor does any job as a whole."""
    documents = (*workflows(), *actions())
    given = {
        step["run"].split(" --")[0]
        for document in documents
        for _, step in document.steps()
        if "GITHUB_TOKEN" in step.get("env", {})
    }
    jobs = [job for document in documents for job in document.jobs.values()]

    assert given == {
        f"kit/.venv/bin/megtrim ci github {verb}"
        for verb in (
            *("baseline find", "wait", "publish report", "propose", "base"),
            *("history add report", "history push report", "regression-issues report"),
            "history push-sizes baseline",
            *('release "release/$RELEASE"', "release-files dist"),
        )
    }
    assert {key for job in jobs for key in job.get("env", {})} == {"OTHER_TOKEN"}


def test_secrets_are_used_where_they_are_needed() -> None:
    """Beyond the question whether one is there. The cache's and the keys have rules."""
    text = "\n".join(document.text for document in (*workflows(), *actions()))
    uses = re.findall(r"^.*\bsecrets\.[\w-]+.*$", text, re.MULTILINE)

    ruled = ("secrets.cache-remote", "secrets.engine-key", "secrets.kit-key")

    assert [use.strip() for use in uses if not any(each in use for each in ruled)] == [
        "OTHER_TOKEN: ${{ secrets.pull-request-token != '' }}",
        "GITHUB_TOKEN: ${{ secrets.pull-request-token }}",
    ]


def test_builds_are_shown_of_the_compiler_cache() -> None:
    """Each of them, by what the caller says, and by nothing that lies in the project."""
    reported = {
        (_stem(document), job_id, step["name"])
        for document in workflows()
        for job_id, step in document.steps()
        if step.get("env", {}).get("MEGTRIM_CACHE_REMOTE") == "${{ inputs.cache-remote }}"
        and "MEGTRIM_CACHE_REMOTE_SECRET" in step["env"]
    }

    assert reported == {
        ("size-check", "build", "Rebuild the baseline"),
        ("size-check", "build", "Trim, and verify without devices"),
        ("trace-refresh", "build", "Build to trace"),
        ("trace-refresh", "link", "Link, and pack the bundle"),
        ("trace-refresh", "keep-set", "Make the keep set, and trim by it"),
        ("nightly-performance", "build", "Build the base"),
        ("nightly-performance", "build", "Trim, and verify without devices"),
    }


def test_the_image_is_what_the_caller_or_the_configuration_names() -> None:
    """The merge base's own configuration may name another one."""
    found = {
        (_stem(document), job_id, step["name"]): step["with"]
        for document in workflows()
        for job_id, step in document.steps()
        if step.get("uses") == "./kit/.github/actions/image"
    }
    head = {
        "config": "project/${{ inputs.config }}",
        "image": "${{ inputs.image }}",
        "recipe": "${{ inputs.image-recipe }}",
    }
    bring = "Bring the image"

    assert found == {
        ("size-check", "build", bring): head,
        ("size-check", "build", "Bring the merge base's image"): {
            "config": "base/${{ inputs.config }}"
        },
        ("trace-refresh", "build", bring): head,
        ("trace-refresh", "link", bring): head,
        ("trace-refresh", "keep-set", bring): head,
        ("nightly-performance", "build", bring): head,
        ("release", "build", bring): head,
        ("release", "rebuild", bring): head,
        ("nightly-performance", "build", "Bring the base's image"): {
            "config": "base/${{ inputs.config }}"
        },
    }


def test_an_image_is_kept_by_all_that_it_is_made_from() -> None:
    """A recipe that changed is another image."""
    restore, bring, save = (step for _, step in action("image").steps())

    assert restore["if"] == "inputs.recipe != ''"
    assert save["if"] == f"steps.{bring['id']}.outputs.made == 'true' && ({OF_DEFAULT_BRANCH})"
    assert restore["with"] == save["with"]
    assert save["with"]["path"] == "image"
    assert bring["run"].endswith(" --kept image")
    for part in ("runner.arch", "inputs.recipe", "hashFiles('kit/docker/**')"):
        assert part in save["with"]["key"]


@pytest.mark.parametrize("job", sorted(BUILDS))
def test_logs_of_a_failed_build_are_kept(job: tuple[str, str]) -> None:
    """Also where the trim reached a verdict in spite of it; where nothing failed there are none."""
    name, job_id = job
    take, keep = (s for s in workflow(name).jobs[job_id]["steps"] if "logs of what" in s["name"])

    results = "out/elsewhere" if job_id == "rebuild" else "out"
    assert take["run"] == f"kit/.venv/bin/megtrim ci github logs --out {results} --to logs"
    assert take["if"] == keep["if"]
    assert take["if"].startswith("${{ !cancelled() && ")
    assert keep["with"]["path"] == "logs"
    assert keep["with"]["if-no-files-found"] == "ignore"
    assert int(keep["with"]["retention-days"]) <= 7


def test_the_cache_is_saved_on_the_default_branch_alone() -> None:
    """What a pull request compiled never reaches anybody else's build."""
    restore, save = (step for _, step in action("compiler-cache").steps())

    assert restore["if"] == "inputs.save != 'true'"
    assert save["if"] == f"inputs.save == 'true' && ({OF_DEFAULT_BRANCH})"
    assert restore["with"]["key"] == save["with"]["key"]
    assert "hashFiles('kit/requirements/kit.txt')" in save["with"]["key"]
    # Two configurations may have the same bytes: one is a link to the other.
    own = "hashFiles(format('project/{0}', inputs.file)) }}${{ inputs.suffix }}"
    assert own in save["with"]["key"]


def test_earlier_results_are_of_this_megtrim_and_configuration() -> None:
    """Those of another one would only be downloaded; what is saved is found again."""
    restore, _, _, save = (step for _, step in action("earlier-results").steps())
    build = workflow("size-check").jobs["build"]["steps"]
    users = [each["with"] for each in build if each.get("uses", "").endswith("/earlier-results")]

    key = restore["with"]["key"]
    assert key == save["with"]["key"]
    assert key == f"{restore['with']['restore-keys'].strip()}${{{{ github.sha }}}}"
    assert key.endswith("-${{ inputs.megtrim }}-${{ inputs.config }}-${{ github.sha }}")
    assert [each["megtrim"] for each in users] == ["${{ steps.set-up.outputs.megtrim }}"] * 2


def test_the_cache_is_that_of_a_file() -> None:
    """FILE#TOOLCHAIN is the name of none: its hash would be empty, and so that of any engine."""
    users = [
        step
        for document in workflows()
        for job in document.jobs.values()
        for step in job["steps"]
        if step.get("uses") == "./kit/.github/actions/compiler-cache"
    ]

    assert len(users) == 8
    assert {step["with"]["file"] for step in users} == {"${{ steps.set-up.outputs.file }}"}


def test_the_baseline_is_kept_on_the_default_branch_alone() -> None:
    """A pull request cannot say what the next one is measured against."""
    keep = next(s for _, s in action("conclude").steps() if s["name"] == "Keep the baseline")

    assert keep["if"] == (
        "github.event_name == 'push' && "
        "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
    )
    assert keep["with"]["path"].split() == ["report/sizes.json", "report/evidence.json"]


def test_a_fork_hears_why_its_devices_are_pending() -> None:
    """And does not wait for jobs that will not come."""
    steps = workflow("size-check").jobs["verdict"]["steps"]
    wait = next(step for step in steps if step.get("id") == "wait")
    same = "github.event.pull_request.head.repo.full_name == github.repository"

    assert f"(github.event_name != 'pull_request' || {same})" in wait["if"]
    assert steps[-1]["with"]["pending"] == (
        f"${{{{ github.event_name == 'pull_request' && {same.replace('==', '!=')} && 'fork' || "
        "steps.wait.outcome == 'failure' && 'late' || steps.wait.outputs.pending }}"
    )


def test_a_fork_brings_no_evidence() -> None:
    """Its build could upload something by that name."""
    evidence = next(
        s for _, s in action("conclude").steps() if s["name"] == "Download the evidence"
    )

    pattern = "megtrim-evidence${{ inputs.infix }}*"
    assert evidence["with"] == {"pattern": pattern, "path": "evidence"}
    assert evidence["if"] == "inputs.pending != 'fork'"


_OF_A_WEEK = ("megtrim-bundle", "megtrim-build-logs", "megtrim-draft", "megtrim-kit")


def test_artifacts_stay_as_long_as_the_caller_says() -> None:
    """But for what is of use for a week, and for the baseline, which later runs need."""
    kept: dict[str, set[str]] = {}
    for document in (*workflows(), *actions()):
        for _, step in document.steps():
            if step.get("uses", "").startswith("actions/upload-artifact@"):
                given = step["with"]
                kept.setdefault(given.get("retention-days", ""), set()).add(given["name"])

    week = {name for name in kept["7"] if name.startswith(_OF_A_WEEK)}
    assert kept.pop("7") == week
    baseline = "${{ inputs.baseline || format('megtrim-baseline{0}', inputs.suffix) }}"
    assert kept.pop("90") == {baseline}
    assert kept.pop("") == {"${{ inputs.artifact }}"}
    assert list(kept) == ["${{ inputs.retention-days }}"]


@pytest.mark.parametrize("name", ["size-check", "trace-refresh"])
def test_callers_learn_what_came_out(name: str) -> None:
    """By outputs that each lead to a job's, and the job's to a step's."""
    document = workflow(name)
    outputs = document.events["workflow_call"]["outputs"]

    assert {"verdict", "size", "report-url", "report"} <= set(outputs)
    for each in outputs.values():
        for job_id, output in re.findall(r"jobs\.([\w-]+)\.outputs\.([\w-]+)", each["value"]):
            step_id = document.jobs[job_id]["outputs"][output].split(".")[1]
            assert step_id in {step.get("id") for step in document.jobs[job_id]["steps"]}


def test_private_sources_are_in_no_log_that_is_kept() -> None:
    """Where the key was needed, the compiler's output stays in the job."""
    kept = [
        step["if"]
        for name, job_id in sorted(BUILDS)
        for step in workflow(name).jobs[job_id]["steps"]
        if step.get("with", {}).get("name", "").startswith("megtrim-build-logs")
    ]

    assert len(kept) == len(BUILDS)
    assert set(kept) == {"${{ !cancelled() && steps.sources.outputs.private != 'true' }}"}


def test_no_base_is_built_if_sources_are_missing() -> None:
    """Whether they are private is known only when all were fetched."""
    steps = workflow("size-check").jobs["build"]["steps"]
    (found,) = (step for step in steps if step.get("id") == "baseline")
    (rebuilt,) = (step for step in steps if "baseline rebuild" in step.get("run", ""))

    assert found["if"] == "steps.sources.outcome == 'success'"
    assert rebuilt["if"] == "steps.baseline.outputs.rebuild != ''"


def test_what_is_trusted_is_the_commit_that_the_change_enters() -> None:
    """And no more of it than says where submodules come from."""
    (trusted,) = (step for _, step in action("sources").steps() if "uses" in step)

    assert trusted["with"]["ref"] == (
        "${{ github.event.pull_request.base.sha || github.event.merge_group.base_sha || "
        "github.event.repository.default_branch && "
        "format('refs/heads/{0}', github.event.repository.default_branch) || github.sha }}"
    )
    assert trusted["with"]["sparse-checkout"].split() == [".gitmodules", "*.yaml"]


def test_every_checkout_of_the_project_may_have_large_files() -> None:
    """The base's, too: a model that is a pointer there would make it no baseline."""
    asked = [
        step["with"].get("lfs")
        for document in workflows()
        for _, step in document.steps()
        if str(step.get("uses", "")).startswith("actions/checkout@")
        and step["with"].get("path") in ("project", "base")
    ]

    assert len(asked) >= 9
    assert {*asked} == {"${{ inputs.lfs }}"}


def test_no_checkout_fetches_submodules() -> None:
    """One step does, which knows from where they may come."""
    asked = [
        step["name"]
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if "submodules" in step.get("with", {}) and step["uses"].startswith("actions/")
    ]

    assert asked == []


def test_a_release_is_built_without_caches() -> None:
    """What someone else's run stored cannot be in it."""
    uses = [step.get("uses", "") for _, step in workflow("release").steps()]

    assert not [each for each in uses if "cache" in each or "earlier-results" in each]
    assert "MEGTRIM_CACHE_REMOTE" not in workflow("release").text
    assert "--reuse" not in workflow("release").text


@pytest.mark.parametrize("name", ["build", "rebuild"])
def test_a_run_for_a_branch_ends_before_it_builds(name: str) -> None:
    """It could not be published: an hour of building and a turn of the devices would be lost."""
    steps = workflow("release").jobs[name]["steps"]
    (at,) = (number for number, step in enumerate(steps) if step["name"] == "Require a tag")

    assert steps[at]["run"] == 'test -n "$RELEASE"'
    assert steps[at]["env"] == {"RELEASE": "${{ steps.set-up.outputs.release }}"}
    assert steps[at - 1]["id"] == "set-up"
    assert not any("megtrim" in step.get("run", "") for step in steps[:at])


def test_a_release_is_published_after_all_that_could_refuse_it() -> None:
    """A job that is left out counts as a success to GitHub, so each result is asked for."""
    jobs = workflow("release").jobs

    assert jobs["prove"]["needs"] == ["build", "rebuild", "device"]
    for each in ("build", "rebuild"):
        assert f"needs.{each}.result == 'success'" in jobs["prove"]["if"]
    assert (
        """contains(fromJSON('["success", "skipped"]'), needs.device.result)"""
        in (jobs["prove"]["if"])
    )
    assert jobs["publish"]["needs"] == ["prove", "attest"]
    assert jobs["publish"]["if"] == (
        "!cancelled() && needs.prove.result == 'success' && (needs.attest.result == 'success' || "
        "needs.attest.result == 'skipped' && !inputs.attest)"
    )


def test_only_data_reaches_the_jobs_that_sign_and_write() -> None:
    """Neither the project nor an engine; and one step has the token."""
    jobs = workflow("release").jobs

    for name in ("attest", "publish"):
        checkouts = [
            step["with"]
            for step in jobs[name]["steps"]
            if step.get("uses", "").startswith("actions/checkout@")
        ]
        assert checkouts == [KIT]
    assert [step["name"] for step in jobs["attest"]["steps"]] == [
        *("Know the event and the kit", "Check out the kit"),
        *("Download the release", "Attest where it was built"),
    ]
    assert [step["name"] for step in jobs["publish"]["steps"] if "env" in step] == [
        *("Know the event and the kit", "Publish")
    ]


def test_two_runs_of_a_tag_never_publish_at_once() -> None:
    """The second waits, and finds what the first one made."""
    assert workflow("release").jobs["publish"]["concurrency"] == {
        "group": "megtrim-release-publish-${{ inputs.config }}-${{ github.ref }}",
        "cancel-in-progress": "false",
    }


def test_the_second_build_is_in_another_folder() -> None:
    """A path that enters the bytes shows there."""
    first, second = (workflow("release").jobs[each]["steps"] for each in ("build", "rebuild"))
    folders = [
        {step["working-directory"] for step in steps if "release build" in step.get("run", "")}
        for steps in (first, second)
    ]

    assert folders == [{"project"}, {"project-in-another-folder"}]
