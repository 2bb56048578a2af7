"""Facts of a run and its commit, as GitHub has them. Part of the github room."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from megtrim.commit_digest import COMMIT_DIGEST
from megtrim.errors import InfrastructureFailure
from megtrim.github.api import Api
from megtrim.github.responses import text_at

_TIME = re.compile(r"[0-9]{4}(?:-[0-9]{2}){2}T(?:[0-9]{2}:){2}[0-9]{2}Z", re.ASCII)
_HINT = "is GITHUB_API_URL right?"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFacts:
    """A commit; times are in UTC, as ``2026-11-23T02:00:00Z``."""

    sha: str
    parent: str
    """Its first parent; empty if it has none."""
    committed_at: str


def fetch_commit(api: Api, repository: str, sha: str) -> CommitFacts:
    """Return a commit's facts. Raises InfrastructureFailure."""
    answer = api.get(f"/repos/{repository}/git/commits/{sha}")
    parents = answer.get("parents") if isinstance(answer, dict) else None
    first = text_at(parents[0], "sha") if isinstance(parents, list) and parents else ""
    if first and not COMMIT_DIGEST.fullmatch(first):
        msg = "the answer's parent is no commit"
        raise InfrastructureFailure(msg, hint=_HINT)
    return CommitFacts(sha=sha, parent=first, committed_at=_time_at(answer, "committer", "date"))


def fetch_start(api: Api, repository: str, run_id: int) -> str:
    """Return when a run was started, which is the same for all its attempts."""
    return _time_at(api.get(f"/repos/{repository}/actions/runs/{run_id}"), "created_at")


def _time_at(answer: Any, *keys: str) -> str:
    time = text_at(answer, *keys)
    if not _TIME.fullmatch(time):
        msg = f"the answer's {'.'.join(keys)} is no time in UTC"
        raise InfrastructureFailure(msg, hint=_HINT)
    return time
