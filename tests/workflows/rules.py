"""What every workflow and action of the kit keeps to: a rule yields what breaks it.

The checkers know GitHub's rules; these are the kit's own, or are shown here so that no setting of
a checker can lose them. Each rule is shown at work on a broken sample in test_rules.py.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from workflows.documents import ACTIONS, Document

Rule = Callable[[Document], Iterator[str]]

EVENTS = {"pull_request", "push", "merge_group", "workflow_dispatch", "workflow_call", "schedule"}
AFTER = "workflow_run"
"""The event of one workflow, and of the callers that call nothing else."""
FORK_COMMENT = "fork-comment.yml"
KIT = {
    "repository": "${{ job.workflow_repository || inputs.kit-repository }}",
    "ref": "${{ job.workflow_sha || inputs.kit-sha }}",
    "path": "kit",
    "token": (
        "${{ !startsWith(secrets.kit-key, '-----BEGIN') && secrets.kit-key || github.token }}"
    ),
    "ssh-key": "${{ startsWith(secrets.kit-key, '-----BEGIN') && secrets.kit-key || '' }}",
    "persist-credentials": "false",
}
OF_DEFAULT_BRANCH = (
    """github.event_name == 'schedule' || """
    """contains(fromJSON('["push", "workflow_dispatch"]'), github.event_name) && """
    "github.ref == format('refs/heads/{0}', github.event.repository.default_branch)"
)
_KEPT = ".github/actions/"
_PINNED = re.compile(r"[\w.-]+/[\w.-]+(?:/[\w.-]+)*@[0-9a-f]{40}")


def only_known_events(document: Document) -> Iterator[str]:
    """Nothing that runs with the rights of the base while it handles what a fork sent.

    But for the comment on its pull request, which handles that as data.
    """
    called = {job.get("uses", "").partition("@")[0] for job in document.jobs.values()}
    comments = all(each.endswith(f"/.github/workflows/{FORK_COMMENT}") for each in called)
    for event in document.events:
        if event not in EVENTS and not (event == AFTER and comments):
            yield f"event {event}"


def a_run_of_a_fork_is_data(document: Document) -> Iterator[str]:
    """After it, a job checks out the kit and reads what was uploaded; no name of it is used."""
    for job_id, job in document.jobs.items():
        first, *_ = job.get("steps") or [{}]
        if AFTER not in repr(first.get("env")):
            continue
        for step in job["steps"][2:]:
            set_up = step.get("uses") == f"./kit/{_KEPT}set-up"
            if not set_up and not step.get("run", "").startswith(_READS_A_FORK):
                yield f"{job_id}: {step.get('name')} comes after a run of a fork"
        for fact in sorted({*re.findall(r"\.workflow_run\.([\w.]+)", repr(job))} - _FACTS):
            yield f"{job_id}: {fact} is what a fork says"


_READS_A_FORK = "kit/.venv/bin/megtrim ci github publish-fork "
_FACTS = {"id", "event", "head_repository.full_name"}


def no_paths_filter(document: Document) -> Iterator[str]:
    """A required check that is filtered out is waited for forever."""
    for event, value in document.events.items():
        for key in ("paths", "paths-ignore"):
            if isinstance(value, dict) and key in value:
                yield f"{event} has {key}"


def nothing_global(document: Document) -> Iterator[str]:
    if "jobs" in document.data and document.data.get("permissions") != {}:
        yield "top: permissions are not {}"
    for key in ("env", "defaults", "concurrency"):
        if key in document.data:
            yield f"top: {key}"


def permissions_with_reasons(document: Document) -> Iterator[str]:
    for job_id, job in document.jobs.items():
        granted = job.get("permissions")
        if not isinstance(granted, dict):
            yield f"{job_id}: permissions are not listed"
            continue
        for scope, level in granted.items():
            line = rf"^ *(?:permissions: {{.*)?\b{scope}: {level}\b.* # \S"
            if not re.search(line, document.text, re.MULTILINE):
                yield f"{job_id}: {scope}: {level} has no reason"


def actions_pinned(document: Document) -> Iterator[str]:
    """A commit with its version next to it, or the kit's own action; no images."""
    callers = [(job_id, job) for job_id, job in document.jobs.items() if "uses" in job]
    for job_id, step in (*document.steps(), *callers):
        uses = step.get("uses")
        if uses is None:
            continue
        if uses.startswith("./kit/.github/actions/"):
            if not (ACTIONS / uses.rpartition("/")[2] / "action.yml").is_file():
                yield f"{job_id}: {uses} is not there"
        elif not _PINNED.fullmatch(uses):
            yield f"{job_id}: {uses} is not pinned"
        elif not re.search(rf"{re.escape(uses)} # v\d+\.\d+\.\d+$", document.text, re.MULTILINE):
            yield f"{job_id}: {uses} has no version next to it"
    for job_id, job in document.jobs.items():
        for key in {"container", "services"} & set(job):
            yield f"{job_id}: {key}"


