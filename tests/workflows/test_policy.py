import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from workflows.documents import WORKFLOWS, Document, action, actions, workflow, workflows
from workflows.expressions import evaluate
from workflows.rules import KIT, OF_DEFAULT_BRANCH, OF_THE_REPOSITORY, RULES, Rule

Placed = tuple[str, str, dict[str, Any]]
READ = {"contents": "read"}
ONLY_READ = {
    "ci": ("checks", "tests"),
    "size-check": ("device",),
    "trace-refresh": (
        "build",
        "device",
        "emulated",
        "link",
        "device-functions",
        "emulated-functions",
        "keep-set",
    ),
    "nightly-performance": ("device",),
    "release": ("build", "rebuild", "device", "prove"),
    "release-kit": ("build", "rebuild", "try"),
    "site": ("build",),
}
COMMENTS = {**READ, "pull-requests": "write"}
RIGHTS = {
    **{(name, job_id): READ for name, jobs in ONLY_READ.items() for job_id in jobs},
    ("size-check", "build"): {"actions": "read", **READ},
    ("size-check", "verdict"): {"actions": "read", **COMMENTS},
    ("size-check", "late"): COMMENTS,
    ("size-summary", "verdict"): COMMENTS,
    ("size-history", "history"): {"contents": "write"},
    ("fork-comment", "comment"): {"actions": "read", **COMMENTS},
    ("trace-refresh", "propose"): {
        **dict.fromkeys(("actions", "contents", "pull-requests"), "write")
    },
    ("nightly-performance", "build"): {**READ, "issues": "read"},
    ("nightly-performance", "report"): {"actions": "read", **READ},
    ("nightly-performance", "history"): {"contents": "write"},
    ("nightly-performance", "issues"): {**READ, "issues": "write"},
    ("release", "attest"): {"attestations": "write", **READ, "id-token": "write"},
    ("release", "publish"): {"contents": "write"},
    ("release-kit", "attest"): {"attestations": "write", "id-token": "write"},
    ("release-kit", "publish"): {"contents": "write"},
    ("site", "publish"): {"id-token": "write", "pages": "write"},
}
"""All that the jobs may do. A line more is a decision, not a detail."""

ON_DEVICES = [
    ("size-check", "device"),
    ("trace-refresh", "device"),
    ("trace-refresh", "device-functions"),
    ("nightly-performance", "device"),
    ("release", "device"),
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
    ("size-check", "build"),
    ("trace-refresh", "build"),
    ("trace-refresh", "link"),
    ("trace-refresh", "keep-set"),
    ("nightly-performance", "build"),
    ("release", "build"),
    ("release", "rebuild"),
}
"""Jobs that run what the project's repository holds."""


def _stem(document: Document) -> str:
    return document.name.rpartition("/")[2].removesuffix(".yml")


def _all_steps(*, uses: str = "", of: Iterable[Document] = ()) -> list[Placed]:
    """Return each step with its file and job; ``uses``: the beginning of its action's name."""
    return [
        (_stem(document), job_id, step)
        for document in of or (*workflows(), *actions())
        for job_id, step in document.steps()
        if step.get("uses", "").startswith(uses)
    ]


CHECKOUT = "actions/checkout@"
OF_THE_PROJECT = [
    (name, job_id, step["with"])
    for name, job_id, step in _all_steps(uses=CHECKOUT, of=workflows())
    if step["with"].get("path") in ("project", "base")
]


