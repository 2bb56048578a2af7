"""The GitHub double behaves where a client could notice, and can be broken on purpose."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from support.github_double import GithubDouble
from support.github_state import Refused, Repository

ROOT = "/repos/acme/phone"


@pytest.fixture
def github() -> Iterator[GithubDouble]:
    with GithubDouble() as double:
        double.repository("acme/phone").commit({"a": "1"}, branch="main")
        yield double
        double.check()


def ask(
    github: GithubDouble, method: str, path: str, *, token: str = GithubDouble.token, **body: Any
) -> requests.Response:
    return requests.request(
        method,
        f"{github.url}{path}",
        json=body or None,
        headers={"Authorization": f"Bearer {token}"} if token else {},
        timeout=5,
        allow_redirects=False,
    )


@pytest.mark.parametrize(
    ("path", "token", "status"),
    [
        (ROOT, GithubDouble.token, 200),
        (ROOT, "other", 401),
        (ROOT, "", 401),
        ("/repos/acme/nothing", GithubDouble.token, 404),
        (f"{ROOT}/nothing", GithubDouble.token, 404),
        (f"{ROOT}/issues/x/comments", GithubDouble.token, 404),
        ("/", GithubDouble.token, 404),
    ],
)
def test_who_asks_for_what(github: GithubDouble, path: str, token: str, status: int) -> None:
    assert ask(github, "GET", path, token=token).status_code == status


def test_faults_come_in_order_and_end(github: GithubDouble) -> None:
    path = f"{ROOT}/issues/1/comments"
    github.fail("POST", "/comments$", status=429, headers={"Retry-After": "7"}, times=2)
    github.fail("POST", "/comments$", status=502, acts=True)
    github.fail("POST", "/comments$", status=0)

    limited = [ask(github, "POST", path, body="one") for _ in range(2)]
    assert [(each.status_code, each.headers["Retry-After"]) for each in limited] == [(429, "7")] * 2
    assert ask(github, "POST", path, body="two").status_code == 502
    with pytest.raises(requests.ConnectionError):
        ask(github, "POST", path, body="three")
    assert ask(github, "POST", path, body="four").status_code == 201
    assert [each["body"] for each in ask(github, "GET", path).json()] == ["two", "four"]
    assert [call.status for call in github.journal] == [429, 429, 502, 0, 201, 200]
    assert github.calls("POST")[0].body == {"body": "one"}


def test_an_answer_can_be_late(github: GithubDouble) -> None:
    def ask_patiently() -> None:
        with pytest.raises(requests.RequestException):
            ask(github, "GET", f"{ROOT}/pulls").raise_for_status()
            raise requests.ConnectionError  # or it was answered just before the end

    github.fail("GET", "/pulls$", status=200, delay_s=30)
    late = threading.Thread(target=ask_patiently)
    late.start()
    started = time.monotonic()
    while github._faults[0].times:
        time.sleep(0.01)

    assert ask(github, "GET", ROOT).status_code == 200
    github.stop()
    late.join(5)
    assert not late.is_alive()
    assert time.monotonic() - started < 5
    github.start()


@pytest.fixture
def repository() -> Repository:
    repository = Repository("acme/phone")
    base = repository.commit({"a": "1"}, branch="main")
    repository.commit({"a": "2"}, branch="main")
    repository.commit({"b": "1"}, parents=[base], branch="feature")
    return repository


def test_a_branch_without_anything_new_closes_its_pull_request(repository: Repository) -> None:
    number = repository.pull("feature")
    repository.commit({"b": "2"}, branch="feature")
    assert repository.pulls[number]["state"] == "open"

    repository.set_head("feature", repository.heads["main"])

    assert repository.pulls[number]["state"] == "closed"
    with pytest.raises(Refused, match="No commits between main and feature"):
        repository.pull("feature")


def test_a_branch_has_one_open_pull_request_to_a_base(repository: Repository) -> None:
    number = repository.pull("feature")
    with pytest.raises(Refused, match="Validation Failed"):
        repository.pull("feature")

    repository.pulls[number]["state"] = "closed"

    assert repository.pull("feature") == 2


def test_only_a_workflow_with_these_inputs_is_started(github: GithubDouble) -> None:
    github.repository().workflows["check.yml"] = {"pull-request"}
    path = f"{ROOT}/actions/workflows/check.yml/dispatches"

    assert ask(github, "POST", path, ref="main", inputs={"other": "1"}).status_code == 422
    assert ask(github, "POST", path, ref="nothing").status_code == 422
    assert ask(github, "POST", path.replace("check", "other"), ref="main").status_code == 404
    assert ask(github, "POST", path, ref="main", inputs={"pull-request": "1"}).status_code == 204
    (run,) = ask(github, "GET", f"{ROOT}/actions/workflows/check.yml/runs").json()["workflow_runs"]
    assert (run["event"], run["head_branch"]) == ("workflow_dispatch", "main")


def test_branches_move_only_forwards_unless_forced(github: GithubDouble) -> None:
    repository = github.repository()
    first = repository.heads["main"]
    repository.commit({"a": "2"}, branch="main")
    path = f"{ROOT}/git/refs/heads/main"

    assert ask(github, "PATCH", path, sha=first).status_code == 422
    assert ask(github, "PATCH", path, sha="0" * 40, force=True).status_code == 422
    assert ask(github, "PATCH", path, sha=first, force=True).status_code == 200
    assert ask(github, "GET", f"{ROOT}/git/ref/heads/main").json()["object"]["sha"] == first
    assert (
        ask(github, "POST", f"{ROOT}/git/refs", ref="refs/heads/main", sha=first).json()["message"]
        == "Reference already exists"
    )
