"""Storages for ccache: a real redis-server, and a web server that keeps what is put into it."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from pathlib import Path
from typing import Self

from megtrim.libs.util.process import Background, Command, ProcessRunner
from support.clock import until


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@dataclass(slots=True)
class Redis:
    port: int
    server: Background

    def url(self, user: str = "") -> str:
        return f"redis://{user}{'@' if user else ''}127.0.0.1:{self.port}"

    def ask(self, *words: bytes | str) -> bytes | list[bytes]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            parts = [word.encode() if isinstance(word, str) else word for word in words]
            sent = b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
            connection.sendall(b"*%d\r\n%s" % (len(parts), sent))
            with connection.makefile("rb") as stream:
                return _answer(stream)

    def entries(self) -> dict[bytes, bytes]:
        names = self.ask("KEYS", "*")
        assert isinstance(names, list)
        found = {name: self.ask("GET", name) for name in sorted(names)}
        return {name: entry for name, entry in found.items() if isinstance(entry, bytes)}

    def freeze(self) -> None:
        """Let it hang: the system still takes connections for it."""
        os.kill(self.server.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.server.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self.server.pid, signal.SIGKILL)
        until(lambda: not self.server.alive(), "redis-server's end")


@contextmanager
def redis_server(processes: ProcessRunner, folder: Path, settings: str = "") -> Iterator[Redis]:
    port = free_port()
    (folder / "redis.conf").write_text(settings, encoding="utf-8")
    argv = (
        "redis-server",
        str(folder / "redis.conf"),
        "--port",
        str(port),
        "--bind",
        "127.0.0.1",
        "--dir",
        str(folder),
        "--save",
        "",
        "--appendonly",
        "no",
    )
    log = folder / "redis.log"
    with processes.background(Command(argv=argv, timeout_s=0, log=log)) as server:
        wait_for_port(port, server, log)
        redis = Redis(port, server)
        try:
            yield redis
        finally:
            if server.alive():
                redis.thaw()  # a frozen one would not hear that it is to end


def wait_for_port(port: int, server: Background, log: Path) -> None:
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline and server.alive():
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    msg = f"it does not start: {log.read_text(encoding='utf-8')[-2000:]}"
    raise AssertionError(msg)


class Web:
    """A web server: GET, PUT and DELETE; what may write knows the token, where there is one."""

    def __init__(self, token: str = "") -> None:
        self.entries: dict[str, bytes] = {}
        self.token = token
        handler = type("Handler", (_Handler,), {"web": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/cache"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def do_GET(self) -> None:
        found = self.web.entries.get(self.path)
        self._say(200 if found is not None else 404, found or b"")

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.web.token and self.headers["Authorization"] != f"Bearer {self.web.token}":
            self._say(403)
            return
        self.web.entries[self.path] = data
        self._say(201)

    def do_DELETE(self) -> None:
        self.web.entries.pop(self.path, None)
        self._say(204)

    def _say(self, status: int, data: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def _answer(stream: BufferedReader) -> bytes | list[bytes]:
    head = stream.readline()
    kind = head[:1]
    rest = head[1:].rstrip()
    match kind:
        case b"$":
            return stream.read(int(rest) + 2)[:-2] if int(rest) >= 0 else b""
        case b"*":
            found = [_answer(stream) for _ in range(int(rest))]
            return [each for each in found if isinstance(each, bytes)]
        case b"-":
            raise AssertionError(rest.decode())
        case _:
            return rest