@pytest.mark.parametrize("document", [*workflows(), *actions()], ids=lambda d: d.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_is_kept(rule: Rule, document: Document) -> None:
    assert list(rule(document)) == []


EVENTS = (
    "branch_protection_rule",
    "check_run",
    "check_suite",
    "create",
    "delete",
    "deployment",
    "deployment_status",
    "discussion",
    "discussion_comment",
    "fork",
    "gollum",
    "issue_comment",
    "issues",
    "label",
    "member",
    "merge_group",
    "milestone",
    "page_build",
    "public",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_target",
    "push",
    "registry_package",
    "release",
    "repository_dispatch",
    "schedule",
    "status",
    "watch",
    "workflow_dispatch",
    "workflow_run",
    "Push",
    "",
)
"""What may start a caller, and what is none of it."""
ALLOWED = {
    "fork-comment": {"workflow_run"},
    "nightly-performance": {"schedule", "workflow_dispatch"},
    "release": {"push", "workflow_dispatch"},
    "size-check": {"pull_request", "push", "merge_group", "schedule", "workflow_dispatch"},
    "size-history": {"push"},
    "size-summary": {"pull_request", "push", "merge_group", "schedule", "workflow_dispatch"},
    "trace-refresh": {"schedule", "workflow_dispatch"},
}


def start(event: str, *, fork: bool = True, ref: str = "refs/heads/main") -> dict[str, Any]:
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
        env = {"ALLOWED_EVENT": allowed, "KIT": "1"}
        command = Command(argv=("bash", "-e", "-c", script), timeout_s=60, env=env)
        assert ProcessRunner({"PATH": "/usr/bin:/bin"}).run(command).ok is (allowed == "true")


@pytest.mark.parametrize(
    ("event", "home", "runs"),
    [
        ("pull_request", "stranger/phone", True),
        ("pull_request", "acme/phone", False),
        *((event, "acme/phone", False) for event in ("push", "merge_group", "workflow_dispatch")),
    ],
)
def test_a_comment_follows_the_run_of_a_fork_alone(event: str, home: str, runs: bool) -> None:
    ended = {"event": event, "head_repository": {"full_name": home}}
    run = {"github": {"event": {"workflow_run": ended}, "repository": "acme/phone"}}

    assert evaluate(workflow("fork-comment").jobs["comment"]["if"], run) is runs


@pytest.mark.parametrize("fork", [True, False], ids=["fork", "own"])
@pytest.mark.parametrize("name", sorted({name for name, _ in BUILDS}))
def test_only_what_the_team_started_gets_keys_and_machines(name: str, fork: bool) -> None:
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
    run = start(event, ref=ref)
    jobs = workflow("nightly-performance").jobs
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
        "fork-comment": ["comment"],
        "nightly-performance": [
            "build",
            "device ${{ matrix.name }}",
            "report",
            "history",
            "issues",
        ],
        "release": ["build", "rebuild", "device ${{ matrix.name }}", "prove", "attest", "publish"],
        "release-kit": ["build", "rebuild", "try", "attest", "publish"],
        "site": ["build", "publish"],
        "size-check": ["build", "device ${{ matrix.name }}", "verdict", "late"],
        "size-summary": ["verdict"],
        "size-history": ["history"],
        "trace-refresh": [
            "build",
            "device ${{ matrix.name }}",
            "emulated ${{ matrix.name }}",
            "link",
            "device functions ${{ matrix.name }}",
            "emulated functions ${{ matrix.name }}",
            "keep set",
            "propose",
        ],
    }


SUFFIX = "${{ steps.set-up.outputs.suffix }}"
INFIX = "${{ steps.set-up.outputs.infix }}"


def uploads() -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for _, _, step in _all_steps(uses="actions/upload-artifact@"):
        found.setdefault(step["with"]["name"], []).append(step["with"])
    return found


def test_names_and_times_of_artifacts_are_stable() -> None:
    """Later runs and people find them by name; bundles, drafts and logs are of use for a week.

    All others stay as long as the caller says, but for the baseline, which later runs need.
    """
    times = {
        name: {each.get("retention-days") for each in all_} for name, all_ in uploads().items()
    }
    caller = {"${{ inputs.retention-days }}"}
    kept = {}
    for what in ("results", "proofs", "proposal", "report", "performance", "release"):
        kept[f"megtrim-{what}{SUFFIX}"] = caller
    for what in ("bundle", "bundle-functions", "draft", "draft-again"):
        kept[f"megtrim-{what}{SUFFIX}"] = {"7"}

    assert times == kept | {
        "megtrim-report${{ inputs.suffix }}": caller,
        "megtrim-baseline${{ inputs.suffix }}": {"90"},
        "${{ inputs.artifact }}": {None},
        "github-pages": {"1"},
        **{name: {"7"} for name in ("${{ inputs.name }}", "megtrim-kit", "megtrim-kit-again")},
    }
    hidden = {name for name, given in uploads().items() if "include-hidden-files" in given[0]}
    # A team's folder may start with a dot; nothing else is uploaded with these.
    assert hidden == {f"megtrim-{what}{SUFFIX}" for what in ("draft", "draft-again", "proposal")}


def test_what_is_downloaded_was_uploaded() -> None:
    """By its id, or by a pattern that fits the uploads of one configuration, or file, alone.

    A job of another attempt, or a device, may store an artifact of any name.
    """
    given = [step["with"] for _, _, step in _all_steps(uses="actions/download-artifact@")]

    assert {each["pattern"] for each in given if "artifact-ids" not in each} == {
        *(f"megtrim-{what}{INFIX}*" for what in ("traces", "functions", "times", "evidence")),
        "megtrim-evidence${{ inputs.infix }}*",
        f"megtrim-baseline{SUFFIX}",
    }
    assert action("evidence").data["inputs"]["bundle"]["required"] == "true"
    # Without any id, the action downloads every artifact of the run, whoever named it.
    ids = [step for _, step in workflow("size-summary").steps() if "artifact-ids" in repr(step)]
    assert [step["if"] for step in ids] == ["inputs.reports != ''"]


