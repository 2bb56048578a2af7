"""The way of a run, as the steps say it: what is run in which order, and what may fail."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from workflows.documents import Document, action, actions, workflow, workflows

KIT = "kit/.venv/bin/megtrim"
IMAGE = [
    (
        "runs",
        f"{KIT} ci github image --config $CONFIG --image $IMAGE --recipe $RECIPE --kept image",
    ),
]
OPTIONS = (
    *("--committed", "--no-gate", "--accept", "--draft", "--times", "--traces", "--functions"),
    *("--again", "--reuse", "--github-matrix", "gate", "mv"),
)
EVIDENCE_RUN = (
    f"{KIT} ci evidence run bundle --sha256 $SHA256 --class $CLASS --shard $SHARD --to evidence"
)
EVIDENCE = [
    ("runs", "rm -rf bundle evidence"),
    ("runs", EVIDENCE_RUN),
    ("runs", f"{EVIDENCE_RUN} --emulated"),
    ("runs", "rm -rf bundle evidence"),
]


UNSEEN = {
    *("GITHUB_TOKEN", "MEGTRIM_LANES", "MEGTRIM_IMAGE", "MEGTRIM_ENGINE_KEY", "MEGTRIM_HISTORY"),
    "MEGTRIM_ENGINE_HOST_KEYS",
    "MEGTRIM_PRIVATE_SOURCES",
    *("MEGTRIM_CACHE_REMOTE", "MEGTRIM_CACHE_REMOTE_SECRET"),
    *("LC_ALL", "TZ"),
}
"""Variables that megtrim reads by itself."""


BASE = "${{ steps.base-build.outcome == 'success' && steps.base.outputs.commit || '' }}"
"""A base that was not built is none."""


HISTORY = "${{ inputs.history || format('perf-history{0}', steps.set-up.outputs.suffix) }}"
"""Each configuration has a branch of its own."""


def commands(document: Document) -> list[tuple[str, str]]:
    """Return what is run, without quotes and without each job's question for its kit."""
    return [
        (job_id, step["run"].replace('"', ""))
        for job_id, step in document.steps()
        if "run" in step and not step["run"].startswith("test ")
    ]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (action("evidence"), EVIDENCE),
        (action("image"), IMAGE),
        (action("earlier-results"), [("runs", "rm -rf earlier"), ("runs", "mv out earlier")]),
    ],
    ids=lambda value: value.name if isinstance(value, Document) else "",
)
def test_what_is_run(document: Document, expected: list[tuple[str, str]]) -> None:
    """In this order; act runs what other documents have, which is not repeated here."""
    assert commands(document) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("size-check", {"--no-gate": 1, "--reuse": 2, "--github-matrix": 1}),
        (
            "trace-refresh",
            {
                "--no-gate": 1,
                "--accept": 1,
                "--traces": 4,
                "--functions": 1,
                "--github-matrix": 2,
                "gate": 1,
            },
        ),
        (
            "nightly-performance",
            {"--committed": 4, "--no-gate": 1, "--times": 2, "--github-matrix": 1, "gate": 1},
        ),
        ("release", {"--committed": 5, "--draft": 2, "--again": 1, "--github-matrix": 1, "mv": 1}),
    ],
)
def test_which_options_are_not_left_out(name: str, expected: dict[str, int]) -> None:
    """A run of act would be green without them: what is committed is built, in two folders."""
    words = Counter(word for _, run in commands(workflow(name)) for word in run.split())

    assert {word: words[word] for word in OPTIONS if words[word]} == expected


