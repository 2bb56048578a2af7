"""GitHub's REST API as a program on a socket, with a memory, a journal and faults to inject.

In a test::

    with GithubDouble() as github:
        repository = github.repository("acme/phone")
        base = repository.commit({"a.txt": "1"}, branch="main")
        github.fail("GET", r"/compare/", status=502, times=2)
        ...  # talk to github.url with github.token
        assert [call.path for call in github.journal] == [...]

Archives come by a redirect to another host that, like GitHub's storage, refuses a request that
carries a token.
"""

import re
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_httpserver.httpserver import HTTPServerBase
from werkzeug import Request, Response

from support import github_routes
from support.github_state import BOT, Refused, Repository, as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    method: str
    path: str
    query: dict[str, str]
    body: Any
    authorization: str
    status: int

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(slots=True)
class Fault:
    """What happens to the next ``times`` requests whose path fits the pattern ``path``.

    ``status`` 0 cuts the connection without an answer; one below 300 is only late. ``acts``: what
    was asked is done all the same. ``delay_s``: the answer comes that much later.
    """

    method: str
    path: str
    status: int = 500
    times: int = 1
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "Something is wrong"
    acts: bool = False
    delay_s: float = 0.0


class GithubDouble(HTTPServerBase):
    """The server. All requests are answered one after the other, as by one database."""

    token = "ghs_0123456789abcdef"

    def __init__(self, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__(host, port, threaded=True)
        self.logins = {self.token: BOT}
        self.permissions = dict.fromkeys(
            ("actions", "contents", "issues", "pull_requests"), "write"
        )
        self.journal: list[Call] = []
        self._repositories: dict[str, Repository] = {}
        self._faults: list[Fault] = []
        self._lock = threading.RLock()
        self._ending = threading.Event()

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def repository(self, name: str = "acme/phone", **fields: Any) -> Repository:
        known = self._repositories
        if name not in known:
            known[name] = Repository(name, id=len(known) + 1, **fields)
        return known[name]

    def fail(self, method: str, path: str, **changes: Any) -> None:
        self._faults.append(Fault(method, path, **changes))

    def recover(self) -> None:
        self._faults.clear()

    def calls(self, method: str, path: str = "") -> list[Call]:
        return [c for c in self.journal if c.method == method and re.search(path, c.path)]

    def stop(self) -> None:
        self._ending.set()
        super().stop()

    def thread_target(self) -> None:
        """Serve; look often whether to stop, because every test stops one."""
        assert self.server is not None
        self.server.serve_forever(poll_interval=0.01)

    def dispatch(self, request: Request) -> Response:
        with self._lock:
            fault = self._fault(request)
        if fault is not None and fault.delay_s:
            self._ending.wait(fault.delay_s)
        with self._lock:
            response = self._answer(request, fault)
            cut = fault is not None and fault.status == 0
            self.journal.append(
                Call(
                    method=request.method,
                    path=request.path,
                    query=request.args.to_dict(),
                    body=request.get_json(silent=True),
                    authorization=request.headers.get("Authorization", ""),
                    status=0 if cut else response.status_code,
                )
            )
        if cut:
            request.environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return response

    def _fault(self, request: Request) -> Fault | None:
        for fault in self._faults:
            if (
                fault.times
                and fault.method == request.method
                and re.search(fault.path, request.path)
            ):
                fault.times -= 1
                return fault
        return None

    def _answer(self, request: Request, fault: Fault | None) -> Response:
        if fault is None or (fault.status and fault.status < 300):  # nothing wrong, or only late
            return self._routed(request)
        if fault.acts:
            self._routed(request)
        body = {"message": fault.message, "status": str(fault.status)}
        return as_json(body, fault.status or 500, fault.headers)

    def _routed(self, request: Request) -> Response:
        try:
            return github_routes.answer(request, self._found(request), self.permissions)
        except Refused as refused:
            return as_json(refused.body, refused.status, {})

    def _found(self, request: Request) -> tuple[Repository, str] | None:
        """Return the repository that is asked about, and who asks; None for the storage."""
        authorization = request.headers.get("Authorization", "")
        if request.path.startswith("/storage/"):
            if authorization:
                raise Refused(400, "Authentication information is not given in the correct format")
        elif authorization.partition(" ")[2] not in self.logins:
            raise Refused(401, "Bad credentials")
        parts = request.path.split("/")
        known = self._repositories.get("/".join(parts[2:4]))
        if known is None:
            raise Refused(404, "Not Found")
        return known, self.logins.get(authorization.partition(" ")[2], "")
