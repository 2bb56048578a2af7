"""The report of a fork's run, and the pull request that it is about.

Who made the pull request decides what its run does and uploads. So all that places the comment is
asked of GitHub, and what was uploaded is data: files of known names, read to a limit.
"""

from collections.abc import Collection

from megtrim.github.api import Api, find_at, text_at
from megtrim.github.artifacts import download, list_artifacts
from megtrim.github.event import Event, PullRequest, pull_request_of
from megtrim.github.runner import one_line
from megtrim.util.errors import InputError

_FOLDER = ".github/workflows/"
_MOST_PULL_REQUESTS = 3000


def find_pull_request(api: Api, event: Event, workflow: str) -> PullRequest:
    """Raises InputError unless the run was of that file, at the head of one that is open."""
    root = f"/repos/{event.repository}"
    run = api.get(f"{root}/actions/runs/{event.ended_run}")
    file, sha, started_by = (text_at(run, key) for key in ("path", "head_sha", "event"))
    found = f"the run {event.ended_run} is of {one_line(file, most=80)} for {one_line(started_by)}"
    if (file.partition("@")[0], started_by) != (f"{_FOLDER}{workflow}", "pull_request"):
        msg = f"{found}, expected {_FOLDER}{workflow} for pull_request"
        raise InputError(msg, hint="name the file with the size check: --workflow FILE.yml")
    own, home = (find_at(run, key, "id") for key in ("repository", "head_repository"))
    if home in (None, own):
        msg = f"{found} of no fork"
        raise InputError(msg, hint="a run of the repository itself writes its own comment")
    asked = {"state": "open", "sort": "updated", "direction": "desc"}
    pages = api.pages(f"{root}/pulls", params=asked, most=_MOST_PULL_REQUESTS)
    at_head = [pull_request_of(pull) for pull in pages if find_at(pull, "head", "sha") == sha]
    fitting = [pull for pull in at_head if pull.fork and pull.head_repository_id == home]
    if len(fitting) == 1:
        return fitting[0]
    msg = f"{len(fitting)} open pull requests of the fork are at {sha[:12]}, expected one"
    raise InputError(msg, hint="it was closed, or has a newer commit, whose run is shown")


def read_artifact(api: Api, event: Event, name: str, files: Collection[str]) -> dict[str, bytes]:
    """Return those files of the run's newest artifact of a name; without one, none."""
    path = f"/repos/{event.repository}/actions/runs/{event.ended_run}/artifacts"
    for stored in list_artifacts(api, path, name):
        if stored.run_id == event.ended_run:
            return download(api, event.repository, stored, files)
    return {}
