"""The event that a workflow runs for, read from a runner's environment and event file.

Part of the github room. Only what is needed is read, and each value must match an exact pattern.
Titles, descriptions and branch names of a pull request are untrusted and not read at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from megtrim.commit_digest import COMMIT_DIGEST
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github.log_text import one_line
from megtrim.input_files import read_bytes

LARGEST_EVENT_BYTES = 32 * 1024 * 1024
"""GitHub's own payloads end at 25 MB."""
MOST_NUMBER = 2**53
_DEFAULT_API = "https://api.github.com"
_REPOSITORY = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}")
# What git allows in the name of a branch; callers must quote it in a URL.
_BRANCH = (
    r"(?![-/.])(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|@\{))[^\x00-\x20\x7f~^:?*\[\\]{1,244}(?<![/.])"
)
_REF = re.compile(_BRANCH)
_HEAD_REF = re.compile(f"refs/heads/{_BRANCH}")
_NAME = re.compile(r"[a-z_]{1,64}")
_HINT = "event files are written by the runner; outside of GitHub, write one yourself"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """The pull request of an event. ``fork``: its head is in another or a deleted repository."""

    number: int
    head_sha: str
    base_sha: str
    base_ref: str
    fork: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What this run was started for.

    ``sha`` is the runner's: for a pull request, GitHub's merge commit; ``head_sha`` is the commit
    that is checked. ``default_branch`` is empty and ``repository_id`` 0 if the event does not
    have them. ``before`` is the commit that a push replaced, ``merge_group_base`` and
    ``merge_group_ref`` are the commit and branch that a merge queue builds on; else empty.
    """

    name: str
    repository: str
    repository_id: int
    default_branch: str
    sha: str
    ref: str
    run_id: int
    run_attempt: int
    server_url: str
    api_url: str
    pull_request: PullRequest | None
    before: str = ""
    merge_group_base: str = ""
    merge_group_ref: str = ""

    @property
    def head_sha(self) -> str:
        """The commit that is checked."""
        return self.pull_request.head_sha if self.pull_request else self.sha

    @property
    def of_default_branch(self) -> bool:
        """Whether it is about the default branch itself, not about a proposed change."""
        if self.name == "schedule":
            return True
        own = self.default_branch and f"refs/heads/{self.default_branch}"
        return self.name in ("push", "workflow_dispatch") and self.ref == own

    @property
    def run_url(self) -> str:
        """The page of this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


def read_event(env: Mapping[str, str]) -> Event:
    """Read the event from a runner's variables and the file that GITHUB_EVENT_PATH names.

    Raises InputError, which names the variable or value that is missing or invalid.
    """
    name = _variable(env, "GITHUB_EVENT_NAME", _NAME, "the name of an event")
    document = _Node(_document(Path(_text(env, "GITHUB_EVENT_PATH"))), "event")
    pull_request = None
    if name in ("pull_request", "pull_request_target"):
        pull_request = _pull_request(document.node("pull_request"))
    ref = _variable(env, "GITHUB_REF", re.compile(r"[^\x00-\x20\x7f]{1,1024}"), "a ref")
    return Event(
        name=name,
        repository=_variable(env, "GITHUB_REPOSITORY", _REPOSITORY, "OWNER/NAME"),
        repository_id=_repository_id(document, env),
        default_branch=_default_branch(document, name, ref),
        sha=_variable(env, "GITHUB_SHA", COMMIT_DIGEST, "a commit"),
        ref=ref,
        run_id=_number(env, "GITHUB_RUN_ID"),
        run_attempt=_number(env, "GITHUB_RUN_ATTEMPT", absent=1),
        server_url=_url(env, "GITHUB_SERVER_URL", "https://github.com"),
        api_url=_url(env, "GITHUB_API_URL", _DEFAULT_API),
        pull_request=pull_request,
        before=_before(document) if name == "push" else "",
        **(_merge_group(document.node("merge_group")) if name == "merge_group" else {}),
    )


def pull_request_of(answer: Any) -> PullRequest:
    """Read a pull request from the API, which has the same fields as an event's.

    Raises InfrastructureFailure if it is invalid, because that is the server's fault.
    """
    try:
        return _pull_request(_Node(answer, "pull request"))
    except InputError as error:
        hint = "is GITHUB_API_URL right?"
        raise InfrastructureFailure(error.message, hint=hint) from None


