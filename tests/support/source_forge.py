"""A server's repositories with submodules in each other, real git, in a folder of the test's own.

``server`` serves them by HTTP, as git's own program for that does, and asks for a key where a
repository is private.
"""

import base64
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from megtrim.libs.util.process import Command, ProcessRunner

OWNER = "acme"
GIT_ENV = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    **{f"GIT_{who}_NAME": "forge" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "forge@example.invalid" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2024-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}


@dataclass(slots=True)
class SourceForge:
    root: Path
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Repository and Authorization header of each request by HTTP."""

    def commit(
        self,
        name: str,
        files: Mapping[str, str],
        links: Mapping[str, tuple[str, str]] | None = None,
        *,
        modules: str | None = None,
    ) -> str:
        """Replace a repository's tree, and return the new commit.

        ``links`` are submodules: by path, the URL and the commit. ``modules`` is another
        .gitmodules than the one that git would write for them.
        """
        work = self.root / "work" / name
        bare = self.bare(name)
        if not bare.exists():
            self.git("init", "--quiet", "--bare", "--initial-branch=main", str(bare))
            self.git("-C", str(bare), "config", "uploadpack.allowAnySHA1InWant", "true")
            self.git("init", "--quiet", "--initial-branch=main", str(work))
        self.git("-C", str(work), "rm", "-r", "-q", "--cached", "--ignore-unmatch", ".")
        text = _modules(links or {}) if modules is None else modules
        for path, content in {**files, **({".gitmodules": text} if text else {})}.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(content, encoding="utf-8")
            self.git("-C", str(work), "add", "--force", path)
        for path, (_, sha) in (links or {}).items():
            entry = f"160000,{sha},{path}"
            self.git("-C", str(work), "update-index", "--add", "--cacheinfo", entry)
        self.git("-C", str(work), "commit", "--quiet", "--allow-empty", "--message", "A change")
        self.git("-C", str(work), "push", "--quiet", "--force", str(bare), "HEAD:refs/heads/main")
        return self.git("-C", str(work), "rev-parse", "HEAD")

    def bare(self, name: str) -> Path:
        return self.root / "served" / OWNER / f"{name}.git"

    def url(self, name: str) -> str:
        return self.bare(name).as_uri()

    def check_out(self, name: str, sha: str, folder: Path) -> Path:
        self.git("init", "--quiet", str(folder))
        fetch = ("fetch", "--quiet", "--depth=1", self.url(name), sha)
        self.git("-C", str(folder), *fetch)
        self.git("-C", str(folder), "checkout", "--quiet", "--detach", sha)
        return folder

    def git(self, *argv: str) -> str:
        return ProcessRunner(GIT_ENV).capture("git", *argv).strip()

    @contextmanager
    def server(self, private: Mapping[str, str] | None = None) -> Iterator[str]:
        keys = private or {}

        def answer(request: Request) -> Response:
            name = request.path.split("/")[2].removesuffix(".git")
            given = request.headers.get("Authorization", "")
            self.asked.append((name, given))
            wanted = base64.b64encode(f"x-access-token:{keys.get(name)}".encode()).decode()
            if name in keys and given != f"Basic {wanted}":
                return Response("", 401, {"WWW-Authenticate": 'Basic realm="forge"'})
            return _run_backend(self.root, request)

        with HTTPServer() as http:
            http.expect_request(re.compile(".*")).respond_with_handler(answer)
            yield http.url_for("").rstrip("/")


def _modules(links: Mapping[str, tuple[str, str]]) -> str:
    return "".join(
        f'[submodule "{path}"]\n\tpath = {path}\n\turl = {url}\n'
        for path, (url, _) in links.items()
    )


def _run_backend(root: Path, request: Request) -> Response:
    path = urlsplit(request.path).path
    body = root / "request"
    answered = root / "answer"
    body.write_bytes(request.get_data())
    env = {
        "GIT_PROJECT_ROOT": str(root / "served"),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": path,
        "QUERY_STRING": request.query_string.decode(),
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": request.headers.get("Content-Type", ""),
        "CONTENT_LENGTH": str(body.stat().st_size),
        "HTTP_CONTENT_ENCODING": request.headers.get("Content-Encoding", ""),
        "GIT_PROTOCOL": request.headers.get("Git-Protocol", ""),
    }
    command = Command(
        argv=("git", "http-backend"), env=env, stdin=body, stdout_to=answered, timeout_s=60
    )
    done = ProcessRunner(GIT_ENV).run(command)
    assert done.ok, done.stderr
    head, _, content = answered.read_bytes().partition(b"\r\n\r\n")
    headers = dict(line.split(": ", 1) for line in head.decode().splitlines())
    status = int(headers.pop("Status", "200 OK").split()[0])
    return Response(content, status, headers)


KIT = "megtrim/kit"
KIT_SHA = "ef37b3d1bfdb27299b83ae293700fd4ffae1856c"
"""The commit of each version: equal content, people and days give equal commits."""


def make_kit(root: Path, *tags: str, name: str = KIT) -> str:
    forge = SourceForge(root)
    assert forge.commit("kit", {"README.md": "# The kit\n"}) == KIT_SHA
    work = root / "work" / "kit"
    bare = root / "server" / f"{name}.git"
    for number, tag in enumerate(tags):
        text = ("-a", "-m", "A version") if number % 2 else ()  # both forms of tags
        forge.git("-C", str(work), "tag", *text, tag)
    forge.git("clone", "--quiet", "--bare", str(work), str(bare))
    return (root / "server").as_uri()
