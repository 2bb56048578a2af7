"""What the GitHub double remembers of one repository: commits, pull requests, runs, artifacts.

It follows GitHub where a client could notice: ids ascend, a pull request whose branch holds
nothing new is closed, one branch has at most one open pull request.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from werkzeug import Request, Response

BOT = "github-actions[bot]"
FORK_ID = 999


class Refused(Exception):
    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "status": str(status), **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    sha: str
    parents: tuple[str, ...]
    files: Mapping[str, bytes]
    message: str
    committed_at: str = "2027-01-31T12:00:00Z"

    @property
    def tree(self) -> str:
        return tree_sha(self.files)


def blob_sha(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def tree_sha(files: Mapping[str, bytes]) -> str:
    text = json.dumps(sorted((path, blob_sha(data)) for path, data in files.items()))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def zipped(files: Mapping[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


@dataclass(slots=True)
class Repository:
    name: str
    id: int = 1
    default_branch: str = "main"
    now: datetime = datetime(2027, 1, 31, 12, tzinfo=UTC)
    """What is made gets this time; tests move it."""
    may_open_pulls: bool = True
    workflows: dict[str, set[str]] = field(default_factory=dict)
    """File name of each workflow that can be dispatched, with its inputs."""
    commits: dict[str, Commit] = field(default_factory=dict)
    trees: dict[str, Mapping[str, bytes]] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    heads: dict[str, str] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    tags: dict[str, dict[str, str]] = field(default_factory=dict)
    """What each tag points to: type and sha; what an annotated one does is in ``notes``."""
    notes: dict[str, str] = field(default_factory=dict)
    releases: dict[int, dict[str, Any]] = field(default_factory=dict)
    assets: dict[int, bytes] = field(default_factory=dict)
    stores: Callable[[bytes], bytes] = bytes
    """What becomes of an uploaded file; tests damage it."""
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[int, dict[str, Any]] = field(default_factory=dict)
    archives: dict[int, bytes] = field(default_factory=dict)
    stored_by: dict[int, int] = field(default_factory=dict)
    """The run of each artifact, whatever it claims."""
    jobs: dict[tuple[int, int], list[list[dict[str, Any]]]] = field(default_factory=dict)
    """By run and attempt: what each asking sees; the last stays."""
    environments: dict[str, list[str]] = field(default_factory=dict)
    """Types of their protection rules."""
    dispatches: list[dict[str, Any]] = field(default_factory=list)
    activity: list[dict[str, Any]] = field(default_factory=list)
    ids: Iterator[int] = field(default_factory=lambda: iter(range(1001, 10**9)))

    def stamp(self, *, days_ago: float = 0) -> str:
        return (self.now - timedelta(days=days_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def commit(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        parents: Sequence[str] | None = None,
        branch: str | None = None,
        message: str = "A change",
        sha: str | None = None,
    ) -> str:
        """Add ``files`` on top of a branch's head (or ``parents``); return the commit's sha.

        ``sha``: the commit's name, where it stands for one of a real repository.
        """
        if parents is None:
            parents = [self.heads[branch]] if branch in self.heads else []
        before = self.commits[parents[0]].files if parents else {}
        added = {
            path: data.encode() if isinstance(data, str) else data
            for path, data in (files or {}).items()
        }
        sha = self.add_commit({**before, **added}, tuple(parents), message, sha=sha)
        if branch is not None:
            self.set_head(branch, sha)
        return sha

    def add_commit(
        self,
        files: Mapping[str, bytes],
        parents: tuple[str, ...],
        message: str,
        *,
        sha: str | None = None,
    ) -> str:
        text = json.dumps([len(self.commits), tree_sha(files), parents, message])
        sha = sha or hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = Commit(
            sha=sha, parents=parents, files=files, message=message, committed_at=self.stamp()
        )
        self.add_tree(files)
        return sha

    def add_tree(self, files: Mapping[str, bytes]) -> str:
        sha = tree_sha(files)
        self.trees[sha] = dict(files)
        self.blobs |= {blob_sha(data): data for data in files.values()}
        return sha

    def set_head(self, branch: str, sha: str) -> None:
        """Move a branch; a pull request that is left with nothing new is closed."""
        self.heads[branch] = sha
        for pull in self.pulls.values():
            if pull["state"] == "open" and pull["head"]["ref"] == branch:
                pull["head"]["sha"] = sha
                if sha in self._ancestors(self.heads[pull["base"]["ref"]]):
                    pull["state"] = "closed"

    def resolve(self, ref: str) -> Commit:
        name = ref.removeprefix("refs/").removeprefix("heads/")
        sha = self.heads.get(name, name)
        if sha not in self.commits:
            raise Refused(404, "Not Found")
        return self.commits[sha]

    def merge_base(self, base: str, head: str) -> str:
        """Return the first commit of head's history that base's holds, too."""
        ours = set(self._ancestors(self.resolve(base).sha))
        found = next((sha for sha in self._ancestors(self.resolve(head).sha) if sha in ours), None)
        if found is None:
            raise Refused(404, f"No common ancestor between {base} and {head}.")
        return found

    def _ancestors(self, sha: str) -> list[str]:
        seen: dict[str, None] = {}
        waiting = [sha]
        while waiting:
            each = waiting.pop(0)
            if each not in seen:
                seen[each] = None
                waiting += self.commits[each].parents
        return list(seen)

    def pull(self, head: str, *, base: str = "main", title: str = "A pull request") -> int:
        if self.merge_base(base, head) == self.heads[head]:
            raise Refused(422, f"Validation Failed: No commits between {base} and {head}")
        for other in self.pulls.values():
            home = other["head"]["repo"]["id"]
            here = (other["state"], home, other["head"]["ref"], other["base"]["ref"])
            if here == ("open", self.id, head, base):
                said = f"A pull request already exists for {self.owner}:{head}."
                raise Refused(422, "Validation Failed", errors=[{"message": said}])
        number = self._next_number()
        self.pulls[number] = {
            "number": number,
            "state": "open",
            "title": title,
            "body": "",
            "html_url": f"https://github.example/{self.name}/pull/{number}",
            "user": {"login": BOT},
            "head": {"ref": head, "sha": self.heads[head], "repo": self.brief()},
            "base": {"ref": base, "sha": self.heads[base], "repo": self.brief()},
        }
        return number

    def _next_number(self) -> int:
        return len(self.pulls) + len(self.issues) + 1

    def issue(
        self, title: str, body: str = "", *, labels: Sequence[str] = (), login: str = BOT
    ) -> dict[str, Any]:
        number = self._next_number()
        self.issues[number] = {
            "number": number,
            "state": "open",
            "state_reason": None,
            "title": title,
            "body": body,
            "user": {"login": login},
            "labels": [{"name": each} for each in labels],
            "created_at": self.stamp(),
            "html_url": f"https://github.example/{self.name}/issues/{number}",
        }
        return self.issues[number]

    @property
    def owner(self) -> str:
        return self.name.partition("/")[0]

    def brief(self) -> dict[str, Any]:
        return {"id": self.id, "full_name": self.name, "default_branch": self.default_branch}

    def run(
        self,
        head_sha: str,
        *,
        event: str = "push",
        branch: str = "main",
        fork: bool = False,
        status: str = "completed",
        conclusion: str | None = "success",
    ) -> int:
        run_id = next(self.ids)
        home = {"id": FORK_ID, "full_name": "stranger/copy"} if fork else self.brief()
        self.runs[run_id] = {
            "id": run_id,
            "event": event,
            "head_sha": head_sha,
            "head_branch": branch,
            "status": status,
            "conclusion": conclusion,
            "run_attempt": 1,
            "repository": self.brief(),
            "head_repository": home,
            "created_at": self.stamp(),
        }
        return run_id

    def artifact(
        self,
        run_id: int,
        content: bytes | Mapping[str, bytes | str],
        *,
        name: str = "megtrim-baseline",
        expired: bool = False,
        days_ago: float = 0,
        **claims: Any,
    ) -> int:
        """Store an artifact of a run; ``claims`` replace what it says about its run."""
        artifact_id = next(self.ids)
        data = content if isinstance(content, bytes) else zipped(content)
        run = self.runs[run_id]
        self.archives[artifact_id] = data
        self.stored_by[artifact_id] = run_id
        self.artifacts[artifact_id] = {
            "id": artifact_id,
            "name": name,
            "size_in_bytes": len(data),
            "expired": expired,
            "created_at": self.stamp(days_ago=days_ago),
            "expires_at": self.stamp(days_ago=days_ago - 90),
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "workflow_run": {
                "id": run_id,
                "repository_id": self.id,
                "head_repository_id": run["head_repository"]["id"],
                "head_branch": run["head_branch"],
                "head_sha": run["head_sha"],
                **claims,
            },
        }
        return artifact_id

    def comment(self, number: int, body: str, *, login: str = BOT) -> dict[str, Any]:
        if len(body) > 65536:
            raise Refused(422, "Validation Failed: body is too long (maximum is 65536 characters)")
        comment_id = next(self.ids)
        self.comments[comment_id] = {
            "id": comment_id,
            "number": number,
            "body": body,
            "user": {"login": login},
            "created_at": self.stamp(),
            "updated_at": self.stamp(),
            "html_url": f"https://github.example/{self.name}/pull/{number}#{comment_id}",
        }
        return self.comments[comment_id]


class Asked:
    def __init__(self, request: Request, repository: Repository, login: str) -> None:
        self.request = request
        self.repository = repository
        self.login = login
        self.query = request.args
        given = request.get_json(silent=True)
        self.body: dict[str, Any] = given if isinstance(given, dict) else {}

    def need(self, *names: str) -> list[Any]:
        if lacking := [name for name in names if name not in self.body]:
            said = f"Invalid request. {lacking[0]!r} wasn't supplied."
            raise Refused(422, said)
        return [self.body[name] for name in names]


def as_json(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(json.dumps(body), status, headers, mimetype="application/json")


def paged(asked: Asked, items: Sequence[Any], key: str | None = None) -> Response:
    size = min(100, max(1, int(asked.query.get("per_page", 30))))
    page = max(1, int(asked.query.get("page", 1)))
    last = max(1, -(-len(items) // size))
    links = []
    for name, number in (("prev", page - 1), ("next", page + 1), ("last", last)):
        if 1 <= number <= last and (name != "last" or page < last):
            query = "&".join(f"{k}={v}" for k, v in asked.query.items() if k != "page")
            links.append(f'<{asked.request.base_url}?{query}&page={number}>; rel="{name}"')
    shown = list(items[(page - 1) * size : page * size])
    body = shown if key is None else {"total_count": len(items), key: shown}
    return as_json(body, headers={"Link": ", ".join(links)} if links else {})
