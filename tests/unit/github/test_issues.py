import pytest

from megtrim.github.issues import IssueTracker, TrackedIssue
from megtrim.util.errors import InfrastructureFailure
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.github.support import asking

ISSUES = "/repos/acme/phone/issues"


@pytest.fixture
def repository(github: GithubDouble) -> Repository:
    return github.repository("acme/phone")


@pytest.fixture
def tracker(github: GithubDouble, repository: Repository) -> IssueTracker:
    return IssueTracker(asking(github.url, token=github.token).api, "acme/phone", label="slow")


def test_an_issue_is_opened_and_found_again(
    tracker: IssueTracker, github: GithubDouble, repository: Repository
) -> None:
    number = tracker.open("It got slower", "Why\n")

    assert list(tracker.list_own()) == [
        TrackedIssue(number=number, is_open=True, title="It got slower", body="Why")
    ]
    assert repository.issues[number]["labels"] == [{"name": "slow"}]
    (call,) = github.calls("GET", "/issues")
    assert call.query["labels"] == "slow"
    assert call.query["state"] == "all"


def test_issues_of_others_are_not_read(tracker: IssueTracker, repository: Repository) -> None:
    repository.issue("copied", labels=["slow"], login="mallory")
    repository.issue("another", labels=["fast"])
    repository.issue("a ghost's", labels=["slow"])["user"] = None
    repository.issue("a pull request", labels=["slow"])["pull_request"] = {}

    assert list(tracker.list_own()) == []


def test_what_is_up_to_date_is_not_written(
    tracker: IssueTracker, github: GithubDouble, repository: Repository
) -> None:
    number = tracker.open("t", "a\nb")
    repository.issues[number]["body"] = "a\r\nb\r\n"
    (issue,) = tracker.list_own()

    assert tracker.update(issue, "t", "a\nb\n", is_open=True) is False
    assert github.calls("PATCH") == []


def test_an_issue_is_closed_with_its_last_text_in_one_step(
    tracker: IssueTracker, github: GithubDouble, repository: Repository
) -> None:
    """An interruption leaves it as it was, or as it is to be."""
    number = tracker.open("t", "slow")
    (issue,) = tracker.list_own()

    assert tracker.update(issue, "t", "repaired", is_open=False) is True
    (call,) = github.calls("PATCH")
    assert call.path == f"{ISSUES}/{number}"
    assert (repository.issues[number]["state"], repository.issues[number]["body"]) == (
        "closed",
        "repaired",
    )
    assert repository.issues[number]["state_reason"] == "completed"


def test_a_person_who_closes_it_meanwhile_is_not_overruled(
    tracker: IssueTracker, repository: Repository
) -> None:
    number = tracker.open("t", "slow")
    (issue,) = tracker.list_own()
    repository.issues[number]["state"] = "closed"

    tracker.update(issue, "t", "slower", is_open=True)

    assert repository.issues[number]["state"] == "closed"


def test_many_pages_are_read(tracker: IssueTracker, repository: Repository) -> None:
    for _ in range(250):
        repository.issue("t", labels=["slow"])

    assert len(list(tracker.list_own())) == 250


def test_an_issue_whose_fate_is_unknown_is_not_opened_twice(
    tracker: IssueTracker, github: GithubDouble
) -> None:
    github.fail("POST", r"/issues$", status=502, acts=True)

    with pytest.raises(InfrastructureFailure):
        tracker.open("t", "b")
    assert len(list(tracker.list_own())) == 1
    assert len(github.calls("POST")) == 1


@pytest.mark.parametrize("change", [{"number": None}, {"number": True}, {"state": "half-open"}])
def test_an_answer_that_is_no_issue_is_a_failure(
    tracker: IssueTracker, repository: Repository, change: dict[str, object]
) -> None:
    tracker.open("t", "b")
    repository.issues[1] |= change

    with pytest.raises(InfrastructureFailure, match=r"the answer (is not an|holds no n)"):
        list(tracker.list_own())
