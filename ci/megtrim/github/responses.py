"""What a response of GitHub's REST API means: success, retry after a pause, or a failure.

Part of the github room, without the network: :mod:`megtrim.github.api` sends requests, this module
reads responses. Whatever a server wrote is reduced to one printable line before anyone sees it.
"""

from __future__ import annotations

import json
import re
from typing import Any

from megtrim.errors import InfrastructureFailure
from megtrim.github.log_text import one_line
from megtrim.http import Response

SECONDARY_PAUSE_S = 60.0
"""The pause that GitHub's documentation requires if a secondary limit names no time."""
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_PERMISSIONS = (
    ("/actions/", "actions"),
    ("/dispatches", "actions"),
    ("/comments", "pull-requests"),
    ("/issues", "issues"),
    ("/pulls", "pull-requests"),
)


class Refused(InfrastructureFailure):
    """GitHub refused the request; ``status`` is the HTTP status."""

    def __init__(self, message: str, *, status: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Forbidden(Refused):
    """The token does not permit this (401, 403)."""


class NotFound(Refused):
    """It does not exist, or the token may not see it (404, 410)."""


def parse_json(answer: Response, asked: str) -> Any:
    """Return the JSON of a response, or None if it is empty.

    Raises InfrastructureFailure for anything else: GitHub, or a proxy, is broken.
    """
    if not answer.body.strip():
        return None
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        start = one_line(answer.body[:80].decode("utf-8", errors="replace"))
        msg = f"{asked}: the answer is not JSON; it begins with: {start}"
        hint = "a proxy in between may have answered instead; is GITHUB_API_URL right?"
        raise InfrastructureFailure(msg, hint=hint) from None


def text_at(answer: Any, *keys: str) -> str:
    """Return the text at the path ``keys``. Raises InfrastructureFailure if there is none."""
    for key in keys:
        answer = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(answer, str) or not answer:
        msg = f"the answer holds no {'.'.join(keys)}"
        raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")
    return answer


def pause_s(answer: Response, *, method: str, tries: int, now_s: float) -> float | None:
    """Return how many seconds to wait before a retry, or None if a retry is pointless.

    A POST is retried only if the server certainly did nothing: limits, and 503 with a Retry-After.
    """
    after = _number(answer.headers.get("retry-after"))
    if answer.status in (403, 429):
        if after is not None:
            return after
        if answer.headers.get("x-ratelimit-remaining") == "0":
            reset = _number(answer.headers.get("x-ratelimit-reset"))
            return SECONDARY_PAUSE_S if reset is None else max(1.0, reset - now_s + 1.0)
        limited = answer.status == 429 or "secondary rate limit" in _message(answer).lower()
        return SECONDARY_PAUSE_S if limited else None
    if answer.status < 500:
        return None
    if answer.status == 503 and after is not None:
        return after
    return None if method == "POST" else backoff_s(tries)


def backoff_s(tries: int) -> float:
    """Return the pause after a number of failed attempts: 1, 2, 4, 8 seconds."""
    return float(2 ** (tries - 1))


def failure(answer: Response, *, method: str, path: str, asked: str, after: str = "") -> Refused:
    """Return the failure for a refused request, with what to do about it."""
    message = one_line(_message(answer))
    msg = f"{asked}: GitHub answered {answer.status}" + (f" ({message})" if message else "") + after
    match answer.status:
        case 401:
            hint = "the token is not valid (any more): pass the job's own, env GITHUB_TOKEN"
            return Forbidden(msg, status=401, hint=hint)
        case 403 if is_rate_limited(answer):
            return Refused(msg, status=403, hint=_LIMIT)
        case 403:
            return Forbidden(msg, status=403, hint=_forbidden(answer, method, path))
        case 404 | 410 as status:
            return NotFound(msg, status=status, hint=_GONE if status == 410 else _not_found(path))
        case 429:
            return Refused(msg, status=429, hint=_LIMIT)
        case status if status >= 500:
            hint = "GitHub has trouble; run the job again later (https://www.githubstatus.com)"
            return Refused(msg, status=status, hint=hint)
        case status:
            return Refused(msg, status=status)


_LIMIT = "too many requests with this token in an hour; run the job again when the limit is reset"
_GONE = "it has expired or was deleted"


def is_rate_limited(answer: Response) -> bool:
    """Tell whether the request was refused because of a rate limit."""
    return answer.status in (403, 429) and (
        pause_s(answer, method="GET", tries=1, now_s=0.0) is not None
    )


def _forbidden(answer: Response, method: str, path: str) -> str:
    named = one_line(answer.headers.get("x-accepted-github-permissions", ""), most=120)
    wanted = named.replace("_", "-").replace("=", ": ") or _permission(method, path)
    return (
        f"the token is missing a permission: give the job `permissions: {wanted}`; the token of a "
        "pull request from a fork only reads, whatever the workflow says"
    )


def _not_found(path: str) -> str:
    return (
        "it does not exist, or the token may not see it: for a private repository the job needs "
        f"`permissions: {_permission('GET', path)}`"
    )


def _permission(method: str, path: str) -> str:
    scope = next((scope for part, scope in _PERMISSIONS if part in path), "contents")
    return f"{scope}: {'write' if method in _WRITES else 'read'}"


def _message(answer: Response) -> str:
    """Return GitHub's own error message, or nothing: error pages of proxies are not repeated."""
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict):
        return ""
    texts = [value.get("message")]
    errors = value.get("errors")
    listed = errors[:3] if isinstance(errors, list) else []
    texts += [each.get("message") if isinstance(each, dict) else each for each in listed]
    return "; ".join(text for text in texts if isinstance(text, str))


def _number(text: str | None) -> float | None:
    """Return a header's number, or None if it is a date or anything else."""
    return float(text) if text and re.fullmatch(r"[0-9]{1,12}", text.strip()) else None