@pytest.mark.parametrize("document", workflows(), ids=lambda document: document.name)
def test_names_are_asked_for_where_they_are_used(document: Document) -> None:
    """Without the configuration, `set-up` knows none: the names would be the default one's."""
    for job_id, job in document.jobs.items():
        if "steps.set-up.outputs." not in repr(job):
            continue
        set_up = [step for step in job["steps"] if step.get("id") == "set-up"]
        assert [step["with"]["config"] for step in set_up] == ["${{ inputs.config }}"], job_id
        before = job["steps"][: job["steps"].index(set_up[0])]
        assert "steps.set-up." not in repr(before)


@cache
def _read_once(name: str) -> Any:
    if (WORKFLOWS / f"{name}.yml").is_file():
        return workflow(name).jobs
    return action(name).data["runs"]


def find(path: str) -> Any:
    """Return what stands at a path: a workflow and its job, or an action; ``#`` begins a step."""
    name, *keys = path.split(" | ")
    value: Any = _read_once(name)
    for key in keys:
        if key == "last":
            value = value["steps"][-1]
        elif key.startswith("#"):
            (value,) = (s for s in value["steps"] if key[1:] in (s.get("id"), s["name"]))
        else:
            value = value.get(key)
    return value


def output(job_id: str, name: str) -> str:
    return f"${{{{ needs.{job_id}.outputs.{name} }}}}"


