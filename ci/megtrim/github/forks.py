"""The report of a fork's run, and the pull request that it is about.

Who made the pull request decides what its run does and uploads. So all that places the comment is
asked of GitHub, and what was uploaded is data: files of known names, read to a limit.
"""

from collections.abc import Collection

from megtrim.github.api import Api, find_at, number_at
from megtrim.github.artifacts import LARGEST_ARCHIVE_BYTES, download
from megtrim.github.event import Event, PullRequest, WorkflowRun, pull_request_of, workflow_run_of
from megtrim.github.runner import one_line
from megtrim.util.errors import InputError

_FOLDER = ".github/workflows/"
_MOST_PULL_REQUESTS = 3000
_MOST_ARTIFACTS = 100


def find_run(api: Api, event: Event, workflow: str) -> WorkflowRun:
    """Raises InputError unless it is of that file, for a pull request of a fork."""
    run = workflow_run_of(api.get(f"/repos/{event.repository}/actions/runs/{event.ended_run}"))
    found = f"the run {run.id} is of {one_line(run.path, most=80)} for {run.event}"
    if (run.path, run.event) != (f"{_FOLDER}{workflow}", "pull_request"):
        msg = f"{found}, expected {_FOLDER}{workflow} for pull_request"
        raise InputError(msg, hint="name the file with the size check: --workflow FILE.yml")
    if run.head_repository_id in (None, run.repository_id):
        msg = f"{found} of no fork"
        raise InputError(msg, hint="a run of the repository itself writes its own comment")
    return run


def find_pull_request(api: Api, event: Event, run: WorkflowRun) -> PullRequest:
    """Raises InputError unless exactly one of the run's fork is open at the commit of the run."""
    asked = {"state": "open", "sort": "updated", "direction": "desc"}
    pages = api.pages(f"/repos/{event.repository}/pulls", params=asked, most=_MOST_PULL_REQUESTS)
    at_head = [each for each in pages if find_at(each, "head", "sha") == run.head_sha]
    fitting = [
        each
        for each in map(pull_request_of, at_head)
        if each.head_repository_id == run.head_repository_id
    ]
    if len(fitting) == 1:
        return fitting[0]
    msg = f"{len(fitting)} open pull requests of the fork are at {run.head_sha[:12]}, expected one"
    raise InputError(msg, hint="it was closed, or has a newer commit, whose run is shown")


def read_artifact(
    api: Api, event: Event, run: WorkflowRun, name: str, files: Collection[str]
) -> dict[str, bytes]:
    """Return those files of the run's newest artifact of a name; without one, none."""
    path = f"/repos/{event.repository}/actions/runs/{run.id}/artifacts"
    pages = api.pages(path, key="artifacts", params={"name": name}, most=_MOST_ARTIFACTS)
    stored = [
        each
        for each in pages
        if (each.get("name"), each.get("expired")) == (name, False)
        and find_at(each, "workflow_run", "id") == run.id
    ]
    if not stored:
        return {}
    newest = max(stored, key=lambda each: number_at(each, "id"))
    if number_at(newest, "size_in_bytes") > LARGEST_ARCHIVE_BYTES:
        msg = f"{name}: found {newest['size_in_bytes']:,} bytes, expected a report"
        raise InputError(msg)
    digest = find_at(newest, "digest")
    known = digest if isinstance(digest, str) else None
    return download(api, event.repository, newest["id"], known, files)
