"""One HTTP exchange with a real server: redirects, sizes, times, and where the token goes."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Received
from werkzeug import Response as Answer

from megtrim.http import HttpClient, Request, TransferLimits, TransportError, origin, split
from unit.github.support import TOKEN, unused_url

LIMITS = TransferLimits(connect_s=5.0, silence_s=5.0)


def client(home: str) -> HttpClient:
    return HttpClient(home, TOKEN, headers={"X-Who": "test"}, clock=lambda: 0.0, limits=LIMITS)


def request(url: str) -> Request:
    return Request(
        method="GET", url=url, body=None, largest_bytes=1000, longest_s=5.0, may_leave=False
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://api.example/v3?x=1", ("https", "api.example", 443)),
        ("http://api.example", ("http", "api.example", 80)),
        ("http://API.example:8080/", ("http", "api.example", 8080)),
        ("ftp://api.example", None),
        ("https://", None),
        ("https://user@api.example", None),
        ("https://api.example:99999", None),
        ("https://[::1", None),
        ("", None),
    ],
)
def test_origins(url: str, expected: tuple[str, str, int] | None) -> None:
    """Scheme, host and port decide who gets the token; a URL with a user in it is none."""
    assert origin(url) == expected
    assert (split(url) is None) is (expected is None)


@pytest.mark.parametrize(
    ("url", "home"),
    [
        ("https://api.example:443/other", True),
        ("http://api.example/", False),
        ("https://api.example:444/", False),
        ("https://api.example.evil/", False),
        ("not a url", False),
    ],
)
def test_only_its_own_origin_is_home(url: str, home: bool) -> None:
    """Another port or scheme is another host."""
    assert client("https://api.example/v3").is_home(url) is home


def test_the_token_stays_at_home(httpserver: HTTPServer) -> None:
    """A request to another port of the same machine has every header but that one."""
    seen: list[Received] = []

    def answer(received: Received) -> Answer:
        seen.append(received)
        return Answer("ok")

    httpserver.expect_request("/x").respond_with_handler(answer)
    url = httpserver.url_for("/x")

    client(url).exchange(request(url))
    client("http://127.0.0.1:1").exchange(request(url))

    assert [each.headers.get("Authorization") for each in seen] == [f"Bearer {TOKEN}", None]
    assert [each.headers["X-Who"] for each in seen] == ["test", "test"]


def test_a_response_is_decompressed_and_complete(httpserver: HTTPServer) -> None:
    """Header names are in lower case."""
    body = b"a" * 900
    headers = {"Content-Encoding": "gzip", "X-More": "1"}
    httpserver.expect_request("/x").respond_with_data(gzip.compress(body), headers=headers)
    url = httpserver.url_for("/x")

    response = client(url).exchange(request(url))

    assert (response.status, response.body, response.headers["x-more"]) == (200, body, "1")


def test_the_size_counts_after_decompression(httpserver: HTTPServer) -> None:
    """A small file may become a large one; a retry would not help."""
    headers = {"Content-Encoding": "gzip"}
    httpserver.expect_request("/x").respond_with_data(gzip.compress(bytes(1001)), headers=headers)
    url = httpserver.url_for("/x")

    with pytest.raises(TransportError, match=r"^the answer is larger than 1000 bytes$") as caught:
        client(url).exchange(request(url))
    assert caught.value.final
    assert not caught.value.untouched


@contextmanager
def slow_server(length: int) -> Iterator[str]:
    """Serve one request with a body of that length, which is taken bit by bit."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        server.settimeout(20)

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                head = b""
                while b"\r\n\r\n" not in head:
                    head += connection.recv(65536)
                left = length - len(head.partition(b"\r\n\r\n")[2])
                while left and (piece := connection.recv(65536)):
                    left -= len(piece)
                    time.sleep(0.004)
                connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\ndone")

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(30)
        assert not thread.is_alive()


def test_a_long_upload_may_take_its_time() -> None:
    """As long as the server takes some of it: a large file needs longer than a connection."""
    data = bytes(16 * 1024 * 1024)
    limits = replace(LIMITS, connect_s=0.5)
    with slow_server(len(data)) as url:
        wire = HttpClient(url, TOKEN, headers={}, clock=lambda: 0.0, limits=limits)
        answer = wire.exchange(replace(request(url), method="POST", body=data))

    assert (answer.status, answer.body) == (201, b"done")


def test_a_circle_of_redirects_ends(httpserver: HTTPServer) -> None:
    """After five hops."""
    url = httpserver.url_for("/x")
    answer = Answer(status=302, headers={"Location": url})
    httpserver.expect_request("/x").respond_with_response(answer)

    with pytest.raises(TransportError, match="redirect in a circle"):
        client(url).exchange(request(url))
    assert len(httpserver.log) == 5


def test_no_connection_means_that_nothing_was_done() -> None:
    """So the caller may ask again, whatever it asked."""
    url = unused_url()

    with pytest.raises(TransportError, match=r"^no connection") as caught:
        client(url).exchange(request(url))
    assert caught.value.untouched
    assert not caught.value.final