ALL_WELL = "!contains(needs.*.result, 'failure') && !contains(needs.*.result, 'cancelled')"
NOT_CANCELLED = "${{ !cancelled() }}"
OF_OUR_NIGHT = (
    "${{ !cancelled() && needs.report.outputs.report != '' && (github.event_name == 'schedule' || "
    "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)) }}"
)
PUSH_TO_DEFAULT = (
    "github.event_name == 'push' && "
    "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
)
SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"
OTHER_REPOSITORY = SAME_REPOSITORY.replace("==", "!=")
CONFIG, REF, RUN = (f"${{{{ {of} }}}}" for of in ("inputs.config", "github.ref", "github.run_id"))
GATE = "kit/.venv/bin/megtrim ci gate report"
HISTORY = "${{ inputs.history || format('perf-history{0}', steps.set-up.outputs.suffix) }}"
OWN_GROUP = "${{ inputs.pull-request || github.event.pull_request.number || github.run_id }}"
ONLY_TRIMMED = "steps.trim.outcome == 'success'"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # A skipped required check counts as passed, and a missing phone must hold no one.
        ("size-check | verdict | if", "always()"),
        ("size-check | verdict | needs", "build"),
        # Devices that are late bring the comment up to date, after the verdict: two at once would
        # make two comments.
        ("size-check | late | if", "always() && needs.device.result != 'skipped'"),
        ("size-check | late | needs", ["build", "device", "verdict"]),
        *(
            fact
            for job_id in ("verdict", "late")
            for fact in (
                (f"size-check | {job_id} | last | uses", "./kit/.github/actions/conclude"),
                (f"size-check | {job_id} | last | continue-on-error", None),
                (f"size-check | {job_id} | last | if", None),
                # By id: a device job, or an earlier attempt, may have stored such an artifact.
                *(
                    (f"size-check | {job_id} | last | with | {each}", output("build", each))
                    for each in ("results", "proofs", "bundle", "bundle-sha256")
                ),
            )
        ),
        *(
            fact
            for each in ("results", "proofs", "bundle")
            for fact in (
                (
                    f"size-check | build | outputs | {each}",
                    f"${{{{ steps.{each}.outputs.artifact-id }}}}",
                ),
                (f"size-check | build | #{each} | with | name", f"megtrim-{each}{SUFFIX}"),
                (f"conclude | #Download the {each} | if", f"inputs.{each} != ''"),
                (
                    f"conclude | #Download the {each} | with | artifact-ids",
                    f"${{{{ inputs.{each} }}}}",
                ),
            )
        ),
        # The gate comes last: everything above it happens whatever it says.
        *(
            fact
            for path in ("conclude", "trace-refresh | propose", "nightly-performance | report")
            for fact in (
                (f"{path} | last | run", GATE),
                (f"{path} | last | if", "always()"),
                (f"{path} | last | continue-on-error", None),
            )
        ),
        # A download that failed fails the job, and the report says all the same what is known.
        *(
            (f"conclude | #{name} | if", NOT_CANCELLED)
            for name in ("Join", "Publish", "Upload the report")
        ),
        # What ends the trim is known by the gate; nothing else of the build job is needed for it.
        ("size-check | build | #trim | continue-on-error", "true"),
        ("size-check | build | #Keep the results | if", NOT_CANCELLED),
        ("size-check | build | #pack | if", ONLY_TRIMMED),
        # The next build would begin at nothing, and run out of time as well.
        *(
            fact
            for name in ("nightly-performance", "size-check", "trace-refresh")
            for fact in (
                (f"{name} | build | #Save the compiler cache | if", "always()"),
                (f"{name} | build | #Save the compiler cache | with | save", "true"),
            )
        ),
        # A finding is annotated once: the later job knows what the verdict's has annotated.
        ("size-check | verdict | last | with | annotated", None),
        ("size-check | late | last | with | annotated", output("verdict", "report")),
        # A refresh by hand on a branch must not end the weekly one; a branch has one writer.
        ("trace-refresh | propose | concurrency | group", f"megtrim-refresh-propose-{CONFIG}"),
        *(
            (f"trace-refresh | {job_id} | concurrency | group", f"megtrim-{group}-{CONFIG}-{REF}")
            for job_id, group in (
                ("build", "refresh-build"),
                ("link", "refresh-link"),
                ("keep-set", "refresh-keep-set"),
                *((each, "${{ matrix.artifact }}") for each in ("device", "device-functions")),
                *((each, "${{ matrix.artifact }}") for each in ("emulated", "emulated-functions")),
            )
        ),
        # Two pull requests never meet; every other run is alone.
        *(
            (
                f"size-check | {job_id} | concurrency | group",
                f"megtrim-{group}-{CONFIG}-{OWN_GROUP}",
            )
            for job_id, group in (
                ("build", "build"),
                ("verdict", "verdict"),
                ("late", "late"),
                ("device", "${{ matrix.artifact }}"),
            )
        ),
        # A refresh needs every trace and list: a device that failed ends it.
        (
            "trace-refresh | keep-set | needs",
            ["build", "device", "emulated", "link", "device-functions", "emulated-functions"],
        ),
        (
            "trace-refresh | keep-set | if",
            f"!cancelled() && needs.build.result == 'success' && {ALL_WELL}",
        ),
        ("trace-refresh | propose | needs", ["build", "keep-set"]),
        (
            "trace-refresh | propose | if",
            "${{ !cancelled() && needs.keep-set.result == 'success' }}",
        ),
        # Functions are asked for behind the traces; the first round says whether there is a second.
        ("trace-refresh | build | outputs | functions", "${{ steps.pack.outputs.functions }}"),
        ("trace-refresh | link | needs", ["build", "device", "emulated"]),
        (
            "trace-refresh | link | if",
            f"!cancelled() && needs.build.outputs.functions == 'true' && {ALL_WELL}",
        ),
        # Without a bundle no one is asked.
        *(
            (f"trace-refresh | {job_id} | #pack | {key}", None)
            for job_id in ("build", "link")
            for key in ("if", "continue-on-error")
        ),
        ("trace-refresh | emulated | last | with | emulated", "true"),
        ("trace-refresh | device | last | with | emulated", None),
        # The report of a night waits by itself: a device job that no runner takes keeps nothing.
        ("nightly-performance | report | needs", "build"),
        ("nightly-performance | report | if", NOT_CANCELLED),
        ("nightly-performance | history | needs", "report"),
        ("nightly-performance | history | if", OF_OUR_NIGHT),
        ("nightly-performance | issues | needs", ["build", "report"]),
        ("nightly-performance | issues | if", OF_OUR_NIGHT),
        # What is compared, and what issues are about, is one commit; a failed build is no base.
        (
            "nightly-performance | build | outputs | base",
            "${{ steps.base-build.outcome == 'success' && steps.base.outputs.commit || '' }}",
        ),
        (
            "nightly-performance | build | #base-checkout | with | ref",
            "${{ steps.base.outputs.commit }}",
        ),
        (
            "nightly-performance | history | concurrency | group",
            "megtrim-night-history-${{ inputs.history || inputs.config }}",
        ),
        # Two nights at once would open two issues for one scenario.
        ("nightly-performance | issues | concurrency | group", f"megtrim-night-issues-{CONFIG}"),
        *(
            (f"nightly-performance | {job_id} | #Download the {what} | with | artifact-ids", ref)
            for job_id, what, ref in (
                ("report", "results", output("build", "results")),
                ("report", "bundle", output("build", "bundle")),
                ("history", "report", output("report", "report")),
                ("issues", "report", output("report", "report")),
            )
        ),
        # Of three in one group, GitHub would cancel the one that waits: its commit would be lost.
        ("size-history | history | concurrency | group", f"megtrim-size-history-{CONFIG}-{RUN}"),
        ("size-history | history | if", PUSH_TO_DEFAULT),
        # A pull request cannot say what the next one is measured against.
        ("conclude | #Keep the baseline | if", PUSH_TO_DEFAULT),
        (
            "conclude | #Keep the baseline | with | path",
            "report/sizes.json\nreport/evidence.json\n",
        ),
        # A fork hears why its devices are pending, and brings no evidence.
        (
            "size-check | verdict | last | with | pending",
            (
                f"${{{{ github.event_name == 'pull_request' && {OTHER_REPOSITORY} "
                "&& 'fork' || steps.wait.outcome == 'failure' && 'late' || "
                "steps.wait.outputs.pending }}"
            ),
        ),
        (
            "size-check | verdict | #wait | if",
            (
                "needs.build.outputs.device-jobs != '' && needs.build.outputs.device-jobs != '0' "
                f"&& (github.event_name != 'pull_request' || {SAME_REPOSITORY})"
            ),
        ),
        ("conclude | #Download the evidence | if", "inputs.pending != 'fork'"),
        (
            "conclude | #Download the evidence | with",
            {"pattern": "megtrim-evidence${{ inputs.infix }}*", "path": "evidence"},
        ),
        # Whether sources are private is known only when all were fetched.
        ("size-check | build | #baseline | if", "steps.sources.outcome == 'success'"),
        (
            "size-check | build | #Rebuild the baseline | if",
            "steps.baseline.outputs.rebuild != '' || steps.conditions.outputs.rebuild != ''",
        ),
        # Only what is whole is the base of anything.
        (
            "size-check | build | #trim | env | MEGTRIM_BASE",
            "${{ steps.rebuild.outcome == 'success' && '../out' || '' }}",
        ),
        # No more of the trusted commit than says where submodules come from.
        ("sources | #Check out what is trusted | with | sparse-checkout", ".gitmodules\n*.yaml\n"),
        (
            "sources | #Check out what is trusted | with | ref",
            (
                "${{ github.event.pull_request.base.sha || github.event.merge_group.base_sha || "
                "github.event.repository.default_branch && "
                "format('refs/heads/{0}', github.event.repository.default_branch) || github.sha }}"
            ),
        ),
        # A run for a branch ends before it builds: it could not be published.
        *(
            fact
            for job_id in ("build", "rebuild")
            for fact in (
                (f"release | {job_id} | #Require a tag | run", 'test -n "$RELEASE"'),
                (
                    f"release | {job_id} | #Require a tag | env | RELEASE",
                    "${{ steps.set-up.outputs.release }}",
                ),
            )
        ),
        # A job that is left out counts as a success to GitHub, so each result is asked for.
        ("release | prove | needs", ["build", "rebuild", "device"]),
        (
            "release | prove | if",
            (
                "!cancelled() && needs.build.result == 'success' && needs.rebuild.result == "
                """'success' && contains(fromJSON('["success", "skipped"]'), needs.device.result)"""
            ),
        ),
        ("release | publish | needs", ["build", "prove", "attest"]),
        (
            "release | publish | if",
            (
                "!cancelled() && needs.prove.result == 'success' && (needs.attest.result == "
                "'success' || needs.attest.result == 'skipped' && !inputs.attest)"
            ),
        ),
        # The second run of a tag waits, and finds what the first one made.
        ("release | publish | concurrency | group", f"megtrim-release-publish-{CONFIG}-{REF}"),
        # A path that enters the bytes shows in another folder.
        ("release | build | #Write the draft | working-directory", "project"),
        ("release | rebuild | #Write the draft | working-directory", "project-in-another-folder"),
        # A team's machine keeps its Python; GitHub's get the one that the kit is tested with.
        ("set-up | #Set up Python | if", "runner.environment == 'github-hosted'"),
        # What a pull request compiled, built or brought never reaches anybody else's run.
        ("compiler-cache | #Restore | if", "inputs.save != 'true'"),
        ("compiler-cache | #Save | if", f"inputs.save == 'true' && ({OF_DEFAULT_BRANCH})"),
        ("image | #Restore the image | if", "inputs.recipe != ''"),
        (
            "image | #Save the image | if",
            f"steps.bring.outputs.made == 'true' && ({OF_DEFAULT_BRANCH})",
        ),
        ("image | #Save the image | with | path", "image"),
    ],
)
def test_it_stands_there(path: str, expected: Any) -> None:
    assert find(path) == expected


