"""The event that a workflow runs for, read from a runner's environment and event file.

Titles, descriptions and branch names of a pull request are untrusted and not read at all.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AliasChoices, AliasPath, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.strict_json import show_path
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST, one_line

LARGEST_EVENT_BYTES = 32 * 1024 * 1024
"""GitHub's own payloads end at 25 MB."""
MOST_NUMBER = 2**53
# What git allows in the name of a branch; callers must quote it in a URL.
_BRANCH = (
    r"(?![-/.])(?!.*(?:\.\.|//|/\.|\.lock(?:/|$)|@\{))[^\x00-\x20\x7f~^:?*\[\\]{1,244}(?<![/.])"
)
_REPOSITORY = r"(?!\.)[A-Za-z0-9_.-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9_.-]{1,100}"
_URL = r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"
_POSITIVE = "a positive whole number"
_HINT = "event files are written by the runner; outside of GitHub, write one yourself"
_JOB_HINT = "this runs in a job of GitHub Actions"
_PARTS = {
    "pull_request": "pull_request",
    "pull_request_target": "pull_request",
    "push": "before",
    "merge_group": "merge_group",
    "workflow_run": "workflow_run",
}

T = TypeVar("T")


def _like(shape: str, expected: str, make: Callable[[str], object] = str) -> PlainValidator:
    def check(value: object) -> object:
        if isinstance(value, str) and re.fullmatch(shape, value):
            return make(value)
        raise _make_mismatch(expected)

    return PlainValidator(check)


def _number(value: object) -> int:
    if isinstance(value, str) and re.fullmatch("[1-9][0-9]{0,15}", value):  # of the environment
        return int(value)
    if type(value) is int and 0 < value <= MOST_NUMBER:
        return value
    raise _make_mismatch(_POSITIVE)


def _make_mismatch(expected: str) -> PydanticCustomError:
    kind = "mismatch"
    return PydanticCustomError(kind, "{expected}", {"expected": expected})


Commit = Annotated[str, _like(COMMIT_DIGEST.pattern, "a commit")]
_Branch = Annotated[str, _like(_BRANCH, "a branch")]
_Number = Annotated[int, PlainValidator(_number)]
_Url = Annotated[str, _like(_URL, "https://HOST[/PATH]", lambda url: url.rstrip("/"))]


def at(*keys: str) -> Any:
    return Field(validation_alias=AliasPath(*keys))


class PullRequest(Value):
    number: _Number
    head_sha: Annotated[Commit, at("head", "sha")]
    head_repository_id: Annotated[_Number | None, at("head", "repo", "id")] = None
    """None if the fork was deleted after the pull request was opened."""
    base_sha: Annotated[Commit, at("base", "sha")]
    base_ref: Annotated[_Branch, at("base", "ref")]
    base_repository_id: Annotated[_Number, at("base", "repo", "id")]

    @property
    def fork(self) -> bool:
        return self.head_repository_id != self.base_repository_id


