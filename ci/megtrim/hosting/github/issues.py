"""Issues, and the one comment on a pull request: found again, and brought up to date.

Only what ``AUTHOR`` wrote is megtrim's: anyone can write a marker.
"""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from megtrim.hosting.github.api import Api, NotFound, find_at, number_at, raise_odd_answer
from megtrim.libs.util.value import Value

AUTHOR = "github-actions[bot]"
"""Who writes with a job's own token."""
LONGEST_COMMENT = 63_000
"""UTF-16 units; GitHub refuses more than 65,536 characters, and a marker is added."""
_MOST_ISSUES = 5_000
_MOST_COMMENTS = 10_000
_LONGEST_KEY = 200
_CUT = "\n\n_The rest does not fit a comment; the job summary holds all of it._"


class TrackedIssue(Value):
    number: int
    is_open: bool
    title: str
    body: str


class IssueTracker:
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
        login = find_at(item, "user", "login")
        names = [find_at(label, "name") for label in item.get("labels") or ()]
        return login == AUTHOR and self._label in names and "pull_request" not in item


def _parse(item: Any) -> TrackedIssue:
    state = find_at(item, "state")
    if state not in ("open", "closed"):
        raise_odd_answer("is not an issue")
    return TrackedIssue(
        number=number_at(item, "number"),
        is_open=state == "open",
        title=str(item.get("title") or ""),
        body=normalize_body(item.get("body")),
    )


class CommentResult(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


def key_of(config: str) -> str:
    """Escaped for an HTML comment, so that different paths have different keys."""
    key = quote(config, safe="/", errors="surrogatepass").replace("--", "-%2D")
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


def marker(key: str) -> str:
    return f"<!-- megtrim:report:v1:{key} -->"


def upsert(api: Api, repository: str, number: int, key: str, body: str) -> CommentResult:
    """If two runs wrote one each at the same time, the oldest is kept and the other deleted."""
    text = _fit_body(body, marker(key))
    issues = f"/repos/{repository}/issues"
    comments = f"{issues}/{number}/comments"
    own = {
        number_at(item, "id"): normalize_body(item.get("body"))
        for item in api.pages(comments, most=_MOST_COMMENTS)
        if _is_own_comment(item, marker(key))
    }
    if not own:
        api.send("POST", comments, {"body": text})
        return CommentResult.CREATED
    oldest, *doubles = sorted(own)  # ids grow
    outcome = CommentResult.UNCHANGED
    if own[oldest] != text:
        try:
            api.send("PATCH", f"{issues}/comments/{oldest}", {"body": text})
            outcome = CommentResult.UPDATED
        except NotFound:  # someone deleted it since it was listed
            api.send("POST", comments, {"body": text})
            outcome = CommentResult.CREATED
    for double in doubles:
        with suppress(NotFound):  # another run deletes it, too
            api.send("DELETE", f"{issues}/comments/{double}")
    return outcome


def _is_own_comment(item: dict[str, Any], mark: str) -> bool:
    body = normalize_body(item.get("body"))
    return find_at(item, "user", "login") == AUTHOR and body.rpartition("\n")[2] == mark


def _fit_body(body: str, mark: str) -> str:
    text = normalize_body(body.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd"))
    room = LONGEST_COMMENT - len(mark) - 2
    units = text.encode("utf-16-le")
    if len(units) // 2 > room:
        kept = units[: 2 * (room - len(_CUT))].decode("utf-16-le", "ignore")
        text = (kept.rpartition("\n")[0] or kept).rstrip() + _CUT
    return f"{text}\n\n{mark}"


def normalize_body(body: object) -> str:
    text = body if isinstance(body, str) else ""
    return text.replace("\r\n", "\n").rstrip()