@pytest.mark.parametrize(("name", "job"), DEVICE_JOBS, ids=[" ".join(job) for job in ON_DEVICES])
class TestDeviceJobs:
    def test_labels_environment_and_group(self, name: str, job: dict[str, Any]) -> None:
        labels: Any = ["self-hosted", "megtrim", "${{ matrix.class }}"]
        environment = "megtrim-devices"
        # A machine of GitHub's own takes no times; which one it is, the build does not say.
        if name != "nightly-performance":
            hosted = "matrix.runner == 'ubuntu-24.04-arm'"
            label = "'ubuntu-24.04-arm'"
            ours = """fromJSON(format('["self-hosted", "megtrim", {0}]', toJSON(matrix.class)))"""
            labels = f"${{{{ {hosted} && {label} || {ours} }}}}"
            environment = f"${{{{ {hosted} && 'megtrim-hosted' || 'megtrim-devices' }}}}"
        assert (job["runs-on"], job["environment"]) == (labels, environment)
        assert "${{ matrix.artifact }}" in job["concurrency"]["group"]

    def test_never_for_a_fork(self, name: str, job: dict[str, Any]) -> None:
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

    def test_nothing_of_the_project_and_no_secrets(self, name: str, job: dict[str, Any]) -> None:
        first, kit, evidence = job["steps"]
        given = evidence["with"]

        assert (first["name"], kit["name"]) == ("Know the event and the kit", "Check out the kit")
        assert kit["with"] == KIT
        assert evidence["uses"] == "./kit/.github/actions/evidence"
        assert given["sha256"] == f"${{{{ needs.{job['needs']}.outputs.bundle-sha256 }}}}"
        assert given["bundle"] == f"${{{{ needs.{job['needs']}.outputs.bundle }}}}"
        rest = repr({**job, "steps": [first, evidence]})
        assert not re.search(r"secrets\b|github\.token|GITHUB_TOKEN", rest)

    def test_no_other_job_is_on_a_machine_of_the_team(self, name: str, job: dict[str, Any]) -> None:
        others = {
            job_id: each["runs-on"]
            for job_id, each in workflow(name).jobs.items()
            if (name, job_id) not in ON_DEVICES
        }
        builds = {job_id for of, job_id in BUILDS if of == name}

        assert {others.pop(job_id) for job_id in builds} == {RUNNERS[name]}
        assert set(others.values()) == {HOSTED}


