"""GitHub's REST API, as far as megtrim needs it: JSON, pages, downloads.

Every call has a deadline, a bounded response and bounded retries, and returns a value or raises a
failure that says what to do. The token never appears in a message.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, urlencode, urlsplit

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github.log_text import one_line
from megtrim.github.responses import (
    Forbidden,
    NotFound,
    Refused,
    backoff_s,
    failure,
    is_rate_limited,
    parse_json,
    pause_s,
)
from megtrim.http import HttpClient, Request, Response, TransferLimits, TransportError, split

__all__ = ["Api", "Forbidden", "NotFound", "Refused", "TransferLimits"]

MOST_TRIES = 5
LONGEST_PAUSE_S = 120.0
"""Limit for the sum of all pauses of one call."""
MOST_PAGES = 100
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_BYTES = "application/octet-stream"
_NEXT = re.compile(r'<([^<>]{1,4096})>[^<>]{0,512}?;\s*rel="?next"?(?=[;,\s]|$)')


class Api:
    """Calls the API at ``base_url`` with ``token``.

    Failures are InfrastructureFailure: Forbidden, NotFound, Refused with another ``status``, or
    without a status if there was no response. GET, PUT, PATCH and DELETE are retried after
    connection errors and 5xx, and every method after a rate limit, at most ``MOST_TRIES`` times
    and with ``LONGEST_PAUSE_S`` of pauses. A POST whose result is unknown is not retried, because
    it could act twice.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        user_agent: str,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
        limits: TransferLimits | None = None,
    ) -> None:
        parts = split(base_url)
        if parts is None or parts.query or parts.fragment:
            msg = f"GITHUB_API_URL: found {one_line(base_url)!r}, expected https://HOST[/PATH]"
            raise InputError(msg)
        if not re.fullmatch(r"[\x21-\x7e]{1,4096}", token):
            msg = "the GitHub token is malformed" if token else "there is no GitHub token"
            raise InputError(msg, hint="pass the job's own: env GITHUB_TOKEN")
        self._base = base_url.rstrip("/")
        self._token = token
        self._pause = pause
        self._clock = clock
        self._limits = limits or TransferLimits()
        headers = {**_HEADERS, "User-Agent": user_agent}
        self._wire = HttpClient(
            self._base,
            token,
            headers=headers,
            clock=clock,
            limits=self._limits,
            annex=_find_uploads(parts),
        )

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        """Return the JSON at ``path``, which starts with ``/`` and is quoted by the caller."""
        return parse_json(self._call(path, self._request("GET", self._url(path, params))), path)

    def pages(
        self,
        path: str,
        *,
        key: str | None = None,
        params: Mapping[str, str | int] | None = None,
        most: int = 1000,
    ) -> Iterator[dict[str, Any]]:
        """Yield at most ``most`` objects of a list, page by page.

        ``key`` names the list inside each page's object; None if the page itself is the list.
        """
        url = self._url(path, {"per_page": 100, **(params or {})})
        left = most
        for _ in range(MOST_PAGES):
            answer = self._call(path, self._request("GET", url))
            items = _items(parse_json(answer, path), key, path)[:left]
            yield from items
            left -= len(items)
            following = _NEXT.search(answer.headers.get("link", ""))
            if left <= 0 or following is None:
                return
            url = following[1]
            if not self._wire.is_home(url):
                msg = f"{path}: the next page lies on another host"
                raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a change; return the response's JSON, or None if it is empty."""
        content = None if body is None else json.dumps(body).encode("ascii")
        request = self._request(method, self._url(path, None), body=content)
        return parse_json(self._call(path, request), path)

    def upload(self, url: str, data: bytes) -> Any:
        """Send a file to a ``url`` that the API named; return the response's JSON."""
        where = urlsplit(url).path
        if not self._wire.is_home(url):
            msg = f"{one_line(where)}: the upload lies on another host"
            raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")
        request = Request(
            method="POST",
            url=url,
            body=data,
            largest_bytes=self._limits.answer_bytes,
            longest_s=self._limits.download_s,
            may_leave=False,
            content_type=_BYTES,
        )
        return parse_json(self._call(where, request), where)

    def download(self, path: str, *, limit_bytes: int, accept: str = "") -> bytes:
        """Return the bytes at ``path``, which GitHub redirects to another host.

        ``accept``: the form that is asked for, where the path has several. Raises
        InfrastructureFailure for more than ``limit_bytes``, which are not read.
        """
        request = Request(
            method="GET",
            url=self._url(path, None),
            body=None,
            largest_bytes=limit_bytes,
            longest_s=self._limits.download_s,
            may_leave=True,
            accept=accept,
        )
        return self._call(path, request).body

    def _request(self, method: str, url: str, body: bytes | None = None) -> Request:
        return Request(
            method=method,
            url=url,
            body=body,
            largest_bytes=self._limits.answer_bytes,
            longest_s=self._limits.answer_s,
            may_leave=False,
        )

    def _url(self, path: str, params: Mapping[str, str | int] | None) -> str:
        # Without its leading slash, a path could name another host.
        if not re.fullmatch(r"/[!-~]*", path) or "?" in path or "#" in path:
            msg = f"not a path of the API: {path!r}"
            raise ValueError(msg)
        return f"{self._base}{path}" + (f"?{urlencode(params)}" if params else "")

    def _call(self, path: str, request: Request) -> Response:
        """Send the request until it succeeds, or a retry is pointless."""
        asked = f"{request.method} {path}"
        waited = 0.0
        for tries in range(1, MOST_TRIES + 1):
            outcome, wait = self._try(request, path, asked, tries)
            if isinstance(outcome, Response):
                return outcome
            if wait is None or tries == MOST_TRIES or waited + wait > LONGEST_PAUSE_S:
                raise outcome
            waited += wait
            self._pause(wait)
        raise AssertionError  # the last try returns or raises

    def _try(
        self, request: Request, path: str, asked: str, tries: int
    ) -> tuple[Response | InfrastructureFailure, float | None]:
        """Send it once; return the response, or the failure and the pause before a retry."""
        try:
            answer = self._wire.exchange(request)
        except TransportError as broken:
            again = not broken.final and (broken.untouched or request.method != "POST")
            host = urlsplit(self._base).netloc
            hint = f"is {host} reachable from this machine? then run the job again"
            failed = InfrastructureFailure(f"{asked}: {broken}", hint=hint)
            return failed, backoff_s(tries) if again else None
        if 200 <= answer.status < 300:
            return answer, None
        wait = pause_s(answer, method=request.method, tries=tries, now_s=self._clock())
        after = f"; it asks for a pause of {wait:.0f} s" if wait and is_rate_limited(answer) else ""
        refused = failure(answer, method=request.method, path=path, asked=asked, after=after)
        # A server that repeats its request must not get the token into a log.
        text = refused.message.replace(self._token, "***")
        return type(refused)(text, status=refused.status, hint=refused.hint), wait


def _find_uploads(api: SplitResult) -> str:
    """Return where files of a release are sent: github.com has a host of its own for them."""
    name, dot, rest = api.netloc.partition(".")
    return f"{api.scheme}://uploads{dot}{rest}" if name == "api" else ""


def _items(page: Any, key: str | None, path: str) -> list[dict[str, Any]]:
    items = page.get(key) if key is not None and isinstance(page, dict) else page
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        msg = f"{path}: the answer is not a list of objects"
        raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")
    return items
