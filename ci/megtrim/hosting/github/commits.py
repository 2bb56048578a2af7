"""Facts of a run and its commit, as GitHub has them."""

import re
from typing import Any
from urllib.parse import quote

from megtrim.hosting.github.api import Api, NotFound, find_at, raise_odd_answer, text_at
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.wording import COMMIT_DIGEST, one_line
from megtrim.times.nights.history import MeasuredCommit

_TIME = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}T(?:[0-9]{2}:){2}[0-9]{2}Z", re.ASCII)
_MOST_REWRITES = 4


def fetch_commit(api: Api, repository: str, sha: str) -> MeasuredCommit:
    answer = api.get(f"/repos/{repository}/git/commits/{sha}")
    parents = find_at(answer, "parents")
    first = text_at(parents[0], "sha") if isinstance(parents, list) and parents else ""
    if first and not COMMIT_DIGEST.fullmatch(first):
        raise_odd_answer("has a parent that is not a commit")
    return MeasuredCommit(sha=sha, parent=first, committed_at=_time_at(answer, "committer", "date"))


def fetch_start(api: Api, repository: str, run_id: int) -> str:
    return _time_at(api.get(f"/repos/{repository}/actions/runs/{run_id}"), "created_at")


def fetch_head(api: Api, repository: str, branch: str) -> str:
    """Return the commit of a branch; a tag of that name is none. Raises InfrastructureFailure."""
    answer = api.get(f"/repos/{repository}/git/ref/heads/{quote(branch)}")
    return text_at(answer, "object", "sha")


def is_ancestor(api: Api, repository: str, commit: str, head: str) -> bool:
    try:
        answer = api.get(f"/repos/{repository}/compare/{commit}...{head}", {"per_page": 1})
    except NotFound:  # no branch of this repository has it, or has it any more
        return False
    return text_at(answer, "merge_base_commit", "sha") == commit


def list_rewrites(api: Api, repository: str, branch: str) -> tuple[str, ...]:
    """Return when a branch was deleted or pushed by force in the last year, and by whom.

    Empty if the server does not say: only GitHub keeps a record of it.
    """
    asked = {"ref": f"refs/heads/{branch}", "time_period": "year"}
    found: list[str] = []
    for kind, what in (("force_push", "pushed by force"), ("branch_deletion", "deleted")):
        try:
            path = f"/repos/{repository}/activity"
            wanted = {**asked, "activity_type": kind}
            for page in api.pages(path, params=wanted, most=_MOST_REWRITES):
                known = page.get("actor")  # null if the account was deleted
                who = text_at(page, "actor", "login") if known else "someone"
                found.append(
                    one_line(f"{text_at(page, 'timestamp')[:19]} {what} by {who}", most=120)
                )
        except InfrastructureFailure:
            continue
    return tuple(sorted(found))


def _time_at(answer: Any, *keys: str) -> str:
    time = text_at(answer, *keys)
    if not _TIME.fullmatch(time):
        raise_odd_answer(f"has in {'.'.join(keys)} no time in UTC")
    return time