class _Node:
    """An object of the event file, and the path to it."""

    def __init__(self, value: Any, way: str) -> None:
        if not isinstance(value, dict):
            raise _make_input_error(way, value, "an object")
        self._value = value
        self._way = way

    def node(self, key: str) -> _Node:
        return _Node(self._value.get(key), self._to(key))

    def has(self, key: str) -> bool:
        return self._value.get(key) is not None

    def match(self, key: str, shape: re.Pattern[str], expected: str) -> str:
        value = self._value.get(key)
        if not isinstance(value, str) or not shape.fullmatch(value):
            raise _make_input_error(self._to(key), value, expected)
        return value

    def number(self, key: str) -> int:
        value = self._value.get(key)
        if type(value) is not int or not 0 < value <= MOST_NUMBER:
            raise _make_input_error(self._to(key), value, "a positive whole number")
        return value

    def _to(self, key: str) -> str:
        return f"{self._way}.{key}"


def _pull_request(node: _Node) -> PullRequest:
    head, base = node.node("head"), node.node("base")
    # The head's repository is null if the fork was deleted after the pull request was opened.
    own = base.node("repo").number("id")
    fork = not head.has("repo") or head.node("repo").number("id") != own
    return PullRequest(
        number=node.number("number"),
        head_sha=head.match("sha", COMMIT_DIGEST, "a commit"),
        base_sha=base.match("sha", COMMIT_DIGEST, "a commit"),
        base_ref=base.match("ref", _REF, "a branch"),
        fork=fork,
    )


def _merge_group(node: _Node) -> dict[str, str]:
    return {
        "merge_group_base": node.match("base_sha", COMMIT_DIGEST, "a commit"),
        "merge_group_ref": node.match("base_ref", _HEAD_REF, "refs/heads/BRANCH").removeprefix(
            "refs/heads/"
        ),
    }


def _before(document: _Node) -> str:
    """Return the commit before a push; a new branch has none, which git shows as zeros."""
    before = document.match("before", COMMIT_DIGEST, "a commit") if document.has("before") else ""
    return before if before.strip("0") else ""


def _repository_id(document: _Node, env: Mapping[str, str]) -> int:
    if document.has("repository"):
        return document.node("repository").number("id")
    return _number(env, "GITHUB_REPOSITORY_ID", absent=0)


def _default_branch(document: _Node, name: str, ref: str) -> str:
    if document.has("repository"):
        return document.node("repository").match("default_branch", _REF, "a branch")
    # A schedule's event has no repository, and always runs on the default branch.
    return ref.removeprefix("refs/heads/") if name == "schedule" else ""


def _document(path: Path) -> Any:
    shown, most = f"GITHUB_EVENT_PATH: {one_line(str(path))}", LARGEST_EVENT_BYTES
    data = read_bytes(path, most_bytes=most, expected="an event", shown=shown, hint=_HINT)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        msg = "GITHUB_EVENT_PATH: found no JSON, expected an event"
        raise InputError(msg, hint=_HINT) from None


def _text(env: Mapping[str, str], name: str) -> str:
    text = env.get(name, "")
    if not text:
        msg = f"{name} is not set"
        raise InputError(msg, hint="this runs in a job of GitHub Actions")
    return text


def _variable(env: Mapping[str, str], name: str, shape: re.Pattern[str], expected: str) -> str:
    text = _text(env, name)
    if not shape.fullmatch(text):
        raise _make_input_error(name, text, expected)
    return text


def _number(env: Mapping[str, str], name: str, *, absent: int | None = None) -> int:
    if absent is not None and not env.get(name):
        return absent
    return int(_variable(env, name, re.compile(r"[1-9][0-9]{0,15}"), "a positive whole number"))


def _url(env: Mapping[str, str], name: str, absent: str) -> str:
    if not env.get(name):
        return absent
    shape = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?")
    return _variable(env, name, shape, "https://HOST[/PATH]").rstrip("/")


def _make_input_error(way: str, value: object, expected: str) -> InputError:
    match value:
        case None:
            found = "nothing"
        case dict() | list():
            found = "an object" if isinstance(value, dict) else "a list"
        case _:
            found = one_line(repr(value), most=80)
    return InputError(f"{way}: found {found}, expected {expected}", hint=_HINT)
