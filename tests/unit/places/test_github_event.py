from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.places import github_event as module
from megtrim.places.github_event import Event, PullRequest, pull_request_of, read_event
from unit.hosting.github.support import BASE, HEAD, MERGE, environment, payload, pull_request

NUMBER = "a positive whole number"
COMMIT = "a commit"
ADDRESS = "https://HOST[/PATH]"
PULL_REQUEST = PullRequest(
    number=17,
    head_sha=HEAD,
    head_repository_id=11,
    base_sha=BASE,
    base_ref="release/1.0",
    base_repository_id=11,
)
EVENT = Event(
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
ON_MAIN = asdict(EVENT) | {"sha": HEAD, "ref": "refs/heads/main", "pull_request": None}


def refusal(env: dict[str, str]) -> str:
    with pytest.raises(InputError) as raised:
        read_event(env)
    return raised.value.message


def changed(folder: Path, name: str, way: str, value: Any) -> dict[str, str]:
    content = payload(name)
    at = content
    *parents, last = way.split(".")
    for key in parents:
        at[key] = dict(at[key])
        at = at[key]
    at[last] = value
    return environment(folder, name, content)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Its own head is looked at, not the merge commit that the runner made of it.
        ("pull_request", EVENT),
        ("push", Event(**ON_MAIN | {"name": "push", "before": BASE})),
        ("workflow_dispatch", Event(**ON_MAIN | {"name": "workflow_dispatch"})),
        # Its file names no repository.
        ("schedule", Event(**ON_MAIN | {"name": "schedule", "repository_id": 0})),
        (
            "merge_group",
            Event(
                **ON_MAIN
                | {
                    "name": "merge_group",
                    "sha": MERGE,
                    "merge_group_base": BASE,
                    "merge_group_ref": "main",
                }
            ),
        ),
    ],
)
def test_what_is_read_of_an_event(tmp_path: Path, name: str, expected: Event) -> None:
    event = read_event(environment(tmp_path, name))

    assert event == expected
    assert event.head_sha == (HEAD if name == "pull_request" else event.sha)
    assert event.run_url == "https://github.com/acme/phone/actions/runs/9007"


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
    assert read_event(environment(tmp_path, name) | {"GITHUB_REF": ref}).of_default_branch is own


@pytest.mark.parametrize("before", ["0" * 40, None])
def test_a_new_branch_has_no_commit_before(tmp_path: Path, before: str | None) -> None:
    assert read_event(changed(tmp_path, "push", "before", before)).before == ""


@pytest.mark.parametrize(
    ("repository", "fork"),
    [
        ({"id": 11, "full_name": "renamed/phone"}, False),
        ({"id": 12, "full_name": "acme/phone"}, True),
        (None, True),
        (11, True),
        ({"id": None}, True),
    ],
)
def test_fork_is_found_by_the_number_of_the_repository(
    tmp_path: Path, repository: Any, fork: bool
) -> None:
    content = {**payload("pull_request"), "pull_request": pull_request(head_repository=repository)}
    env = environment(tmp_path, "pull_request", content)

    for name in ("pull_request", "pull_request_target"):
        event = read_event(env | {"GITHUB_EVENT_NAME": name})
        assert event.pull_request is not None
        assert event.pull_request.fork is fork


def test_variables_and_what_they_replace(tmp_path: Path) -> None:
    env = environment(tmp_path, "push", {"ref": "refs/heads/main"})
    least = {
        name: "" if name in ("GITHUB_RUN_ATTEMPT", "GITHUB_SERVER_URL", "GITHUB_API_URL") else value
        for name, value in env.items()
    }
    own = {
        "GITHUB_API_URL": "http://git:8080/api/v3/",
        "GITHUB_SERVER_URL": "http://git:8080/",
        "GITHUB_REPOSITORY_ID": "12",
        "GITHUB_REPOSITORY": "acme/phone.js_2-x",
    }

    event = read_event(least)
    other = read_event(env | own)

    assert (event.run_attempt, event.repository_id, event.default_branch) == (1, 0, "")
    assert (event.server_url, event.api_url) == ("https://github.com", "https://api.github.com")
    assert (other.repository_id, other.api_url) == (12, "http://git:8080/api/v3")
    assert other.run_url == "http://git:8080/acme/phone.js_2-x/actions/runs/9007"


@pytest.mark.parametrize("variable", ["GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_SHA"])
def test_variables_must_be_set(tmp_path: Path, variable: str) -> None:
    assert refusal(environment(tmp_path, "push") | {variable: ""}) == f"{variable} is not set"


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("GITHUB_EVENT_NAME", "Push!", "the name of an event"),
        *(
            ("GITHUB_REPOSITORY", name, "OWNER/NAME")
            for name in ("acme", "a/b/c", "a/..", "a/.", "../b", "a b/c", "a/b\n")
        ),
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
    env = environment(tmp_path, "push", {}) | {variable: value}

    assert refusal(env) == f"{variable}: found {value!r}, expected {expected}"