def one_command(document: Document) -> Iterator[str]:
    """A step is one command: no operator, no expression, every variable in quotes."""
    for job_id, step in document.steps():
        run = step.get("run")
        if run is None:
            continue
        if "\n" in run.strip():
            yield f"{job_id}: several lines: {run.splitlines()[0]}"
        if "${{" in run:
            yield f"{job_id}: expression in: {run}"
        bare = re.sub(r"'[^']*'", "''", run)
        if "`" in bare or "$(" in bare:
            yield f"{job_id}: command inside: {run}"
        if "$" in re.sub(r'"[^"]*"', '""', bare):
            yield f"{job_id}: variable without quotes: {run}"
        words = list(shlex.shlex(run, punctuation_chars=True))
        for operator in sorted({word for word in words if set(word) <= set("();<>|&")}):
            yield f"{job_id}: operator {operator} in: {run}"


def bounded_jobs(document: Document) -> Iterator[str]:
    """Every job ends, and is alone in its own group; no group is the caller's."""
    for job_id, job in document.jobs.items():
        if "uses" in job:
            continue
        if not job.get("timeout-minutes"):
            yield f"{job_id}: no timeout-minutes"
        group = job.get("concurrency", {}).get("group", "")
        if not group.startswith(("megtrim-", "ci-")) or "github.workflow" in group:
            yield f"{job_id}: group {group!r}"


def groups_apart(document: Document) -> Iterator[str]:
    """Two jobs in one group would cancel each other."""
    seen: dict[str, str] = {}
    for job_id, job in document.jobs.items():
        group = job.get("concurrency", {}).get("group", job_id)
        # The two matrices of a refresh name different artifacts.
        if group in seen and "matrix.artifact" not in group:
            yield f"{job_id}: the group of {seen[group]}"
        seen[group] = job_id


def everything_has_a_name(document: Document) -> Iterator[str]:
    if "name" not in document.data:
        yield "top: no name"
    for job_id, job in document.jobs.items():
        if "name" not in job:
            yield f"{job_id}: no name"
    for job_id, step in document.steps():
        if "name" not in step:
            yield f"{job_id}: a step without a name"


def checkouts_keep_nothing(document: Document) -> Iterator[str]:
    """No token stays in a checkout for what runs after it."""
    for job_id, step in document.steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            if step.get("with", {}).get("persist-credentials") != "false":
                yield f"{job_id}: {step.get('name')} keeps its token"
            if "allow-unsafe-pr-checkout" in step.get("with", {}):
                yield f"{job_id}: {step.get('name')} is unsafe"


def kit_known_first(document: Document) -> Iterator[str]:
    """A called workflow's job knows its kit, and checks out that commit, before anything else."""
    if "workflow_call" not in document.events:
        return
    either = "(job.workflow_repository || inputs.kit-repository)"
    wanted = {"KIT": f"${{{{ {either} && (job.workflow_sha || inputs.kit-sha) }}}}"}
    for job_id, job in document.jobs.items():
        first, second = job["steps"][:2]
        command = 'test "$ALLOWED_EVENT" = true -a -n "$KIT"'
        env = dict(first.get("env", {}))
        events = _ALLOWED.fullmatch(env.pop("ALLOWED_EVENT", ""))
        if first.get("run") != command or env != wanted:
            yield f"{job_id}: does not begin by knowing its kit"
        own = {AFTER} if document.name.endswith(f"/{FORK_COMMENT}") else EVENTS
        if not events or not {*json.loads(events[1])} <= own or "if" in first:
            yield f"{job_id}: does not refuse events that are not listed"
        if second.get("with") != KIT:
            yield f"{job_id}: does not check out its kit"


