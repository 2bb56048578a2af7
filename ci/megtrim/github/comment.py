"""The one comment on a pull request: found by its marker, updated in place, never duplicated.

Part of the github room. Only comments by ``AUTHOR`` whose last line is the marker are megtrim's:
anyone can write a marker, and comments of others are neither changed nor removed.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from megtrim.github.api import Api, NotFound
from megtrim.util.errors import InfrastructureFailure

LONGEST_COMMENT = 63_000
"""UTF-16 units; GitHub refuses more than 65,536 characters, and a marker is added."""
AUTHOR = "github-actions[bot]"
"""The author of comments that are written with a job's own token."""
_MOST_COMMENTS = 10_000
_LONGEST_KEY = 200
_CUT = "\n\n_The rest does not fit a comment; the job summary holds all of it._"


class CommentResult(StrEnum):
    """What was done with the comment."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


def key_of(config: str) -> str:
    """Return the key of a configuration's comment: its path, escaped for an HTML comment.

    Different paths have different keys.
    """
    key = quote(config, safe="/", errors="surrogatepass").replace("--", "-%2D")
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


def marker(key: str) -> str:
    """Return the line that identifies the comment."""
    return f"<!-- megtrim:report:v1:{key} -->"


def upsert(api: Api, repository: str, number: int, key: str, body: str) -> CommentResult:
    """Make ``body`` the only comment with ``key`` on pull request ``number``.

    If two runs wrote one each at the same time, the oldest is kept and the others are deleted.
    Raises the failures of :class:`~megtrim.github.api.Api`.
    """
    text = _fit_body(body, marker(key))
    comments = f"/repos/{repository}/issues/{number}/comments"
    own = _own(api, comments, marker(key))
    if not own:
        api.send("POST", comments, {"body": text})
        return CommentResult.CREATED
    oldest, *doubles = sorted(own)
    outcome = CommentResult.UNCHANGED
    if own[oldest] != text:
        outcome = _update(api, repository, comments, oldest, text)
    for double in doubles:
        with suppress(NotFound):  # another run deletes it, too
            api.send("DELETE", f"/repos/{repository}/issues/comments/{double}")
    return outcome


def _update(api: Api, repository: str, comments: str, comment: int, text: str) -> CommentResult:
    try:
        api.send("PATCH", f"/repos/{repository}/issues/comments/{comment}", {"body": text})
    except NotFound:  # someone deleted it since it was listed
        api.send("POST", comments, {"body": text})
        return CommentResult.CREATED
    return CommentResult.UPDATED


def _own(api: Api, path: str, mark: str) -> dict[int, str]:
    """Return megtrim's comments by id; ids grow, so the smallest is the oldest."""
    own = {}
    for item in api.pages(path, most=_MOST_COMMENTS):
        body = normalize_body(item.get("body"))
        if _login(item) == AUTHOR and body.rpartition("\n")[2] == mark:
            identity = item.get("id")
            if type(identity) is not int:
                msg = f"{path}: a comment has no number"
                raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")
            own[identity] = body
    return own


def _login(item: dict[str, Any]) -> object:
    user = item.get("user")  # null if the account was deleted
    return user.get("login") if isinstance(user, dict) else None


def _fit_body(body: str, mark: str) -> str:
    """Return the body with its marker, cut at the end of a line if it is too long."""
    text = normalize_body(body.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd"))
    room = LONGEST_COMMENT - len(mark) - 2
    if _length(text) > room:
        kept = text.encode("utf-16-le")[: 2 * (room - len(_CUT))].decode("utf-16-le", "ignore")
        text = (kept.rpartition("\n")[0] or kept).rstrip() + _CUT
    return f"{text}\n\n{mark}"


def _length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def normalize_body(body: object) -> str:
    """Normalize a body for comparison: GitHub may change line ends, and drop the last one."""
    text = body if isinstance(body, str) else ""
    return text.replace("\r\n", "\n").rstrip()
