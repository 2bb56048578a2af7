"""An API whose pauses are recorded, servers that break in the middle, and GitHub's events."""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from megtrim.hosting.github.api import Api
from megtrim.places.github_event import Event

TOKEN = "ghs_0123456789abcdef"
NOW_S = 1_800_000_000.0
HEAD = "1" * 40
BASE = "2" * 40
MERGE = "3" * 40
REPOSITORY = {"id": 11, "full_name": "acme/phone", "default_branch": "main"}


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


def pull_request(*, number: int = 17, head_repository: Any = REPOSITORY) -> dict[str, Any]:
    return {
        "number": number,
        "title": "$(reboot) @everyone",
        "body": None,
        "head": {"ref": "a`b", "sha": HEAD, "repo": head_repository},
        "base": {"ref": "release/1.0", "sha": BASE, "repo": REPOSITORY},
    }


def payload(name: str) -> dict[str, Any]:
    own: dict[str, dict[str, Any]] = {
        "pull_request": {"number": 17, "action": "synchronize", "pull_request": pull_request()},
        "push": {"ref": "refs/heads/main", "before": BASE, "after": HEAD},
        "workflow_dispatch": {"ref": "refs/heads/work", "inputs": {"pull-request": "17"}},
        "merge_group": {
            "merge_group": {
                "head_sha": MERGE,
                "head_ref": "refs/heads/gh-readonly-queue/main/pr-17-2222",
                "base_sha": BASE,
                "base_ref": "refs/heads/main",
            }
        },
        "schedule": {"schedule": "0 4 * * *"},
    }
    repository = {} if name == "schedule" else {"repository": REPOSITORY}
    return {**own[name], **repository}


def environment(folder: Path, name: str, content: Any = None) -> dict[str, str]:
    path = folder / "event.json"
    data = json.dumps(payload(name) if content is None else content)
    path.write_text(data, encoding="utf-8")
    return {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(path),
        "GITHUB_REPOSITORY": "acme/phone",
        "GITHUB_SHA": MERGE if name in ("pull_request", "merge_group") else HEAD,
        "GITHUB_REF": "refs/pull/17/merge" if name == "pull_request" else "refs/heads/main",
        "GITHUB_RUN_ID": "9007",
        "GITHUB_RUN_ATTEMPT": "2",
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_API_URL": "https://api.github.com",
    }
