"""GitHub's REST API, as far as megtrim needs it: JSON, pages, downloads.

The token goes to the API's own host alone, and never into a message.
"""

import contextlib
import io
import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlencode, urljoin, urlsplit

import requests
import urllib3

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.wording import one_line

MOST_TRIES = 5
LONGEST_PAUSE_S = 120.0
"""Limit for the sum of all pauses of one call."""
MOST_PAGES = 100
_PORTS = {"http": 80, "https": 443}
_MOST_HOPS = 5
_SECONDARY_PAUSE_S = 60.0
"""The pause that GitHub's documentation requires if a secondary limit names no time."""
_MOVED = (301, 302, 303, 307, 308)
LARGEST_ANSWER_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_CONNECT_S = 10.0
"""Also how long a server may take nothing of what is sent to it."""
_SILENCE_S = 30.0
_LONGEST_ANSWER_S = 60.0
_LONGEST_TRANSFER_S = 600.0
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_METHODS = ("GET", "PUT", "PATCH", "DELETE", "POST")
_REPEATABLE = ("GET", "PUT", "PATCH", "DELETE")
"""A POST could act twice."""
_IS_URL_RIGHT = "is GITHUB_API_URL right?"
_LIMIT = "too many requests with this token in an hour; run the job again when the limit is reset"