_ALLOWED = re.compile(r"\$\{\{ contains\(fromJSON\('(\[.*\])'\), github\.event_name\) \}\}")


def empty_matrix_guarded(document: Document) -> Iterator[str]:
    """An empty matrix is an error on GitHub: the job is left out, and the expression holds."""
    for job_id, job in document.jobs.items():
        matrix = job.get("strategy", {}).get("matrix")
        if not isinstance(matrix, str):
            continue
        source = rf"\$\{{\{{ fromJSON\((needs\.[\w-]+\.outputs\.[\w-]+) \|\| '{_EMPTY}'\) \}}\}}"
        found = re.fullmatch(source, matrix)
        if found is None:
            yield f"{job_id}: matrix {matrix}"
        elif not job.get("if", "").startswith(f"{found[1]}-jobs != '' && {found[1]}-jobs != '0'"):
            yield f"{job_id}: runs without entries"
        if job["strategy"].get("fail-fast") != "false":
            yield f"{job_id}: one failing entry ends the others"


_EMPTY = re.escape('{"include":[]}')


def no_way_around(document: Document) -> Iterator[str]:
    """No files of the runner that change later steps, no old commands, no downloads by hand."""
    for word in ("GITHUB_ENV", "GITHUB_PATH", "ALLOW_UNSECURE", "curl ", "wget ", "docker://"):
        if word in document.text:
            yield f"{word.strip()} is used"


def cache_in_one_place(document: Document) -> Iterator[str]:
    """Only what is kept for compilers restores and saves, and never saves for a pull request."""
    for job_id, step in document.steps():
        uses = step.get("uses", "")
        if uses.startswith("actions/cache@"):
            yield f"{job_id}: a cache that saves by itself"
        if uses.startswith("actions/setup-python@") and "cache" in step.get("with", {}):
            yield f"{job_id}: setup-python with a cache"
        own = document.name.startswith(
            tuple(f"{_KEPT}{name}/" for name in ("compiler-cache", "image", "earlier-results"))
        )
        if uses.startswith("actions/cache/") and not own:
            yield f"{job_id}: a cache of its own"
        if uses.startswith("actions/cache/save@") and OF_DEFAULT_BRANCH not in step.get("if", ""):
            yield f"{job_id}: {step.get('name')} saves what is only proposed"


def images_by_digest(document: Document) -> Iterator[str]:
    """An image is named by its digest and brought by megtrim, which insists on it."""
    for reference in _IMAGE.findall(document.text):
        yield f"image {reference}"
    for job_id, step in document.steps():
        words = shlex.split(step.get("run", ""))
        if words[:1] == ["docker"] or "docker" in words[1:]:
            yield f"{job_id}: docker by hand: {step['run']}"
        if step.get("uses", "").startswith("docker/"):
            yield f"{job_id}: {step['uses']}"


_IMAGE = re.compile(
    r"\b(?:ghcr\.io|docker\.io|quay\.io|debian|ubuntu)[\w./-]*:(?!\S*@sha256:)[\w.-]+"
)


def builds_in_the_image(document: Document) -> Iterator[str]:
    """What asks for a toolchain comes after the image, and learns of it."""
    for job_id, job in document.jobs.items():
        brought = False
        for step in job.get("steps", ()):
            if step.get("id") == "image" and step.get("uses") == f"./kit/{_KEPT}image":
                brought = True
            if not _BUILDS.search(step.get("run", "")):
                continue
            if not brought:
                yield f"{job_id}: {step.get('name')} comes before the image"
            if step.get("env", {}).get("MEGTRIM_IMAGE") != "${{ steps.image.outputs.image }}":
                yield f"{job_id}: {step.get('name')} is not shown of the image"


_BUILDS = re.compile(
    r"bin/megtrim "
    r"(?:trim|stage build|release build|ci evidence pack|ci github baseline (?:compare|rebuild))\b"
)


