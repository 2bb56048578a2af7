"""The event of a run: what is read of it, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github import event as module
from megtrim.github.event import Event, PullRequest, pull_request_of, read_event
from unit.github.events import BASE, HEAD, MERGE, environment, payload, pull_request

NUMBER, OBJECT = "a positive whole number", "an object"
COMMIT, ADDRESS = "a commit", "https://HOST[/PATH]"
PULL_REQUEST = PullRequest(
    number=17, head_sha=HEAD, base_sha=BASE, base_ref="release/1.0", fork=False
)


def refusal(env: dict[str, str]) -> str:
    with pytest.raises(InputError) as raised:
        read_event(env)
    return raised.value.message


def changed(folder: Path, name: str, way: str, value: Any) -> dict[str, str]:
    """Return the environment of an event where one value is another."""
    content = payload(name)
    at = content
    *parents, last = way.split(".")
    for key in parents:
        at[key] = dict(at[key])
        at = at[key]
    at[last] = value
    return environment(folder, name, content)


def test_pull_request(tmp_path: Path) -> None:
    """Its own head is looked at, not the merge commit that the runner made of it."""
    event = read_event(environment(tmp_path, "pull_request"))

    assert event == Event(
        name="pull_request",
        repository="acme/phone",
        repository_id=11,
        default_branch="main",
        sha=MERGE,
        ref="refs/pull/17/merge",
        run_id=9007,
        run_attempt=2,
        server_url="https://github.com",
        api_url="https://api.github.com",
        pull_request=PULL_REQUEST,
    )
    assert event.head_sha == HEAD
    assert event.run_url == "https://github.com/acme/phone/actions/runs/9007"


def test_the_event_holds_nothing_that_strangers_write(tmp_path: Path) -> None:
    """Neither the title nor the name of the branch gets in."""
    event = read_event(environment(tmp_path, "pull_request"))

    assert "reboot" not in repr(event)
    assert "a`b" not in repr(event)


@pytest.mark.parametrize(
    ("name", "sha"), [("push", HEAD), ("workflow_dispatch", HEAD), ("schedule", HEAD)]
)
def test_events_without_a_pull_request(tmp_path: Path, name: str, sha: str) -> None:
    """They look at the run's commit; a schedule's file names no repository."""
    event = read_event(environment(tmp_path, name))

    assert event.pull_request is None
    assert event.head_sha == sha
    assert event.default_branch == "main"
    assert event.repository_id == (0 if name == "schedule" else 11)
    assert event.before == (BASE if name == "push" else "")
    assert (event.merge_group_base, event.merge_group_ref) == ("", "")


@pytest.mark.parametrize(
    ("name", "ref", "own"),
    [
        ("push", "refs/heads/main", True),
        ("push", "refs/heads/main2", False),
        ("push", "refs/tags/main", False),
        ("workflow_dispatch", "refs/heads/main", True),
        ("workflow_dispatch", "refs/heads/feature", False),
        ("schedule", "refs/heads/main", True),
        ("pull_request", "refs/heads/main", False),
        ("merge_group", "refs/heads/main", False),
    ],
)
def test_only_the_default_branch_as_it_is(tmp_path: Path, name: str, ref: str, own: bool) -> None:
    """What is only proposed, or anybody may start on a branch, is not what is on it."""
    event = read_event(environment(tmp_path, name) | {"GITHUB_REF": ref})

    assert event.of_default_branch is own


def test_merge_group(tmp_path: Path) -> None:
    """What a merge queue builds on."""
    event = read_event(environment(tmp_path, "merge_group"))

    assert (event.merge_group_base, event.merge_group_ref) == (BASE, "main")
    assert event.head_sha == MERGE
    assert event.before == ""


@pytest.mark.parametrize("before", ["0" * 40, None])
def test_a_new_branch_has_no_commit_before(tmp_path: Path, before: str | None) -> None:
    """Git writes zeros; a file made by hand leaves it out."""
    assert read_event(changed(tmp_path, "push", "before", before)).before == ""


def test_the_repository_may_come_from_the_environment(tmp_path: Path) -> None:
    """Where the event file does not name it; then no one knows the default branch."""
    env = environment(tmp_path, "push", {"ref": "refs/heads/main"})

    event = read_event({**env, "GITHUB_REPOSITORY_ID": "12"})

    assert (event.repository_id, event.default_branch) == (12, "")


@pytest.mark.parametrize(
    ("repository", "fork"),
    [
        ({"id": 11, "full_name": "renamed/phone"}, False),
        ({"id": 12, "full_name": "acme/phone"}, True),
        (None, True),
    ],
    ids=["same", "other-number", "deleted"],
)
def test_fork_is_found_by_the_number_of_the_repository(
    tmp_path: Path, repository: dict[str, Any] | None, fork: bool
) -> None:
    """Names change hands; a fork that was deleted has left no repository at all."""
    content = {**payload("pull_request"), "pull_request": pull_request(head_repository=repository)}

    event = read_event(environment(tmp_path, "pull_request", content))

    assert event.pull_request is not None
    assert event.pull_request.fork is fork


def test_pull_request_target_is_read_the_same(tmp_path: Path) -> None:
    """A fork is a fork there too."""
    env = environment(tmp_path, "pull_request") | {"GITHUB_EVENT_NAME": "pull_request_target"}

    assert read_event(env).pull_request == PULL_REQUEST


def test_absent_variables_have_github_s_values(tmp_path: Path) -> None:
    """Old runners and stand-ins do not set all of them."""
    env = environment(tmp_path, "push")
    for name in ("GITHUB_RUN_ATTEMPT", "GITHUB_SERVER_URL", "GITHUB_API_URL"):
        del env[name]

    event = read_event(env)

    assert event.run_attempt == 1
    assert event.server_url == "https://github.com"
    assert event.api_url == "https://api.github.com"


def test_addresses_lose_their_last_slash(tmp_path: Path) -> None:
    """An enterprise server's own."""
    env = environment(tmp_path, "push")
    env |= {"GITHUB_API_URL": "http://git:8080/api/v3/", "GITHUB_SERVER_URL": "http://git:8080/"}

    event = read_event(env)

    assert event.api_url == "http://git:8080/api/v3"
    assert event.run_url == "http://git:8080/acme/phone/actions/runs/9007"


