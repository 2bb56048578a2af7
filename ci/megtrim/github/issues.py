"""Issues of one repository that megtrim opened: listed, opened, and brought up to date.

Part of the github room. Only issues by ``AUTHOR`` with the label are megtrim's: anyone can write
an issue that looks like one, and issues of others are neither read nor changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from megtrim.github.api import Api, NotFound
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.value import Value

_MOST_ISSUES = 5_000
_HINT = "is GITHUB_API_URL right?"
LONGEST_COMMENT = 63_000
"""UTF-16 units; GitHub refuses more than 65,536 characters, and a marker is added."""
AUTHOR = "github-actions[bot]"
"""The author of comments that are written with a job's own token."""
_MOST_COMMENTS = 10_000
_LONGEST_KEY = 200
_CUT = "\n\n_The rest does not fit a comment; the job summary holds all of it._"


class TrackedIssue(Value):
    number: int
    is_open: bool
    title: str
    body: str


class IssueTracker:
    """The issues with one label in one repository (OWNER/NAME).

    Methods raise the failures of :class:`~megtrim.github.api.Api`.
    """

    def __init__(self, api: Api, repository: str, *, label: str) -> None:
        self._api = api
        self._path = f"/repos/{repository}/issues"
        self._label = label

    def list_own(self) -> Iterator[TrackedIssue]:
        asked = {"labels": self._label, "state": "all", "creator": AUTHOR}
        for item in self._api.pages(self._path, params=asked, most=_MOST_ISSUES):
            if self._is_own(item):
                yield _parse(item)

    def open(self, title: str, body: str) -> int:
        fields = {"title": title, "body": body, "labels": [self._label]}
        return _parse(self._api.send("POST", self._path, fields)).number

    def update(self, before: TrackedIssue, title: str, body: str, *, is_open: bool) -> bool:
        now = TrackedIssue(
            number=before.number, is_open=is_open, title=title, body=normalize_body(body)
        )
        if now == before:
            return False
        # What is closed stays closed: a person may have done it.
        state = {} if is_open else {"state": "closed", "state_reason": "completed"}
        path = f"{self._path}/{before.number}"
        self._api.send("PATCH", path, {"title": title, "body": body, **state})
        return True

    def _is_own(self, item: dict[str, Any]) -> bool:
        user, labels = item.get("user"), item.get("labels")  # null if the account was deleted
        login = user.get("login") if isinstance(user, dict) else None
        names = [each.get("name") for each in labels or () if isinstance(each, dict)]
        return login == AUTHOR and self._label in names and "pull_request" not in item


def _parse(item: Any) -> TrackedIssue:
    number = item.get("number") if isinstance(item, dict) else None
    if type(number) is not int or number < 1 or item.get("state") not in ("open", "closed"):
        msg = "the answer is not an issue"
        raise InfrastructureFailure(msg, hint=_HINT)
    return TrackedIssue(
        number=number,
        is_open=item["state"] == "open",
        title=str(item.get("title") or ""),
        body=normalize_body(item.get("body")),
    )


class CommentResult(StrEnum):
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
