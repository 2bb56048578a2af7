"""One HTTP exchange: a request goes out, a complete and bounded response comes back, or an error.

The only module that knows HTTP. The token goes to its own host and nowhere else. A response that
is too large or too slow is abandoned. Retries are up to the caller.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

import requests
import urllib3
from requests.auth import AuthBase

from megtrim.report.text import one_line

_MOST_HOPS = 5
_CHUNK_BYTES = 64 * 1024
_MOVED = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferLimits:
    """Limits of one exchange; ``silence_s`` is how long a server may send nothing.

    ``connect_s`` is also how long it may take nothing of what is sent to it.
    """

    connect_s: float = 10.0
    silence_s: float = 30.0
    answer_s: float = 60.0
    download_s: float = 600.0
    answer_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request. ``may_leave``: it may be redirected to another host, as downloads are."""

    method: str
    url: str
    body: bytes | None
    largest_bytes: int
    longest_s: float
    may_leave: bool
    content_type: str = "application/json"
    """Of the body."""
    accept: str = ""
    """Form of the answer; empty: the client's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """One response: header names are in lower case, the body is bounded and decompressed."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class TransportError(Exception):
    """No complete response came. ``untouched``: the server certainly did nothing."""

    def __init__(self, text: str, *, untouched: bool, final: bool = False) -> None:
        super().__init__(text)
        self.untouched = untouched
        self.final = final
        """A retry would fail the same way."""


class _Token(AuthBase):
    """Sets the header itself, because a ~/.netrc would override a plain header."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


class _Session(requests.Session):
    """Follows no redirects: the library would pass the token on and read the whole body first."""

    def get_redirect_target(self, resp: requests.Response) -> None:  # noqa: ARG002 (theirs)
        return None


class HttpClient:
    """Sends requests. ``home`` is a URL; only its origin, and that of ``annex``, get the token."""

    def __init__(
        self,
        home: str,
        token: str,
        *,
        headers: Mapping[str, str],
        clock: Callable[[], float],
        limits: TransferLimits,
        annex: str = "",
    ) -> None:
        self._homes = {origin(home), origin(annex)} - {None}
        self._token = token
        self._clock = clock
        self._limits = limits
        self._session = _Session()
        self._session.headers.update(headers)

    def exchange(self, request: Request) -> Response:
        """Send a request and follow its redirects. Raises TransportError."""
        url = request.url
        ends_s = self._clock() + request.longest_s
        for _ in range(_MOST_HOPS):
            response = self._send(request, url, ends_s)
            # 307 and 308 keep the method; the others would turn a change into a GET.
            if response.status not in _MOVED or (
                request.method != "GET" and response.status not in (307, 308)
            ):
                return response
            url = self._redirect_url(request, url, response.headers.get("location", ""))
        msg = "the answers redirect in a circle"
        raise TransportError(msg, untouched=True, final=True)

    def is_home(self, url: str) -> bool:
        """Return whether the token may be sent there."""
        return origin(url) in self._homes

    def _redirect_url(self, request: Request, url: str, location: str) -> str:
        target = _join_url(url, location)
        parts = split(target)
        downgrade = parts is not None and parts.scheme == "http" and url.startswith("https:")
        if parts is None or downgrade or not (request.may_leave or self.is_home(target)):
            host = one_line(parts.netloc, limit=80) if parts else "nowhere"
            msg = f"the answer redirects to {host}, where this request must not go"
            raise TransportError(msg, untouched=True, final=True)
        return target

    def _send(self, request: Request, url: str, ends_s: float) -> Response:
        with self._convert_errors():
            response = self._session.request(
                request.method,
                url,
                # Sent in pieces: as a whole it would have to be gone in connect_s.
                data=io.BytesIO(request.body) if request.body else None,
                headers=_list_headers(request),
                auth=_Token(self._token if self.is_home(url) else ""),
                timeout=(self._limits.connect_s, self._limits.silence_s),
                stream=True,
            )
            with contextlib.closing(response):
                headers = {name.lower(): value for name, value in response.headers.items()}
                body = self._body(response, request, ends_s)
                return Response(status=response.status_code, headers=headers, body=body)

    def _body(self, response: requests.Response, request: Request, ends_s: float) -> bytes:
        body = bytearray()
        # Take whatever has arrived: reading whole chunks would wait for a slow server.
        while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=True):
            body += chunk
            if len(body) > request.largest_bytes:
                if response.status_code >= 300:  # only its message is of use, and this is none
                    return b""
                msg = f"the answer is larger than {request.largest_bytes} bytes"
                raise TransportError(msg, untouched=False, final=True)
            if self._clock() > ends_s:
                msg = f"the answer took longer than {request.longest_s:g} s"
                raise TransportError(msg, untouched=False)
        return bytes(body)

    @contextlib.contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Replace the library's messages, which contain whole URLs, even signed ones."""
        try:
            yield
        except requests.exceptions.SSLError:
            msg = "its certificate is not trusted"
            raise TransportError(msg, untouched=True, final=True) from None
        except requests.exceptions.ConnectTimeout:
            msg = f"no connection within {self._limits.connect_s:g} s"
            raise TransportError(msg, untouched=True) from None
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            causes = tuple(_causes(error))
            if any(isinstance(each, urllib3.exceptions.ReadTimeoutError) for each in causes):
                msg = f"no answer within {self._limits.silence_s:g} s"
                raise TransportError(msg, untouched=False) from None
            never = any(isinstance(c, urllib3.exceptions.NewConnectionError) for c in causes)
            reason = next((c.strerror for c in causes if isinstance(c, OSError) and c.strerror), "")
            text = "no connection" if never else "the connection broke"
            text += f" ({one_line(reason)})" if reason else ""
            raise TransportError(text, untouched=never) from None
        except ValueError:  # an invalid host name or header
            msg = "the answer cannot be read"
            raise TransportError(msg, untouched=False, final=True) from None


def _list_headers(request: Request) -> dict[str, str]:
    given = {"Content-Type": request.content_type if request.body else "", "Accept": request.accept}
    return {name: value for name, value in given.items() if value}


def split(url: str) -> SplitResult | None:
    """Return the parts of an http(s) URL with a host; None for anything else."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    return parts if usable and "@" not in parts.netloc else None


def origin(url: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port; None if the URL is not http(s)."""
    parts = split(url)
    if parts is None or parts.hostname is None:
        return None
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return parts.scheme, parts.hostname, port


def _join_url(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, which the libraries attach in three ways."""
    waiting: list[object] = [error]
    seen: list[object] = []
    while waiting and len(seen) < 20:
        each = waiting.pop(0)
        if isinstance(each, BaseException) and each not in seen:
            seen.append(each)
            yield each
            waiting += [getattr(each, "reason", None), *each.args, each.__cause__, each.__context__]
