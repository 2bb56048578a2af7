"""Issues of one repository that megtrim opened: listed, opened, and brought up to date.

Part of the github room. Only issues by ``AUTHOR`` with the label are megtrim's: anyone can write
an issue that looks like one, and issues of others are neither read nor changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from megtrim.github.api import Api
from megtrim.github.comment import AUTHOR, normalize_body
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.value import Value

_MOST_ISSUES = 5_000
_HINT = "is GITHUB_API_URL right?"


class TrackedIssue(Value):
    """An issue as GitHub has it."""

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
        """Open an issue, and return its number."""
        fields = {"title": title, "body": body, "labels": [self._label]}
        return _parse(self._api.send("POST", self._path, fields)).number

    def update(self, before: TrackedIssue, title: str, body: str, *, is_open: bool) -> bool:
        """Bring an issue up to date, in one step; return False if it was already."""
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