def test_every_variable_is_set_where_it_is_used() -> None:
    """By its own step, and from what its name says; none is set for nothing."""
    sources: dict[str, set[str]] = {}
    for document in (*workflows(), *actions()):
        for _, step in document.steps():
            used = set(re.findall(r"\$([A-Z_0-9]+)", step.get("run", "")))
            given = step.get("env", {})
            assert used == set(given) - UNSEEN, step.get("name")
            for name in used:
                sources.setdefault(name, set()).add(given[name])
    del sources["ALLOWED_EVENT"]  # test_policy.py tries it

    suffix = "steps.set-up.outputs.suffix"
    assert sources == {
        "ARTIFACT": {
            "megtrim-report${{ inputs.suffix }}",
            f"megtrim-performance${{{{ {suffix} }}}}",
        },
        "BASE": {"${{ inputs.base }}", "${{ needs.build.outputs.base }}"},
        "BASE_NAME": {"${{ steps.base.outputs.name }}"},
        "BASELINE": {f"${{{{ inputs.baseline || format('megtrim-baseline{{0}}', {suffix}) }}}}"},
        "BRANCH": {f"${{{{ inputs.branch || format('megtrim/keepset{{0}}', {suffix}) }}}}"},
        "BUILD_RUNNER": {"${{ inputs.build-runner }}"},
        "BUNDLE": {
            "${{ inputs.bundle-sha256 }}",
            "${{ needs.build.outputs.bundle-sha256 }}",
        },
        "CLASS": {"${{ inputs.class }}"},
        "COMMENT": {"${{ inputs.comment == 'false' && '--no-comment' || '--comment' }}"},
        "CONFIG": {"${{ inputs.config }}"},
        "HISTORY": {HISTORY},
        "IMAGE": {"${{ inputs.image }}"},
        "JOBS": {"${{ needs.build.outputs.device-jobs }}"},
        "KEEP_SET": {"${{ inputs.keep-set }}"},
        "NAMES": {"${{ inputs.toolchains }}"},
        "KIT_REPOSITORY": {"${{ job.workflow_repository || inputs.kit-repository }}"},
        "KIT_SHA": {"${{ job.workflow_sha || inputs.kit-sha }}"},
        "PACKAGES": {"${{ inputs.packages }}"},
        "PENDING": {
            "${{ inputs.pending }}",
            "${{ steps.wait.outcome == 'failure' && 'late' || steps.wait.outputs.pending }}",
        },
        "PICKUP": {"${{ inputs.device-pickup-minutes }}"},
        "PULL_REQUEST": {"${{ inputs.pull-request }}"},
        "RECIPE": {"${{ inputs.recipe }}"},
        "RELEASE": {
            "${{ steps.set-up.outputs.release }}",
            "${{ needs.prove.outputs.file }}",
        },
        "REPOSITORIES": {"${{ inputs.repositories }}"},
        "RUN": {"${{ inputs.device-minutes }}"},
        "SESSION": {"${{ matrix.session }}"},
        "SHA256": {"${{ inputs.sha256 }}"},
        "SHARD": {"${{ inputs.shard }}"},
        "SIZE_CHECK": {"${{ inputs.size-check }}"},
        "SUBMODULES": {"${{ inputs.submodules }}"},
        "TAG": {"${{ github.ref_name }}"},
        "WAY": {"${{ inputs.quick && '--quick' || '--committed' }}"},
    }


def test_actions_are_given_what_they_ask_for() -> None:
    """GitHub does not insist on required inputs, and leaves unknown ones out with a warning."""
    for document in (*workflows(), *actions()):
        for _, step in document.steps():
            if not step.get("uses", "").startswith("./kit/"):
                continue
            inputs = action(step["uses"].rpartition("/")[2]).data["inputs"]
            required = {name for name, each in inputs.items() if each.get("required") == "true"}
            given = set(step.get("with", {}))
            assert required <= given <= set(inputs), (document.name, step["name"])


def test_what_may_fail() -> None:
    """These and no others; whatever they leave, the verdict says it."""
    found = {
        (document.name.split("/")[-1], step["name"])
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if "continue-on-error" in step
    }
    names = (
        *("Find the baseline", "Check out the merge base", "Rebuild the baseline"),
        "Bring the merge base's image",
        *("Trim, and verify without devices", "Wait for the devices"),
        *("Check out the history", "Find the base", "Check out the base", "Build the base"),
        *("Bring the base's image", "Add the night to the history"),
        *("Fetch the engine's submodules", "Fetch the base's submodules"),
        "Download the reports",
    )
    own = [step for _, step in action("conclude").steps() if "continue-on-error" in step]

    concluding = [
        *("Download the results", "Download the report that was published before"),
        *("Publish", "Upload the report", "Keep the baseline"),
    ]

    assert {name for _, name in found} == {*names, *concluding}
    assert [step["name"] for step in own] == concluding