def test_evidence_knows_no_token_and_sweeps() -> None:
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


def test_all_but_devices_and_writers_give_way_to_a_newer_push() -> None:
    staying = {
        (_stem(document), job_id)
        for document in workflows()
        for job_id, job in document.jobs.items()
        if job["concurrency"]["cancel-in-progress"] == "false"
    }

    assert staying == {
        *ON_DEVICES,
        ("trace-refresh", "propose"),
        ("size-history", "history"),
        ("nightly-performance", "history"),
        ("nightly-performance", "issues"),
        ("release", "attest"),
        ("release", "publish"),
        ("release-kit", "attest"),
        ("release-kit", "publish"),
        ("site", "publish"),
    }


def test_what_may_write_runs_nothing_of_the_project() -> None:
    assert {(name, job_id) for name, job_id, _ in OF_THE_PROJECT} == BUILDS
    assert not any("write" in RIGHTS[job].values() for job in BUILDS)


def test_tokens_go_to_single_steps() -> None:
    every = [step for _, _, step in _all_steps()]
    given = {step["run"].split(" --")[0] for step in every if "GITHUB_TOKEN" in step.get("env", {})}
    jobs = [job for document in workflows() for job in document.jobs.values()]

    assert given == {
        f"kit/.venv/bin/megtrim ci github {verb}"
        for verb in (
            "baseline find",
            "wait",
            "environment",
            "publish report",
            "publish-fork",
            "propose",
            "base",
            "history add report",
            "history push report",
            "regression-issues report",
            "history push-sizes baseline",
            'release "release/$RELEASE"',
            "release-files dist",
        )
    }
    assert not [job for job in jobs if "env" in job]


def test_secrets_are_used_where_they_are_needed() -> None:
    text = "\n".join(document.text for document in (*workflows(), *actions()))
    uses = re.findall(r"^.*\bsecrets\.[\w-]+.*$", text, re.MULTILINE)

    ruled = ("secrets.cache-remote", "secrets.engine-key", "secrets.kit-key")
    which = "secrets.pull-request-token != '' && '--token-starts-checks' || '--start-checks'"

    assert [use.strip() for use in uses if not any(each in use for each in ruled)] == [
        f"CHECKS: ${{{{ {which} }}}}",
        "GITHUB_TOKEN: ${{ secrets.pull-request-token || github.token }}",
    ]


@pytest.mark.parametrize("job", sorted(BUILDS))
def test_logs_of_a_failed_build_are_kept(job: tuple[str, str]) -> None:
    name, job_id = job
    (keep,) = (s for s in workflow(name).jobs[job_id]["steps"] if "logs of what" in s["name"])

    assert keep["uses"] == "./kit/.github/actions/logs"
    assert keep["if"] == "${{ !cancelled() && steps.sources.outputs.private != 'true' }}"
    assert keep["with"].get("out") == ("out/elsewhere" if job_id == "rebuild" else None)
    assert find("logs | #Upload the logs | with | if-no-files-found") == "ignore"