@pytest.mark.parametrize(
    ("name", "way", "value", "problem"),
    [
        ("pull_request", "pull_request", None, " is not set, or not an object"),
        ("pull_request", "pull_request", [], ": found [], expected an object"),
        *(
            ("pull_request", "pull_request.number", number, f": found {number}, expected {NUMBER}")
            for number in (True, 0, 17.0, 2**53 + 1)
        ),
        ("pull_request", "pull_request.head.sha", "abc", ": found 'abc', expected a commit"),
        ("pull_request", "pull_request.head.sha", {}, ": found {}, expected a commit"),
        ("pull_request", "pull_request.base.repo.id", None, f": found None, expected {NUMBER}"),
        ("pull_request", "pull_request.base.sha", HEAD + "\n", f": found '{HEAD}\\n', expected"),
        ("push", "repository.id", -1, f": found -1, expected {NUMBER}"),
        ("push", "repository.default_branch", 7, ": found 7, expected a branch"),
        ("push", "before", "main", ": found 'main', expected a commit"),
        ("merge_group", "merge_group", None, " is not set, or not an object"),
        ("merge_group", "merge_group.base_sha", "", ": found '', expected a commit"),
        ("merge_group", "merge_group.base_ref", "main", ": found 'main', expected refs/heads/"),
        ("push", "before", "##[add-path]" * 9, ": found '# #[add-path]# #["),
    ],
)
def test_values_have_a_shape(tmp_path: Path, name: str, way: str, value: Any, problem: str) -> None:
    assert refusal(changed(tmp_path, name, way, value)).startswith(f"event.{way}{problem}")


@pytest.mark.parametrize("ref", ["main", "a", "release/1.0", "fix#7", "Übung(2)", "a@b", "x" * 244])
def test_names_of_base_branches_that_git_allows(tmp_path: Path, ref: str) -> None:
    event = read_event(changed(tmp_path, "pull_request", "pull_request.base.ref", ref))

    assert event.pull_request is not None
    assert event.pull_request.base_ref == ref


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "-f",
        "/a",
        "a/",
        ".a",
        "a/.b",
        "a..b",
        "a//b",
        "a.lock",
        "a.lock/b",
        "a.",
        "a@{1}",
        "a b",
        "a\nb",
        "a~1",
        "a^",
        "a:b",
        "a?",
        "a*",
        "a[",
        "a\\b",
        "a\x7f",
        "a\n",
        "x" * 245,
    ],
)
def test_names_that_git_would_not_take(tmp_path: Path, ref: str) -> None:
    """A name may become an argument or a part of a path."""
    env = changed(tmp_path, "pull_request", "pull_request.base.ref", ref)

    assert refusal(env).startswith("event.pull_request.base.ref: found ")


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/missing\n::error::.json", "/missing : :error: :.json: cannot be read: No such file"),
        ("/", "/: found a folder, expected an event"),
        ("a\x00b", "a b: found no path, expected an event"),
        ("/dev/zero", "/dev/zero: found a device, expected an event"),
    ],
)
def test_an_event_file_that_is_no_file(tmp_path: Path, path: str, problem: str) -> None:
    env = environment(tmp_path, "push") | {"GITHUB_EVENT_PATH": path}

    assert refusal(env).startswith(f"GITHUB_EVENT_PATH: {problem}")


def test_an_event_file_may_be_as_large_as_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(tmp_path, "push")
    size = Path(env["GITHUB_EVENT_PATH"]).stat().st_size

    monkeypatch.setattr(module, "LARGEST_EVENT_BYTES", size)
    assert read_event(env).name == "push"
    monkeypatch.setattr(module, "LARGEST_EVENT_BYTES", size - 1)
    assert refusal(env).endswith(f": found more than {size - 1:,} bytes, expected an event")


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b"[" * 100_000, b"\xff\xfe", b"9" * 5000])
def test_an_event_file_that_is_no_json_object(tmp_path: Path, data: bytes) -> None:
    env = environment(tmp_path, "push")
    Path(env["GITHUB_EVENT_PATH"]).write_bytes(data)

    assert refusal(env) == "GITHUB_EVENT_PATH: found no JSON object, expected an event"


@pytest.mark.parametrize("answer", [{"number": 17}, {}, [], None, pull_request(number=0)])
def test_a_pull_request_of_the_api_has_the_same_shape(answer: Any) -> None:
    assert pull_request_of(pull_request()) == PULL_REQUEST
    with pytest.raises(InfrastructureFailure, match=r"^pull request") as raised:
        pull_request_of(answer)
    assert raised.value.hint == "is GITHUB_API_URL right?"