def test_which_commits_are_checked_out() -> None:
    """The head of the pull request, not GitHub's merge of it; the merge base that was found."""
    found = {
        (document.name.split("/")[-1], step["with"]["path"], step["with"].get("ref"))
        for document in workflows()
        for _, step in document.steps()
        if step.get("uses", "").startswith("actions/checkout@")
        and step["with"].get("path") not in (None, "kit")
    }

    assert found == {
        ("size-check.yml", "project", "${{ github.event.pull_request.head.sha || github.sha }}"),
        ("size-check.yml", "base", "${{ steps.baseline.outputs.rebuild }}"),
        ("trace-refresh.yml", "project", None),
        ("nightly-performance.yml", "project", None),
        ("release.yml", "project", None),
        ("release-kit.yml", "kit-in-another-folder", None),
        ("nightly-performance.yml", "base", "${{ steps.base.outputs.commit }}"),
        ("nightly-performance.yml", "history", f"refs/heads/{HISTORY}"),
        ("size-check.yml", "history", "refs/heads/${{ inputs.history }}"),
    }


def _asked(inputs: dict[str, str]) -> str:
    return next(inputs[key] for key in ("name", "pattern", "artifact-ids") if key in inputs)


@pytest.mark.parametrize("name", ["results", "proofs", "bundle"])
def test_a_verdict_is_made_from_what_this_build_kept(name: str) -> None:
    """By id: a device job may store an artifact of the same name in its place."""
    size_check = workflow("size-check")
    (kept,) = (step for step in size_check.jobs["build"]["steps"] if step.get("id") == name)
    (taken,) = (
        step
        for _, step in action("conclude").steps()
        if step.get("with", {}).get("artifact-ids") == f"${{{{ inputs.{name} }}}}"
    )

    assert kept["with"]["name"] == f"megtrim-{name}${{{{ steps.set-up.outputs.suffix }}}}"
    reported = size_check.jobs["build"]["outputs"][name]
    assert reported == f"${{{{ steps.{name}.outputs.artifact-id }}}}"
    assert taken["if"] == f"inputs.{name} != ''"
    for job in ("verdict", "late"):
        given = size_check.jobs[job]["steps"][-1]["with"][name]
        assert given == f"${{{{ needs.build.outputs.{name} }}}}"


def test_where_artifacts_come_from_and_go_to() -> None:
    """Folders of the runner, by name, by pattern or by id."""
    found = {
        (_asked(step["with"]), step["with"]["path"].strip())
        for document in (*workflows(), *actions())
        for _, step in document.steps()
        if "-artifact@" in step.get("uses", "")
    }

    assert found == {
        *(
            (f"megtrim-{what}${{{{ steps.set-up.outputs.suffix }}}}", folder)
            for what, folder in (
                ("results", "out/final"),
                ("proofs", "out/baseline/evidence.json"),
                ("bundle", "bundle"),
                ("bundle-functions", "bundle"),
                ("report", "out/final"),
                ("build-logs", "logs"),
                ("build-logs-keep-set", "logs"),
                ("build-logs-link", "logs"),
                ("proposal", "project/${{ inputs.keep-set }}"),
                ("performance", "report"),
                ("build-logs-rebuild", "logs"),
                ("draft", "draft"),
                ("draft-again", "draft"),
                ("release", "release"),
            )
        ),
        *(
            (f"megtrim-{what}${{{{ steps.set-up.outputs.infix }}}}*", folder)
            for what, folder in (
                ("traces", "traces"),
                ("functions", "functions"),
                ("times", "evidence"),
                ("evidence", "evidence"),
            )
        ),
        *(("megtrim-kit", "dist"), ("megtrim-kit-again", "again")),
        ("${{ needs.build.outputs.files }}", "dist"),
        ("${{ needs.rebuild.outputs.files }}", "again"),
        ("${{ inputs.results }}", "results"),
        ("${{ inputs.proofs }}", "proofs"),
        ("${{ inputs.bundle }}", "bundle"),
        ("megtrim-evidence${{ inputs.infix }}*", "evidence"),
        ("megtrim-report${{ inputs.suffix }}", "report"),
        ("${{ inputs.reports }}", "reports"),
        ("${{ needs.keep-set.outputs.proposal }}", "proposal/${{ inputs.keep-set }}"),
        ("${{ needs.keep-set.outputs.report }}", "report"),
        ("${{ inputs.annotated }}", "annotated"),
        ("${{ needs.build.outputs.results }}", "results"),
        ("${{ needs.build.outputs.bundle }}", "bundle"),
        ("${{ needs.report.outputs.report }}", "report"),
        ("${{ needs.build.outputs.draft }}", "draft"),
        ("${{ needs.rebuild.outputs.draft }}", "again"),
        ("${{ needs.prove.outputs.release }}", "release"),
        ("${{ inputs.artifact }}", "evidence"),
        (
            "${{ inputs.baseline || format('megtrim-baseline{0}', inputs.suffix) }}",
            "report/sizes.json\nreport/evidence.json",
        ),
        (
            "${{ inputs.baseline || format('megtrim-baseline{0}', steps.set-up.outputs.suffix) }}",
            "baseline",
        ),
    }


