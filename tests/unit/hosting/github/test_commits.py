import pytest

from megtrim.hosting.github.api import Api
from megtrim.hosting.github.commits import fetch_commit, fetch_start
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.times.nights.history import MeasuredCommit
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.hosting.github.support import asking


@pytest.fixture
def api(github: GithubDouble, repository: Repository) -> Api:
    return asking(github.url).api


def test_a_commit_with_and_without_a_parent(api: Api, repository: Repository) -> None:
    first = repository.commit({"a": "1"}, branch="main")
    second = repository.commit({"a": "2"}, branch="main")

    assert fetch_commit(api, "acme/phone", second) == MeasuredCommit(
        sha=second, parent=first, committed_at="2027-01-31T12:00:00Z"
    )
    assert fetch_commit(api, "acme/phone", first).parent == ""


def test_a_run_begins_once(api: Api, repository: Repository) -> None:
    run = repository.run(repository.commit({"a": "1"}, branch="main"))
    repository.runs[run]["run_attempt"] = 2

    assert fetch_start(api, "acme/phone", run) == "2027-01-31T12:00:00Z"


@pytest.mark.parametrize("time", ["", "yesterday", "2027-01-31T02:03:04+01:00", None])
def test_an_odd_time_is_a_failure(api: Api, repository: Repository, time: str | None) -> None:
    run = repository.run(repository.commit({"a": "1"}, branch="main"))
    repository.runs[run]["created_at"] = time

    with pytest.raises(InfrastructureFailure, match="created_at"):
        fetch_start(api, "acme/phone", run)


def test_a_commit_that_is_unknown_is_a_failure(api: Api, repository: Repository) -> None:
    with pytest.raises(InfrastructureFailure, match="404"):
        fetch_commit(api, "acme/phone", "f" * 40)
