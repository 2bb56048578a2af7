"""An API whose pauses are recorded, not waited for, and servers that break in the middle."""

import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from megtrim.github.api import Api
from megtrim.github.event import Event

TOKEN = "ghs_0123456789abcdef"
NOW_S = 1_800_000_000.0


@dataclass(slots=True)
class Asking:
    api: Api
    pauses: list[float] = field(default_factory=list)


def asking(url: str, *, token: str = TOKEN) -> Asking:
    pauses: list[float] = []
    api = Api(url, token, user_agent="megtrim/1.2.3", pause=pauses.append, clock=lambda: NOW_S)
    return Asking(api, pauses)


def make_event(url: str, **fields: Any) -> Event:
    push: dict[str, Any] = {
        "name": "push",
        "repository": "acme/phone",
        "repository_id": 1,
        "default_branch": "main",
        "sha": "0" * 40,
        "ref": "refs/heads/main",
        "run_id": 77,
        "run_attempt": 2,
        "server_url": "https://github.com",
        "api_url": url,
        "pull_request": None,
    }
    return Event(**push | fields)


@contextmanager
def bare_server(*answers: Callable[[socket.socket], None], pause_s: float = 0) -> Iterator[str]:
    """Serve one connection for each of ``answers``, which get it after the request was read."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 1024)
        server.settimeout(20)

        def serve() -> None:
            for answer in answers:
                connection, _ = server.accept()
                with connection:
                    _read_request(connection, pause_s)
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join(30)
        assert not thread.is_alive()


def _read_request(connection: socket.socket, pause_s: float) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = re.findall(rb"(?i)\r\ncontent-length: *([0-9]+)", head)
    left = int(lengths[0]) - len(body) if lengths else 0
    while left > 0:
        left -= len(connection.recv(65536))
        time.sleep(pause_s)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def sends(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def unused_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"