@pytest.mark.parametrize("variable", ["GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_SHA"])
def test_variables_must_be_set(tmp_path: Path, variable: str) -> None:
    """An empty one is not set."""
    assert refusal(environment(tmp_path, "push") | {variable: ""}) == f"{variable} is not set"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("GITHUB_EVENT_NAME", "Push!", "the name of an event"),
        *(("GITHUB_REPOSITORY", name, "OWNER/NAME") for name in ("acme", "a/b/c", "a/..", "../b")),
        *(("GITHUB_SHA", sha, COMMIT) for sha in ("main", "1" * 41, "A" * 40)),
        ("GITHUB_REF", "a b", "a ref"),
        *(("GITHUB_RUN_ID", number, NUMBER) for number in ("0", "1e3", "-1", "9" * 17)),
        ("GITHUB_RUN_ATTEMPT", "x", NUMBER),
        ("GITHUB_REPOSITORY_ID", "x", NUMBER),
        *(("GITHUB_API_URL", url, ADDRESS) for url in ("ftp://a", "https://u@a", "https://")),
        *(("GITHUB_SERVER_URL", url, ADDRESS) for url in ("https://a b", "https://a?b", "a")),
    ],
)
def test_variables_have_a_shape(tmp_path: Path, variable: str, value: str, expected: str) -> None:
    """Every one that is used."""
    env = environment(tmp_path, "push", {}) | {variable: value}

    assert refusal(env) == f"{variable}: found {value!r}, expected {expected}"


@pytest.mark.parametrize(
    ("name", "way", "value", "found", "expected"),
    [
        ("pull_request", "pull_request", None, "nothing", OBJECT),
        ("pull_request", "pull_request", [], "a list", OBJECT),
        ("pull_request", "pull_request.number", "17", "'17'", NUMBER),
        ("pull_request", "pull_request.number", True, "True", NUMBER),
        ("pull_request", "pull_request.number", 0, "0", NUMBER),
        ("pull_request", "pull_request.number", 17.0, "17.0", NUMBER),
        ("pull_request", "pull_request.number", 2**53 + 1, str(2**53 + 1), NUMBER),
        ("pull_request", "pull_request.head", "x", "'x'", OBJECT),
        ("pull_request", "pull_request.head.sha", "abc", "'abc'", COMMIT),
        ("pull_request", "pull_request.head.sha", {}, "an object", COMMIT),
        ("pull_request", "pull_request.head.repo", 11, "11", OBJECT),
        ("pull_request", "pull_request.head.repo.id", None, "nothing", NUMBER),
        ("pull_request", "pull_request.base.repo", None, "nothing", OBJECT),
        ("pull_request", "pull_request.base.sha", HEAD + "\n", f"'{HEAD}\\n'", COMMIT),
        ("push", "repository", "acme/phone", "'acme/phone'", OBJECT),
        ("push", "repository.id", -1, "-1", NUMBER),
        ("push", "repository.default_branch", 7, "7", "a branch"),
        ("push", "before", "main", "'main'", COMMIT),
        ("merge_group", "merge_group", None, "nothing", OBJECT),
        ("merge_group", "merge_group.base_sha", "", "''", COMMIT),
        ("merge_group", "merge_group.base_ref", "main", "'main'", "refs/heads/BRANCH"),
    ],
)
def test_values_have_a_shape(
    tmp_path: Path, name: str, way: str, value: Any, found: str, expected: str
) -> None:
    """The message leads to the value."""
    message = f"event.{way}: found {found}, expected {expected}"

    assert refusal(changed(tmp_path, name, way, value)) == message