class Refused(InfrastructureFailure):
    def __init__(self, message: str, *, status: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class Forbidden(Refused):
    """The token does not permit this (401, 403)."""


class NotFound(Refused):
    """It does not exist, or the token may not see it (404, 410)."""


@dataclass(frozen=True, slots=True)
class _Call:
    """One request; ``path`` names it in messages, without what signs a URL."""

    method: str
    path: str
    url: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    largest_bytes: int = LARGEST_ANSWER_BYTES
    longest_s: float = _LONGEST_ANSWER_S
    may_leave: bool = False
    """It may be redirected to another host, as downloads are."""


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> str:
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return ""
        errors = find_at(value, "errors")
        listed = errors[:3] if isinstance(errors, list) else []
        texts = [find_at(each, "message") if isinstance(each, dict) else each for each in listed]
        texts = [find_at(value, "message"), *texts]
        return "; ".join(text for text in texts if isinstance(text, str))


class _BrokenExchangeError(requests.RequestException):
    """No complete response came; ``repeatable`` are the methods for which a retry may help."""

    def __init__(self, text: str, repeatable: Collection[str] = ()) -> None:
        super().__init__(text)
        self.repeatable = repeatable


class _Session(requests.Session):
    """Follows no redirects: the library would pass the token on and read the whole body first."""

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002 (theirs)
        return None


class Api:
    """Calls the API at ``base_url`` with ``token``.

    Failures are InfrastructureFailure: Forbidden, NotFound, Refused with another ``status``, or
    without a status if there was no response. GET, PUT, PATCH and DELETE are retried after
    connection errors and 5xx, and every method after a rate limit, at most ``MOST_TRIES`` times
    and with ``LONGEST_PAUSE_S`` of pauses. A POST whose result is unknown is not retried.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        user_agent: str,
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.time,
    ) -> None:
        home = _origin(base_url)
        if home is None or "?" in base_url or "#" in base_url:
            msg = f"GITHUB_API_URL: found {one_line(base_url)!r}, expected https://HOST[/PATH]"
            raise InputError(msg)
        if not re.fullmatch(r"[\x21-\x7e]{1,4096}", token):
            msg = "the GitHub token is malformed" if token else "there is no GitHub token"
            raise InputError(msg, hint="pass the job's own: env GITHUB_TOKEN")
        # github.com has a host of its own for the files of a release.
        self._homes = (home, home._replace(host=re.sub(r"^api\.", "uploads.", home.host)))
        self._base = base_url.rstrip("/")
        self._token = token
        self._pause = pause
        self._clock = clock
        self._session = _Session()
        self._session.headers.update({**_HEADERS, "User-Agent": user_agent})

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> Any:
        return _parse_json(self._call(_Call("GET", path, self._url(path, params))), path)

    def pages(
        self,
        path: str,
        *,
        key: str | None = None,
        params: Mapping[str, str | int] | None = None,
        most: int = 1000,
    ) -> Iterator[dict[str, Any]]:
        """``key`` names the list inside each page's object; None if the page itself is the list."""
        url = self._url(path, {"per_page": 100, **(params or {})})
        left = most
        for _ in range(MOST_PAGES):
            answer = self._call(_Call("GET", path, url))
            items = _parse_json(answer, path)
            items = find_at(items, key) if key is not None else items
            if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
                msg = f"{path}: the answer is not a list of objects"
                raise InfrastructureFailure(msg, hint=_IS_URL_RIGHT)
            yield from items[:left]
            left -= len(items)
            links = requests.utils.parse_header_links(answer.headers.get("link", ""))
            url = next((link["url"] for link in links if link.get("rel") == "next"), "")
            if left <= 0 or not url:
                return
            if not self._is_home(url):
                msg = f"{path}: the next page is on another host"
                raise InfrastructureFailure(msg, hint=_IS_URL_RIGHT)

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        call = _Call(method, path, self._url(path))
        if body is not None:
            content = json.dumps(body).encode("ascii")
            call = replace(call, body=content, headers={"Content-Type": "application/json"})
        return _parse_json(self._call(call), path)

    def upload(self, url: str, data: bytes) -> Any:
        path = urlsplit(url).path
        if not self._is_home(url):
            msg = f"{one_line(path)}: the upload goes to another host"
            raise InfrastructureFailure(msg, hint=_IS_URL_RIGHT)
        headers = {"Content-Type": "application/octet-stream"}
        call = _Call("POST", path, url, data, headers, longest_s=_LONGEST_TRANSFER_S)
        return _parse_json(self._call(call), path)

    def download(self, path: str, *, limit_bytes: int, accept: str = "") -> bytes:
        """Raises InfrastructureFailure for more than ``limit_bytes``, which are not read."""
        headers = {"Accept": accept} if accept else {}
        call = _Call("GET", path, self._url(path), None, headers, limit_bytes, _LONGEST_TRANSFER_S)
        return self._call(replace(call, may_leave=True)).body

    def _url(self, path: str, params: Mapping[str, str | int] | None = None) -> str:
        # Without its leading slash, a path could name another host.
        if not re.fullmatch(r"/[!-~]*", path) or "?" in path or "#" in path:
            msg = f"not a path of the API: {path!r}"
            raise ValueError(msg)
        return f"{self._base}{path}" + (f"?{urlencode(params)}" if params else "")

    def _is_home(self, url: str) -> bool:
        return _origin(url) in self._homes

    def _call(self, call: _Call) -> _Answer:
        waited = 0.0
        for tries in range(1, MOST_TRIES + 1):
            outcome, wait = self._try(call, backoff_s=2.0 ** (tries - 1))
            if isinstance(outcome, _Answer):
                return outcome
            if wait is None or tries == MOST_TRIES or waited + wait > LONGEST_PAUSE_S:
                raise outcome
            waited += wait
            self._pause(wait)
        raise AssertionError  # the last try returns or raises

    def _try(
        self, call: _Call, *, backoff_s: float
    ) -> tuple[_Answer | InfrastructureFailure, float | None]:
        try:
            answer = self._exchange(call)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            text, repeatable = _describe(error)
            host = urlsplit(self._base).netloc
            hint = f"is {host} reachable from this machine? then run the job again"
            failed = InfrastructureFailure(f"{call.method} {call.path}: {text}", hint=hint)
            return failed, backoff_s if call.method in repeatable else None
        if 200 <= answer.status < 300:
            return answer, None
        wait = _pause_s(answer, call.method, backoff_s=backoff_s, now_s=self._clock())
        msg = f"{call.method} {call.path}: GitHub answered {answer.status}"
        if text := one_line(answer.message):
            msg += f" ({text})"
        limited = answer.status in (403, 429) and wait is not None
        if limited:
            msg += f"; it asks for a pause of {wait:.0f} s"
        # A server that repeats its request must not get the token into a log.
        msg = msg.replace(self._token, "***")
        kind, hint = (Refused, _LIMIT) if limited else _classify(answer)
        return kind(msg, status=answer.status, hint=hint), wait

    def _exchange(self, call: _Call) -> _Answer:
        url = call.url
        ends_s = self._clock() + call.longest_s
        for _ in range(_MOST_HOPS):
            answer = self._send(call, url, ends_s)
            # The other redirects would turn a change into a GET.
            if answer.status not in (_MOVED if call.method == "GET" else (307, 308)):
                return answer
            target = ""
            with contextlib.suppress(ValueError):
                target = urljoin(url, answer.headers.get("location", ""))
            target = target if _origin(target) else ""
            downgrade = url.startswith("https:") and not target.startswith("https:")
            if downgrade or not (self._is_home(target) or (call.may_leave and target)):
                host = one_line(urlsplit(target).netloc, most=80) or "nowhere"
                msg = f"the answer redirects to {host}, where this request must not go"
                raise _BrokenExchangeError(msg)
            url = target
        msg = "the answers redirect in a circle"
        raise _BrokenExchangeError(msg)

    def _send(self, call: _Call, url: str, ends_s: float) -> _Answer:
        token = self._token if self._is_home(url) else ""

        def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
            """Set the header last: a ~/.netrc would override one that is passed."""
            if token:
                request.headers["Authorization"] = f"Bearer {token}"
            return request

        response = self._session.request(
            call.method,
            url,
            # Sent in pieces: as a whole it would have to be gone in _CONNECT_S.
            data=io.BytesIO(call.body) if call.body else None,
            headers=call.headers,
            auth=sign,
            timeout=(_CONNECT_S, _SILENCE_S),
            stream=True,
        )
        with contextlib.closing(response):
            body = self._read_body(response, call, ends_s)
            return _Answer(response.status_code, response.headers, body)

    def _read_body(self, response: requests.Response, call: _Call, ends_s: float) -> bytes:
        body = bytearray()
        # Take whatever has arrived: reading whole chunks would wait for a slow server.
        while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > call.largest_bytes:
                if response.status_code >= 300:  # only its message is of use, and this is none
                    return b""
                msg = f"the answer is larger than {call.largest_bytes} bytes"
                raise _BrokenExchangeError(msg)
            if self._clock() > ends_s:
                msg = f"the answer took longer than {call.longest_s:g} s"
                raise _BrokenExchangeError(msg, _REPEATABLE)
        return bytes(body)


def find_at(answer: Any, *keys: str) -> Any:
    """Return what an answer holds at the path ``keys``; None if there is nothing."""
    for key in keys:
        answer = answer.get(key) if isinstance(answer, dict) else None
    return answer


def text_at(answer: Any, *keys: str) -> str:
    """Return the text at the path ``keys``. Raises InfrastructureFailure if there is none."""
    text = find_at(answer, *keys)
    if not isinstance(text, str) or not text:
        raise_odd_answer(f"holds no {'.'.join(keys)}")
    return text


def number_at(answer: Any, key: str) -> int:
    number = find_at(answer, key)
    if type(number) is not int or number < 1:
        raise_odd_answer(f"holds no {key}")
    return number


def raise_odd_answer(what: str) -> NoReturn:
    msg = f"the answer {what}"
    raise InfrastructureFailure(msg, hint=_IS_URL_RIGHT)


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int


def _origin(url: str) -> _Origin | None:
    """Return None for anything but an http(s) URL without a user."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, KeyError):
        return None
    plain = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    return _Origin(parts.scheme, parts.hostname or "", port) if plain else None


def _describe(error: Exception) -> tuple[str, Collection[str]]:
    """The library's own messages contain whole URLs, even signed ones."""
    reason = getattr(error.args[0], "reason", None) if error.args else None
    match error:
        case _BrokenExchangeError():
            return str(error), error.repeatable
        case requests.exceptions.SSLError():
            return "its certificate is not trusted", ()
        case requests.ConnectTimeout():
            return f"no connection within {_CONNECT_S:g} s", _METHODS
        case requests.ReadTimeout() | urllib3.exceptions.ReadTimeoutError():
            return f"no answer within {_SILENCE_S:g} s", _REPEATABLE
        case _ if isinstance(reason, urllib3.exceptions.NewConnectionError):
            return "no connection", _METHODS
        case _:
            return "the connection broke", _REPEATABLE


def _parse_json(answer: _Answer, asked: str) -> Any:
    if not answer.body.strip():
        return None
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        start = one_line(answer.body[:80].decode("utf-8", errors="replace"))
        msg = f"{asked}: the answer is not JSON; it begins with: {start}"
        hint = f"a proxy in between may have answered instead; {_IS_URL_RIGHT}"
        raise InfrastructureFailure(msg, hint=hint) from None


def _pause_s(answer: _Answer, method: str, *, backoff_s: float, now_s: float) -> float | None:
    """None: no retry. A POST gets one only if the server certainly did nothing."""
    after = _number(answer.headers.get("retry-after"))
    if answer.status in (403, 429):
        if after is not None:
            return after
        if answer.headers.get("x-ratelimit-remaining") == "0":
            reset = _number(answer.headers.get("x-ratelimit-reset"))
            return _SECONDARY_PAUSE_S if reset is None else max(1.0, reset - now_s + 1.0)
        limited = answer.status == 429 or "secondary rate limit" in answer.message.lower()
        return _SECONDARY_PAUSE_S if limited else None
    if answer.status < 500:
        return None
    if answer.status == 503 and after is not None:
        return after
    return backoff_s if method in _REPEATABLE else None


def _number(text: str | None) -> float | None:
    """Return a header's number, or None if it is a date or anything else."""
    return float(text) if text and re.fullmatch(r"[0-9]{1,12}", text.strip()) else None


def _classify(answer: _Answer) -> tuple[type[Refused], str]:
    # Such as ``pull_requests=write``, for what was asked.
    named = one_line(answer.headers.get("x-accepted-github-permissions", ""), most=120)
    permission = named.replace("_", "-").replace("=", ": ") or "of what it asks for"
    match answer.status:
        case 401:
            return Forbidden, (
                "the token is not valid (any more): pass the job's own, env GITHUB_TOKEN"
            )
        case 403:
            return Forbidden, (
                f"the token is missing a permission: give the job `permissions: {permission}`; the "
                "token of a pull request from a fork only reads, whatever the workflow says"
            )
        case 404:
            return NotFound, (
                "it does not exist, or the token may not see it: for a private repository the job "
                f"needs `permissions: {permission}`"
            )
        case 410:
            return NotFound, "it has expired or was deleted"
        case status if status >= 500:
            return Refused, (
                "GitHub has trouble; run the job again later (https://www.githubstatus.com)"
            )
    return Refused, ""