def the_cache_password_is_guarded(document: Document) -> Iterator[str]:
    """Whoever may write into the compiler cache is no pull request; no one else has it."""
    guarded = f"${{{{ ({OF_DEFAULT_BRANCH}) && secrets.cache-remote || '' }}}}"
    for job_id, step in document.steps():
        for name, value in (*step.get("env", {}).items(), *step.get("with", {}).items()):
            if "secrets.cache-remote" not in value:
                continue
            if name != "MEGTRIM_CACHE_REMOTE_SECRET" or value != guarded:
                yield f"{job_id}: {step.get('name')} has the password in {name}"
            elif not _COMPILES.search(step.get("run", "")):
                yield f"{job_id}: {step.get('name')} compiles nothing"
    for job_id, job in document.jobs.items():
        if "secrets.cache-remote" in repr({**job, "steps": ()}):
            yield f"{job_id}: the whole job has the password"


_COMPILES = re.compile(
    r"bin/megtrim "
    r"(?:trim|stage build|release build|ci evidence pack --functions|ci github baseline rebuild)\b"
)


def the_engine_key_is_guarded(document: Document) -> Iterator[str]:
    """One action has the key, before any code of the project ran, and never for a fork."""
    for job_id, job in document.jobs.items():
        ran = False
        for step in job.get("steps", ()):
            compiles = bool(_COMPILES.search(step.get("run", "")))
            ran = ran or compiles
            private = step.get("env", {}).get("MEGTRIM_PRIVATE_SOURCES")
            if compiles and private != "${{ steps.sources.outputs.private }}":
                yield f"{job_id}: {step.get('name')} does not know whether the sources are private"
            if "secrets.engine-key" not in repr(step):
                continue
            given = {"key": step.get("with", {}).get("key")}
            if given != {"key": _ENGINE_KEY} or step.get("uses") != f"./kit/{_KEPT}sources":
                yield f"{job_id}: {step.get('name')} has the engine's key"
            elif ran:
                yield f"{job_id}: {step.get('name')} comes after code of the project"
        if "secrets.engine-key" in repr({**job, "steps": ()}):
            yield f"{job_id}: the whole job has the engine's key"
    for job_id, step in document.steps():
        fetches = "megtrim ci sources fetch " in step.get("run", "")
        if "MEGTRIM_ENGINE_KEY" in step.get("env", {}) and not fetches:
            yield f"{job_id}: {step.get('name')} fetches nothing"


OF_THE_REPOSITORY = (
    """(contains(fromJSON('["push", "merge_group", "schedule", "workflow_dispatch"]'), """
    "github.event_name) || github.event_name == 'pull_request' && "
    "github.event.pull_request.head.repo.full_name == github.repository)"
)
_ENGINE_KEY = f"${{{{ {OF_THE_REPOSITORY} && secrets.engine-key || '' }}}}"


def the_kit_key_is_guarded(document: Document) -> Iterator[str]:
    """What checks out the kit has it, before anything of anyone ran, and nothing else."""
    for job_id, job in document.jobs.items():
        for step in job.get("steps", ()):
            if "secrets.kit-key" in repr(step) and step.get("with") != KIT:
                yield f"{job_id}: {step.get('name')} has the kit's key"
        if "secrets.kit-key" in repr({**job, "steps": ()}):
            yield f"{job_id}: the whole job has the kit's key"


def uploads_stand_a_second_attempt(document: Document) -> Iterator[str]:
    """A name is there once in a run, also when its job is run again."""
    for job_id, step in document.steps():
        if step.get("uses", "").startswith("actions/upload-artifact@"):
            given: dict[str, Any] = step.get("with", {})
            if "name" not in given or given.get("overwrite") != "true":
                yield f"{job_id}: {step.get('name')}"


RULES: tuple[Rule, ...] = (
    only_known_events,
    a_run_of_a_fork_is_data,
    no_paths_filter,
    nothing_global,
    permissions_with_reasons,
    actions_pinned,
    one_command,
    bounded_jobs,
    groups_apart,
    everything_has_a_name,
    checkouts_keep_nothing,
    kit_known_first,
    empty_matrix_guarded,
    no_way_around,
    cache_in_one_place,
    images_by_digest,
    builds_in_the_image,
    the_cache_password_is_guarded,
    the_engine_key_is_guarded,
    the_kit_key_is_guarded,
    uploads_stand_a_second_attempt,
)