ALL_WELL = "!contains(needs.*.result, 'failure') && !contains(needs.*.result, 'cancelled')"


def test_a_refresh_needs_every_trace_and_list() -> None:
    """A device that failed ends it; one that no one has is left out, and so is a round."""
    jobs = workflow("trace-refresh").jobs

    assert jobs["keep-set"]["needs"] == [
        *("build", "device", "emulated", "link", "device-functions", "emulated-functions"),
    ]
    assert jobs["keep-set"]["if"] == (
        f"!cancelled() && needs.build.result == 'success' && {ALL_WELL}"
    )
    assert jobs["propose"]["needs"] == "keep-set"
    assert jobs["propose"]["if"] == "${{ !cancelled() && needs.keep-set.result == 'success' }}"


def test_functions_are_asked_for_where_they_are_trimmed() -> None:
    """Behind the traces; the plan of the first round says whether there is a second."""
    jobs = workflow("trace-refresh").jobs
    reported = jobs["build"]["outputs"]["functions"]

    assert reported == "${{ steps.plan.outputs.functions }}"
    assert jobs["link"]["needs"] == ["build", "device", "emulated"]
    assert jobs["link"]["if"] == (
        f"!cancelled() && needs.build.outputs.functions == 'true' && {ALL_WELL}"
    )
    for first, second in (("device", "device-functions"), ("emulated", "emulated-functions")):
        asked = f"needs.link.outputs.{first}-jobs"
        ready = "!cancelled() && needs.link.result == 'success'"
        assert jobs[second]["needs"] == "link"
        assert jobs[second]["if"].startswith(f"{asked} != '' && {asked} != '0' && {ready}")
        assert jobs[second]["strategy"]["matrix"] == (
            f"${{{{ fromJSON(needs.link.outputs.{first} || '{{\"include\":[]}}') }}}}"
        )


@pytest.mark.parametrize("job", ["build", "link"])
def test_jobs_are_planned_for_what_was_packed(job: str) -> None:
    """To pack makes the link that functions are recorded on; without a bundle no one is asked."""
    steps = workflow("trace-refresh").jobs[job]["steps"]
    places = {step["id"]: place for place, step in enumerate(steps) if "id" in step}

    assert places["pack"] < places["plan"]
    for step in (steps[places["pack"]], steps[places["plan"]]):
        assert not {"if", "continue-on-error"} & set(step)


def test_both_rounds_ask_alike() -> None:
    """Of another bundle: the jobs differ by nothing else."""
    jobs = workflow("trace-refresh").jobs
    for first, second in (("device", "device-functions"), ("emulated", "emulated-functions")):
        one, other = jobs[first]["steps"][-1]["with"], jobs[second]["steps"][-1]["with"]
        for given in ("bundle", "sha256"):
            assert other.pop(given) == one.pop(given).replace("build", "link")
        assert one == other
        assert jobs[first]["steps"][:-1] == jobs[second]["steps"][:-1]
        assert jobs[first]["concurrency"] == jobs[second]["concurrency"]