class Event(Value):
    """What this run was started for.

    ``sha`` is the runner's: for a pull request, GitHub's merge commit; ``head_sha`` is the commit
    that is checked. ``default_branch`` is empty and ``repository_id`` 0 if the event does not
    have them. ``before`` is the commit that a push replaced, ``merge_group_base`` and
    ``merge_group_ref`` are the commit and branch that a merge queue builds on; else empty.
    ``ended_run`` is the run of another workflow whose end started this one; else 0.
    """

    name: Annotated[str, _like("[a-z_]{1,64}", "the name of an event"), at("GITHUB_EVENT_NAME")]
    repository: Annotated[str, _like(_REPOSITORY, "OWNER/NAME"), at("GITHUB_REPOSITORY")]
    repository_id: Annotated[
        _Number,
        Field(
            validation_alias=AliasChoices(
                AliasPath("event", "repository", "id"), "GITHUB_REPOSITORY_ID"
            )
        ),
    ] = 0
    default_branch: Annotated[_Branch, at("event", "repository", "default_branch")] = ""
    sha: Annotated[Commit, at("GITHUB_SHA")]
    ref: Annotated[str, _like(r"[^\x00-\x20\x7f]{1,1024}", "a ref"), at("GITHUB_REF")]
    run_id: Annotated[_Number, at("GITHUB_RUN_ID")]
    run_attempt: Annotated[_Number, at("GITHUB_RUN_ATTEMPT")] = 1
    server_url: Annotated[_Url, at("GITHUB_SERVER_URL")] = "https://github.com"
    api_url: Annotated[_Url, at("GITHUB_API_URL")] = "https://api.github.com"
    pull_request: Annotated[PullRequest | None, at("event", "pull_request")] = None
    before: Annotated[
        str,
        # A new branch has none, which git shows as zeros.
        _like(COMMIT_DIGEST.pattern, "a commit", lambda sha: sha if sha.strip("0") else ""),
        at("event", "before"),
    ] = ""
    merge_group_base: Annotated[Commit, at("event", "merge_group", "base_sha")] = ""
    merge_group_ref: Annotated[
        str,
        _like(
            f"refs/heads/{_BRANCH}",
            "refs/heads/BRANCH",
            lambda ref: ref.removeprefix("refs/heads/"),
        ),
        at("event", "merge_group", "base_ref"),
    ] = ""
    ended_run: Annotated[_Number, at("event", "workflow_run", "id")] = 0

    @property
    def head_sha(self) -> str:
        return self.pull_request.head_sha if self.pull_request else self.sha

    @property
    def of_default_branch(self) -> bool:
        if self.name == "schedule":
            return True
        own = self.default_branch and f"refs/heads/{self.default_branch}"
        return self.name in ("push", "workflow_dispatch") and self.ref == own

    @property
    def run_url(self) -> str:
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}"


_EVENT: TypeAdapter[Event] = TypeAdapter(Event)
_PULL_REQUEST: TypeAdapter[PullRequest] = TypeAdapter(PullRequest)


def read_event(env: Mapping[str, str]) -> Event:
    """Raises InputError, which names the variable or value that is missing or invalid."""
    variables = {name: value for name, value in env.items() if value}
    if "GITHUB_EVENT_PATH" not in variables:
        msg = "GITHUB_EVENT_PATH is not set"
        raise InputError(msg, hint=_JOB_HINT)
    document = _read_document(Path(variables["GITHUB_EVENT_PATH"]))
    part = _PARTS.get(variables.get("GITHUB_EVENT_NAME", ""), "")
    document = {key: document[key] for key in ("repository", part) if document.get(key) is not None}
    event = _validate(_EVENT, {**variables, "event": document}, "")
    if event.name == "schedule" and not event.default_branch:
        # Its file has no repository, and it always runs on the default branch.
        return replace(event, default_branch=event.ref.removeprefix("refs/heads/"))
    lacking = {
        "pull_request": event.pull_request is None,
        "merge_group": not (event.merge_group_base and event.merge_group_ref),
    }
    if lacking.get(part):
        msg = f"event.{part} is not set, or not an object"
        raise InputError(msg, hint=_HINT)
    return event


def pull_request_of(answer: Any) -> PullRequest:
    """Raises InfrastructureFailure if it is invalid, because that is the server's fault."""
    try:
        return _validate(_PULL_REQUEST, answer, "pull request")
    except InputError as error:
        hint = "is GITHUB_API_URL right?"
        raise InfrastructureFailure(error.message, hint=hint) from None


def _validate(adapter: TypeAdapter[T], value: Any, start: str) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        msg = show_path(detail["loc"], start)
        if detail["type"] == "missing":
            hint = _JOB_HINT if msg.startswith("GITHUB_") else _HINT
            msg += " is not set"
            raise InputError(msg, hint=hint) from None
        found = one_line(repr(detail["input"]), most=80)
        expected = detail["msg"] if detail["type"] == "mismatch" else "an object"
        msg += f": found {found}, expected {expected}"
        raise InputError(msg, hint=_HINT) from None


def _read_document(path: Path) -> Any:
    shown = f"GITHUB_EVENT_PATH: {one_line(str(path))}"
    most = LARGEST_EVENT_BYTES
    data = read_bytes(path, most_bytes=most, expected="an event", shown=shown, hint=_HINT)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        document = None
    if isinstance(document, dict):
        return document
    msg = "GITHUB_EVENT_PATH: found no JSON object, expected an event"
    raise InputError(msg, hint=_HINT)