@pytest.mark.parametrize("ref", ["main", "a", "release/1.0", "fix#7", "Übung(2)", "a@b", "x" * 244])
def test_names_of_base_branches_that_git_allows(tmp_path: Path, ref: str) -> None:
    """All of them can be protected and have pull requests."""
    event = read_event(changed(tmp_path, "pull_request", "pull_request.base.ref", ref))

    assert event.pull_request is not None
    assert event.pull_request.base_ref == ref


@pytest.mark.parametrize(
    "ref",
    [
        *("", "-f", "/a", "a/", ".a", "a/.b", "a..b", "a//b", "a.lock", "a.lock/b", "a.", "a@{1}"),
        *("a b", "a\nb", "a~1", "a^", "a:b", "a?", "a*", "a[", "a\\b", "a\x7f", "a\n", "x" * 245),
    ],
)
def test_names_that_git_would_not_take(tmp_path: Path, ref: str) -> None:
    """A name may become an argument or a part of a path."""
    env = changed(tmp_path, "pull_request", "pull_request.base.ref", ref)

    assert refusal(env).startswith("event.pull_request.base.ref: found ")


def test_an_event_file_that_is_not_there(tmp_path: Path) -> None:
    """Or is a folder, or no path at all."""
    env = environment(tmp_path, "push")

    missing = str(tmp_path / "missing\n::error::.json")
    assert refusal(env | {"GITHUB_EVENT_PATH": missing}) == (
        f"GITHUB_EVENT_PATH: {tmp_path}/missing : :error: :.json: cannot be read: "
        "No such file or directory"
    )
    assert refusal(env | {"GITHUB_EVENT_PATH": str(tmp_path)}) == (
        f"GITHUB_EVENT_PATH: {tmp_path}: found a folder, expected an event"
    )
    assert refusal(env | {"GITHUB_EVENT_PATH": "a\x00b"}) == (
        "GITHUB_EVENT_PATH: a b: found no path, expected an event"
    )


def test_an_event_file_that_never_ends(tmp_path: Path) -> None:
    """A pipe or a device could give bytes for ever."""
    env = environment(tmp_path, "push")

    assert refusal(env | {"GITHUB_EVENT_PATH": "/dev/zero"}) == (
        "GITHUB_EVENT_PATH: /dev/zero: found a device, expected an event"
    )


def test_an_event_file_may_be_as_large_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not a byte larger."""
    env = environment(tmp_path, "push")
    size = os.stat(env["GITHUB_EVENT_PATH"]).st_size  # noqa: PTH116

    monkeypatch.setattr(module, "LARGEST_EVENT_BYTES", size)
    assert read_event(env).name == "push"
    monkeypatch.setattr(module, "LARGEST_EVENT_BYTES", size - 1)
    assert refusal(env).endswith(f": found more than {size - 1:,} bytes, expected an event")


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"9" * 5000], ids=repr)
def test_an_event_file_that_is_no_json(tmp_path: Path, data: bytes) -> None:
    """Cut off, nested too deep, or bytes."""
    env = environment(tmp_path, "push")
    Path(env["GITHUB_EVENT_PATH"]).write_bytes(data)

    assert refusal(env) == "GITHUB_EVENT_PATH: found no JSON, expected an event"


def test_an_event_that_is_no_object(tmp_path: Path) -> None:
    """JSON, but not an event."""
    assert refusal(environment(tmp_path, "push", [1])) == (
        "event: found a list, expected an object"
    )


def test_a_pull_request_of_the_api_has_the_same_shape() -> None:
    """Another one is the server's fault, not the caller's."""
    assert pull_request_of(pull_request()) == PULL_REQUEST
    with pytest.raises(InfrastructureFailure) as raised:
        pull_request_of({"number": 17})
    assert raised.value.message == "pull request.head: found nothing, expected an object"
    assert raised.value.hint == "is GITHUB_API_URL right?"


@pytest.mark.parametrize("name", ["acme", "a/b/c", "a/..", "a/.", "../b", "a b/c", "a/b\n"])
def test_a_repository_leads_no_path_astray(tmp_path: Path, name: str) -> None:
    """It is OWNER/NAME, of few characters."""
    env = environment(tmp_path, "push")

    assert read_event({**env, "GITHUB_REPOSITORY": "acme/phone.js_2-x"}).repository == (
        "acme/phone.js_2-x"
    )
    assert refusal({**env, "GITHUB_REPOSITORY": name}).endswith("expected OWNER/NAME")