def test_the_proposal_is_made_once() -> None:
    """With one token or the other."""
    steps = workflow("trace-refresh").jobs["propose"]["steps"]
    own, other = (step for step in steps if "propose" in step.get("run", ""))

    assert (own["if"], other["if"]) == ("env.OTHER_TOKEN != 'true'", "env.OTHER_TOKEN == 'true'")
    assert own["env"]["GITHUB_TOKEN"] == "${{ github.token }}"
    assert other["env"]["GITHUB_TOKEN"] == "${{ secrets.pull-request-token }}"


def test_a_night_waits_for_no_phone() -> None:
    """The report has a wait of its own; a device job that no runner takes keeps nothing back."""
    jobs = workflow("nightly-performance").jobs

    assert {job_id: job.get("needs") for job_id, job in jobs.items()} == {
        "build": None,
        "device": "build",
        "report": "build",
        "history": "report",
        "issues": ["build", "report"],
    }
    assert jobs["report"]["if"] == "${{ !cancelled() }}"
    for job_id in ("history", "issues"):
        assert jobs[job_id]["if"] == (
            "${{ !cancelled() && needs.report.outputs.report != '' && "
            "(github.event_name == 'schedule' || "
            "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)) }}"
        )


def test_a_night_is_compared_with_a_base_that_was_built() -> None:
    """What is compared, and what issues are about, is one commit; a failed build is no base."""
    build = workflow("nightly-performance").jobs["build"]
    checkout = next(step for step in build["steps"] if step.get("id") == "base-checkout")

    assert build["outputs"]["base"] == BASE
    assert checkout["with"]["ref"] == "${{ steps.base.outputs.commit }}"


def test_what_a_night_hands_on_goes_by_id() -> None:
    """A job of another attempt, or a device, may store an artifact of the same name."""
    jobs = workflow("nightly-performance").jobs
    taken = {
        (job_id, step["with"]["artifact-ids"])
        for job_id, job in jobs.items()
        for step in job["steps"]
        if "artifact-ids" in step.get("with", {})
    }

    assert taken == {
        ("report", "${{ needs.build.outputs.results }}"),
        ("report", "${{ needs.build.outputs.bundle }}"),
        ("history", "${{ needs.report.outputs.report }}"),
        ("issues", "${{ needs.report.outputs.report }}"),
    }


def test_evidence_is_emulated_or_not() -> None:
    """On the device that hangs there, or on one that qemu plays."""
    one, other = (step for _, step in action("evidence").steps() if "run b" in step.get("run", ""))
    jobs = workflow("trace-refresh").jobs

    assert (one["if"], other["if"]) == ("inputs.emulated != 'true'", "inputs.emulated == 'true'")
    assert jobs["emulated"]["steps"][-1]["with"]["emulated"] == "true"
    assert "emulated" not in jobs["device"]["steps"][-1]["with"]


def test_a_team_s_machine_keeps_its_python() -> None:
    """GitHub's machines get the one that the kit is tested with."""
    first, *_ = (step for _, step in action("set-up").steps())

    assert first["if"] == "runner.environment == 'github-hosted'"


def test_a_finding_is_annotated_once() -> None:
    """The later job knows what the verdict's has annotated, by the id of its report."""
    jobs = workflow("size-check").jobs
    concluded = {name: jobs[name]["steps"][-1]["with"] for name in ("verdict", "late")}

    assert "annotated" not in concluded["verdict"]
    assert concluded["late"]["annotated"] == "${{ needs.verdict.outputs.report }}"
    marked = [
        (_stem(document), step.get("with", {}).get("annotate"))
        for document in workflows()
        for _, step in document.steps()
        if step.get("uses") == "./kit/.github/actions/set-up"
    ]
    # Where no report annotates, the runner does by the errors that megtrim prints.
    assert {name for name, annotate in marked if annotate} == {
        *("trace-refresh", "release", "release-kit")
    }


def _stem(document: Document) -> str:
    return document.name.rpartition("/")[2].removesuffix(".yml")
