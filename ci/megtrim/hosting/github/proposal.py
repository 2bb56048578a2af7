"""Proposes a new keep set: one commit on a branch of its own, a pull request, and its checks.

The branch moves in one step: if it were reset to its base, GitHub would close its pull request.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from megtrim.hosting.github.api import (
    Api,
    Forbidden,
    NotFound,
    Refused,
    find_at,
    number_at,
    raise_odd_answer,
    text_at,
)
from megtrim.hosting.github.commits import fetch_head
from megtrim.hosting.github.issues import normalize_body
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.value import Value

_REFUSED_BY_SETTING = "not permitted to create"
_ALLOW_IT = (
    "the new keep set is on its branch: open the pull request by hand; or let jobs open it: "
    "Settings > Actions > General > Workflow permissions > Allow GitHub Actions to create and "
    "approve pull requests (an organization may forbid it); or give the token of a GitHub App"
)
_RACED = (409, 422)
_SUFFIX = ".json"


class ProposalResult(StrEnum):
    UNCHANGED = "unchanged"
    """The base branch has this keep set already."""
    OPENED = "opened"
    UPDATED = "updated"
    CURRENT = "current"
    """The open pull request has this keep set already."""


class FolderChange(Value):
    path: str
    texts: Mapping[str, str]
    """Text of each JSON file by its path in the folder; others that are there are removed."""
    base: str
    branch: str
    title: str


class PullRequestState(Value):
    """The state after a proposal; ``number`` is 0 and ``commit`` empty if there was none."""

    outcome: ProposalResult
    number: int = 0
    commit: str = ""


class PullRequestProposer:
    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._repository = repository
        self._root = f"/repos/{repository}"

    def head(self, branch: str) -> str | None:
        try:
            return fetch_head(self._api, self._repository, branch)
        except NotFound:
            return None

    def fetch_texts(self, change: FolderChange, commit: str) -> dict[str, str] | None:
        """None: not text. Only files that differ from the proposed ones are downloaded."""
        known = {_blob_sha(text): text for text in change.texts.values()}
        texts = {}
        for name, sha in self._list(change.path, commit).items():
            text = known[sha] if sha in known else self._fetch_text(sha)
            if text is None:
                return None
            texts[name] = text
        return texts

    def _fetch_text(self, sha: str) -> str | None:
        answer = self._api.get(f"{self._root}/git/blobs/{quote(sha, safe='')}")
        whole = find_at(answer, "encoding") == "base64"
        content: Any = find_at(answer, "content") if whole else None
        try:
            return base64.b64decode(content).decode("utf-8")
        except (TypeError, ValueError):
            return None

    def _list(self, path: str, commit: str) -> dict[str, str]:
        """Return the id of each JSON file of a folder, by its path there; empty if it is none."""
        sha = self._fetch_tree(commit)
        for part in path.split("/"):
            sha = dict(self._entries(sha, "tree")).get(part, "")
            if not sha:
                return {}
        entries = self._entries(sha, "blob", {"recursive": "1"})
        return {name: sha for name, sha in entries if name.endswith(_SUFFIX)}

    def _fetch_tree(self, commit: str) -> str:
        return text_at(self._api.get(f"{self._root}/git/commits/{commit}"), "tree", "sha")

    def _entries(
        self, tree: str, kind: str, params: Mapping[str, str] | None = None
    ) -> Iterator[tuple[str, str]]:
        answer = self._api.get(f"{self._root}/git/trees/{quote(tree, safe='')}", params)
        entries = find_at(answer, "tree")
        if not isinstance(entries, list) or answer.get("truncated"):
            raise_odd_answer("is not the whole tree of a folder")
        for entry in entries:
            if find_at(entry, "type") == kind:
                yield text_at(entry, "path"), text_at(entry, "sha")

    def propose(self, change: FolderChange, base_commit: str, body: str) -> PullRequestState:
        commit, moved = self._on_branch(change, base_commit)
        pull, is_new = self._open_pull_request(change, body)
        number = number_at(pull, "number")
        same = pull.get("title") == change.title
        same = same and normalize_body(pull.get("body")) == normalize_body(body)
        outcome = ProposalResult.CURRENT if same and not moved else ProposalResult.UPDATED
        if is_new:
            outcome = ProposalResult.OPENED
        elif not same:
            fields = {"title": change.title, "body": body}
            self._api.send("PATCH", f"{self._root}/pulls/{number}", fields)
        return PullRequestState(outcome=outcome, number=number, commit=commit)

    def start_checks(self, proposed: PullRequestState, workflow: str, branch: str) -> bool:
        """Return False if it was started on this commit before."""
        root = f"{self._root}/actions/workflows/{quote(workflow, safe='')}"
        asked = {"head_sha": proposed.commit, "event": "workflow_dispatch"}
        if list(self._api.pages(f"{root}/runs", key="workflow_runs", params=asked, most=1)):
            return False
        inputs = {"pull-request": str(proposed.number)}
        self._api.send("POST", f"{root}/dispatches", {"ref": branch, "inputs": inputs})
        return True

    def _on_branch(self, change: FolderChange, base_commit: str) -> tuple[str, bool]:
        head = self.head(change.branch)
        if head is not None and self._is_it(head, change, base_commit):
            return head, False
        commit = self._commit(change, base_commit)
        ref = f"refs/heads/{change.branch}"
        create = ("POST", f"{self._root}/git/refs", {"ref": ref, "sha": commit})
        move = ("PATCH", f"{self._root}/git/{quote(ref)}", {"sha": commit, "force": True})
        first, second = (create, move) if head is None else (move, create)
        try:
            self._api.send(*first)
        except Refused as refused:
            # Another run made or removed the branch in between.
            if refused.status not in _RACED:
                raise
            self._api.send(*second)
        return commit, True

    def _is_it(self, head: str, change: FolderChange, base_commit: str) -> bool:
        answer = self._api.get(f"{self._root}/git/commits/{head}")
        parents = find_at(answer, "parents")
        if parents is None or [find_at(parent, "sha") for parent in parents] != [base_commit]:
            return False
        wanted = {name: _blob_sha(text) for name, text in change.texts.items()}
        return self._list(change.path, head) == wanted

    def _commit(self, change: FolderChange, base_commit: str) -> str:
        before = self._list(change.path, base_commit)
        contents: dict[str, Mapping[str, str | None]] = {
            name: {"sha": None} for name in before if name not in change.texts
        }
        contents |= {
            name: {"content": text}
            for name, text in change.texts.items()
            if before.get(name) != _blob_sha(text)
        }
        entries = [
            {"path": f"{change.path}/{name}", "mode": "100644", "type": "blob", **content}
            for name, content in contents.items()
        ]
        fields = {"base_tree": self._fetch_tree(base_commit), "tree": entries}
        tree = text_at(self._api.send("POST", f"{self._root}/git/trees", fields), "sha")
        commit = {"message": change.title, "tree": tree, "parents": [base_commit]}
        return text_at(self._api.send("POST", f"{self._root}/git/commits", commit), "sha")

    def _open_pull_request(self, change: FolderChange, body: str) -> tuple[dict[str, Any], bool]:
        there = self._find_open(change)
        if there is not None:
            return there, False
        fields = {"title": change.title, "head": change.branch, "base": change.base, "body": body}
        try:
            return self._api.send("POST", f"{self._root}/pulls", fields), True
        except InfrastructureFailure as failure:
            if isinstance(failure, Forbidden) and _REFUSED_BY_SETTING in failure.message:
                msg = failure.message
                raise Forbidden(msg, status=failure.status, hint=_ALLOW_IT) from None
            there = self._find_open(change)  # it may exist all the same
            if there is None:
                raise
            return there, False

    def _find_open(self, change: FolderChange) -> dict[str, Any] | None:
        asked = {
            "state": "open",
            "head": f"{self._repository.partition('/')[0]}:{change.branch}",
            "base": change.base,
        }
        every = self._api.pages(f"{self._root}/pulls", params=asked, most=100)
        own = [pull for pull in every if _is_from(pull, change)]
        return min(own, key=lambda pull: number_at(pull, "number"), default=None)


def _blob_sha(text: str) -> str:
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _is_from(pull: dict[str, Any], change: FolderChange) -> bool:
    """Tell whether a pull request is from the branch: a server may ignore the filter."""
    ends = tuple(find_at(pull, end, "ref") for end in ("head", "base"))
    head_home, base_home = (find_at(pull, end, "repo", "id") for end in ("head", "base"))
    return ends == (change.branch, change.base) and head_home == base_home