WRITES_DATA = {
    ("fork-comment", "comment"): ["Set up", "Comment"],
    ("nightly-performance", "history"): ["Set up", "Download the report", "Append to the history"],
    ("size-history", "history"): ["Set up", "Download the baseline", "Append to the history"],
    ("release", "attest"): ["Download the release", "Attest where it was built"],
    ("release", "publish"): [
        "Set up",
        "Download the release",
        "Look at the devices' environment",
        "Publish",
    ],
}


@pytest.mark.parametrize(("name", "job_id"), WRITES_DATA)
def test_only_data_reaches_the_jobs_that_sign_and_write(name: str, job_id: str) -> None:
    steps = workflow(name).jobs[job_id]["steps"]
    checkouts = [s["with"] for s in steps if s.get("uses", "").startswith("actions/checkout@")]

    assert checkouts == [KIT]
    assert [step["name"] for step in steps][2:] == WRITES_DATA[name, job_id]


def test_builds_are_shown_of_the_compiler_cache() -> None:
    reported = {
        (name, job_id, step["name"])
        for name, job_id, step in _all_steps(of=workflows())
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
    found = {
        (name, job_id, step["name"]): step["with"]
        for name, job_id, step in _all_steps(uses="./kit/.github/actions/image", of=workflows())
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


def test_earlier_results_are_of_this_megtrim_and_configuration() -> None:
    restore, _, _, save = (step for _, step in action("earlier-results").steps())
    build = workflow("size-check").jobs["build"]["steps"]
    users = [each["with"] for each in build if each.get("uses", "").endswith("/earlier-results")]

    key = restore["with"]["key"]
    assert key == save["with"]["key"]
    assert key == f"{restore['with']['restore-keys'].strip()}${{{{ github.sha }}}}"
    assert key.endswith("-${{ inputs.megtrim }}-${{ inputs.config }}-${{ github.sha }}")
    assert [each["megtrim"] for each in users] == ["${{ steps.set-up.outputs.megtrim }}"] * 2


def test_what_is_kept_is_found_again_by_all_that_it_is_made_from() -> None:
    for name, parts in (
        ("image", ("runner.arch", "inputs.recipe", "hashFiles('kit/docker/**')")),
        (
            "compiler-cache",
            (
                "hashFiles('kit/requirements/kit.txt')",
                "hashFiles(format('project/{0}', inputs.file)) }}${{ inputs.suffix }}",
            ),
        ),
    ):
        restore, *_, save = (step["with"] for _, step in action(name).steps() if "uses" in step)
        assert (restore["path"], restore["key"]) == (save["path"], save["key"])
        assert [part for part in parts if part not in save["key"]] == []


def test_the_cache_is_that_of_a_file() -> None:
    """FILE#TOOLCHAIN is the name of none: its hash would be empty, and so that of any engine."""
    users = _all_steps(uses="./kit/.github/actions/compiler-cache", of=workflows())

    assert len(users) == 8
    assert {step["with"]["file"] for _, _, step in users} == {"${{ steps.set-up.outputs.file }}"}


@pytest.mark.parametrize("name", ["size-check", "trace-refresh"])
def test_callers_learn_what_came_out(name: str) -> None:
    document = workflow(name)
    outputs = document.events["workflow_call"]["outputs"]

    assert {"verdict", "size", "report-url", "report"} <= set(outputs)
    for each in outputs.values():
        for job_id, output in re.findall(r"jobs\.([\w-]+)\.outputs\.([\w-]+)", each["value"]):
            step_id = document.jobs[job_id]["outputs"][output].split(".")[1]
            assert step_id in {step.get("id") for step in document.jobs[job_id]["steps"]}


def test_checkouts_of_the_project_may_have_large_files_and_fetch_no_submodules() -> None:
    assert len(OF_THE_PROJECT) >= 9
    assert {given.get("lfs") for _, _, given in OF_THE_PROJECT} == {"${{ inputs.lfs }}"}
    assert [step for *_, step in _all_steps(uses="actions/") if "submodules" in step["with"]] == []


def test_a_release_is_built_without_caches() -> None:
    """What someone else's run stored cannot be in it."""
    uses = [step.get("uses", "") for _, step in workflow("release").steps()]

    assert not [each for each in uses if "cache" in each or "earlier-results" in each]
    assert "MEGTRIM_CACHE_REMOTE" not in workflow("release").text
    assert "--reuse" not in workflow("release").text


OPTIONS = (
    "--committed",
    "--no-gate",
    "--accept",
    "--draft",
    "--times",
    "--traces",
    "--functions",
    "--again",
    "--reuse",
    "gate",
    "mv",
)
UNSEEN = {
    "GITHUB_TOKEN",
    "MEGTRIM_LANES",
    "MEGTRIM_LANES_SPARED",
    "MEGTRIM_IMAGE",
    "MEGTRIM_ENGINE_KEY",
    "MEGTRIM_BASE",
    "MEGTRIM_ENGINE_HOST_KEYS",
    "MEGTRIM_PRIVATE_SOURCES",
    "MEGTRIM_CACHE_REMOTE",
    "MEGTRIM_CACHE_REMOTE_SECRET",
    "LC_ALL",
    "TZ",
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("size-check", {"--no-gate": 1, "--reuse": 2}),
        (
            "trace-refresh",
            {"--no-gate": 1, "--accept": 1, "--traces": 3, "--functions": 1, "gate": 1},
        ),
        ("nightly-performance", {"--committed": 3, "--no-gate": 1, "--times": 1, "gate": 1}),
        ("release", {"--committed": 4, "--draft": 2, "--again": 1, "mv": 1}),
    ],
)
def test_which_options_are_not_left_out(name: str, expected: dict[str, int]) -> None:
    """A run of act would be green without them: what is committed is built, in two folders."""
    runs = (step["run"] for _, step in workflow(name).steps() if "run" in step)
    words = Counter(word for run in runs for word in run.split())

    assert {word: words[word] for word in OPTIONS if words[word]} == expected


def test_every_variable_is_set_where_it_is_used() -> None:
    for *_, step in _all_steps():
        used = set(re.findall(r"\$([A-Z_0-9]+)", step.get("run", "")))
        assert used == set(step.get("env", {})) - UNSEEN, step.get("name")


def test_actions_are_given_what_they_ask_for() -> None:
    """GitHub does not insist on required inputs, and leaves unknown ones out with a warning."""
    for of, _, step in _all_steps(uses="./kit/"):
        inputs = action(step["uses"].rpartition("/")[2]).data["inputs"]
        required = {name for name, each in inputs.items() if each.get("required") == "true"}
        assert required <= set(step.get("with", {})) <= set(inputs), (of, step["name"])


def test_what_may_fail() -> None:
    found = {step["name"] for *_, step in _all_steps() if "continue-on-error" in step}
    names = (
        "Find the baseline",
        "Compare the conditions of what was counted",
        "Check out the merge base",
        "Rebuild the baseline",
        "Bring the merge base's image",
        "Trim, and verify without devices",
        "Wait for the devices",
        "Check out the history",
        "Find the base",
        "Check out the base",
        "Build the base",
        "Bring the base's image",
        "Add the night to the history",
        "Fetch the engine's submodules",
        "Fetch the base's submodules",
        "Download the reports",
    )
    own = [step for _, step in action("conclude").steps() if "continue-on-error" in step]

    concluding = [
        "Download the results",
        "Download the report that was published before",
        "Publish",
        "Upload the report",
        "Keep the baseline",
    ]

    assert found == {*names, *concluding}
    assert [step["name"] for step in own] == concluding


def test_which_commits_are_checked_out() -> None:
    found = {
        (name, step["with"]["path"], step["with"].get("ref"))
        for name, _, step in _all_steps(uses=CHECKOUT, of=workflows())
        if step["with"].get("path") not in (None, "kit")
    }

    assert found == {
        ("size-check", "project", "${{ github.event.pull_request.head.sha || github.sha }}"),
        (
            "size-check",
            "base",
            "${{ steps.baseline.outputs.rebuild || steps.conditions.outputs.rebuild }}",
        ),
        ("trace-refresh", "project", None),
        ("nightly-performance", "project", None),
        ("release", "project", None),
        ("release-kit", "kit-in-another-folder", None),
        ("nightly-performance", "base", "${{ steps.base.outputs.commit }}"),
        ("nightly-performance", "history", f"refs/heads/{HISTORY}"),
    }


def test_both_rounds_ask_alike() -> None:
    jobs = workflow("trace-refresh").jobs
    for first, second in (("device", "device-functions"), ("emulated", "emulated-functions")):
        one = jobs[first]["steps"][-1]["with"]
        other = jobs[second]["steps"][-1]["with"]
        for given in ("bundle", "sha256"):
            assert other.pop(given) == one.pop(given).replace("build", "link")
        assert one == other
        assert jobs[first]["steps"][:-1] == jobs[second]["steps"][:-1]
        assert jobs[first]["concurrency"] == jobs[second]["concurrency"]
