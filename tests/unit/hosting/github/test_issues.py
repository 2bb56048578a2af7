from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_httpserver import HTTPServer

from megtrim.hosting.github.issues import (
    CommentResult,
    IssueTracker,
    TrackedIssue,
    key_of,
    marker,
    upsert,
)
from megtrim.libs.util.errors import InfrastructureFailure
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.hosting.github.support import asking

MARK = "<!-- megtrim:report:v1:megtrim.yaml -->"
CUT = "_The rest does not fit a comment; the job summary holds all of it._"
ISSUES = "/repos/acme/phone/issues"
END = f"\n\n{MARK}"


def publish(
    github: GithubDouble, body: str, *, key: str = "megtrim.yaml", number: int = 17
) -> CommentResult:
    return upsert(asking(github.url).api, "acme/phone", number, key, body)


def texts(repository: Repository, number: int = 17) -> list[str]:
    return [each["body"] for each in repository.comments.values() if each["number"] == number]


HOSTILE = f"@acme/all #1 <b>x</b> ```\n{marker('other')}\n\tü 😀 $x$ | \\ <!-- open\n\u2028end"
CREATED = CommentResult.CREATED
UPDATED = CommentResult.UPDATED
UNCHANGED = CommentResult.UNCHANGED
METHODS = {CREATED: ["POST"], UPDATED: ["PATCH"], UNCHANGED: []}


@pytest.mark.parametrize(
    ("before", "body", "outcome", "after"),
    [
        pytest.param([], "fine\n", CREATED, ["fine" + END], id="first"),
        pytest.param(["first" + END], "second", UPDATED, ["second" + END], id="another text"),
        pytest.param(["a\nb" + END], "a\nb\n\n", UNCHANGED, ["a\nb" + END], id="equal"),
        pytest.param(
            [f"a\r\nb\r\n\r\n{MARK}\r\n"],
            "a\nb",
            UNCHANGED,
            [f"a\r\nb\r\n\r\n{MARK}\r\n"],
            id="line ends of GitHub",
        ),
        pytest.param(["a\nb" + END], "a\n\nb", UPDATED, ["a\n\nb" + END], id="a line more"),
        pytest.param(["2" + END, "3" + END, "4" + END], "5", UPDATED, ["5" + END], id="doubles"),
        pytest.param(["x" + END, "x" + END], "x", UNCHANGED, ["x" + END], id="equal doubles"),
        *(
            pytest.param([text], "ours", CREATED, [text, "ours" + END], id=name)
            for name, text in {
                "quoted": f"> {MARK}",
                "above": f"{MARK}\n\nquoted above",
                "version": MARK.replace("v1", "v2"),
                "code": f"`{MARK}`",
                "empty": "",
                "none": None,
            }.items()
        ),
        pytest.param([f"{MARK} "], "ours", UPDATED, ["ours" + END], id="space"),
        pytest.param([], HOSTILE, CREATED, [HOSTILE + END], id="sent as it is"),
        pytest.param([], "a\r\nb", CREATED, ["a\nb" + END], id="line ends of Windows"),
        pytest.param([], "a\ud800b\0c", CREATED, ["a?b\ufffdc" + END], id="no characters"),
        pytest.param(
            ["a?b\ufffdc" + END],
            "a\ud800b\0c",
            UNCHANGED,
            ["a?b\ufffdc" + END],
            id="no characters again",
        ),
    ],
)
def test_one_comment_is_kept(
    github: GithubDouble,
    repository: Repository,
    before: list[str | None],
    body: str,
    outcome: CommentResult,
    after: list[str | None],
) -> None:
    for text in before:
        repository.comment(17, "x")["body"] = text
    oldest = list(repository.comments)[:1]

    assert publish(github, body) is outcome
    assert texts(repository) == after
    assert list(repository.comments)[: len(oldest)] == oldest
    deleted = ["DELETE"] * max(len(before) - len(after), 0)
    assert [call.method for call in github.journal if call.method != "GET"] == [
        *METHODS[outcome],
        *deleted,
    ]


@pytest.mark.parametrize("login", ["someone", "github-actions", "GitHub-Actions[bot]"])
def test_comments_of_others_are_left_alone(
    github: GithubDouble, repository: Repository, login: str
) -> None:
    """Whoever copies the marker gets neither the text nor their comment removed."""
    repository.comment(17, f"mine{END}", login=login)

    assert [publish(github, text) for text in ("ours", "again")] == [CREATED, UPDATED]
    assert texts(repository) == [f"mine{END}", f"again{END}"]


def test_each_configuration_and_pull_request_has_its_own(
    github: GithubDouble, repository: Repository
) -> None:
    publish(github, "one", key="a")
    publish(github, "two", key="b")
    publish(github, "18", number=18)

    assert publish(github, "three", key="a") is UPDATED
    assert texts(repository) == [f"three\n\n{marker('a')}", f"two\n\n{marker('b')}"]
    assert texts(repository, 18) == [f"18{END}"]


def test_it_is_found_on_a_later_page(github: GithubDouble, repository: Repository) -> None:
    for number in range(230):
        repository.comment(17, f"talk {number}", login="someone")
    publish(github, "first")
    for number in range(230):
        repository.comment(17, f"more talk {number}", login="someone")
    github.journal.clear()

    assert publish(github, "second") is UPDATED
    assert [text for text in texts(repository) if MARK in text] == [f"second{END}"]
    assert len(github.calls("GET", "/comments")) == 5


def test_the_oldest_is_found_in_any_order(httpserver: HTTPServer) -> None:
    listed = [
        {"id": number, "user": {"login": "github-actions[bot]"}, "body": f"x{END}"}
        for number in (9, 4, 16)
    ]
    changed = f"{ISSUES}/comments/"
    httpserver.expect_ordered_request(f"{ISSUES}/17/comments", method="GET").respond_with_json(
        listed
    )
    httpserver.expect_ordered_request(f"{changed}4", method="PATCH").respond_with_json({})
    httpserver.expect_ordered_request(f"{changed}9", method="DELETE").respond_with_data("", 204)
    httpserver.expect_ordered_request(f"{changed}16", method="DELETE").respond_with_data("", 204)

    outcome = upsert(asking(httpserver.url_for("")).api, "acme/phone", 17, "megtrim.yaml", "new")

    assert outcome is UPDATED
    assert len(httpserver.log) == 4


def test_two_who_mend_at_once_do_not_stumble(github: GithubDouble, repository: Repository) -> None:
    for _ in range(2):
        repository.comment(17, f"same{END}")
    github.fail("DELETE", "/comments/", status=404, acts=True)

    assert publish(github, "same") is UNCHANGED
    assert len(repository.comments) == 1


def test_a_comment_that_vanishes_is_written_again(
    github: GithubDouble, repository: Repository
) -> None:
    repository.comment(17, f"old{END}")
    github.fail("PATCH", "/comments/", status=404)

    assert publish(github, "new") is CREATED
    assert texts(repository)[-1] == f"new{END}"


def test_comments_of_deleted_accounts_do_no_harm(
    github: GithubDouble, repository: Repository
) -> None:
    repository.comment(17, f"x{END}")["user"] = None
    repository.comment(17, f"y{END}")["user"] = "github-actions[bot]"

    assert publish(github, "ours") is CREATED


def test_the_most_of_a_report_fits(github: GithubDouble, repository: Repository) -> None:
    key = key_of("a" * 200)
    publish(github, "x" * 60_000, key=key)

    assert texts(repository) == ["x" * 60_000 + f"\n\n{marker(key)}"]


@pytest.mark.parametrize("line", ["x" * 99, "😀" * 49], ids=["ascii", "wide"])
def test_a_longer_text_is_cut_at_a_line(
    github: GithubDouble, repository: Repository, line: str
) -> None:
    publish(github, "\n".join([line] * 2000))
    publish(github, "\n".join([line] * 2001))

    (text,) = texts(repository)
    *lines, blank, cut, blank_too, mark = text.split("\n")
    assert set(lines) == {line}
    assert (blank, cut, blank_too, mark) == ("", CUT, "", MARK)
    assert 62_800 < len(text.encode("utf-16-le")) // 2 <= 63_000


def test_one_long_line_is_cut_within(github: GithubDouble, repository: Repository) -> None:
    publish(github, "a" + "😀" * 40_000)

    (text,) = texts(repository)
    shown = text.partition("\n")[0]
    assert shown == "a" + "😀" * (len(shown) - 1)
    assert len(text.encode("utf-16-le")) // 2 in (62_999, 63_000)


@pytest.mark.parametrize("identity", [None, "7", True, 1.5])
def test_a_comment_without_a_number_is_a_failure(
    github: GithubDouble, repository: Repository, identity: Any
) -> None:
    repository.comment(17, f"x{END}")["id"] = identity

    with pytest.raises(InfrastructureFailure, match="the answer holds no id"):
        publish(github, "y")


def test_a_post_that_acted_and_broke_is_found_by_the_next_run(
    github: GithubDouble, repository: Repository
) -> None:
    github.fail("POST", "/comments", status=0, acts=True)

    with pytest.raises(InfrastructureFailure):
        publish(github, "text")
    assert texts(repository) == [f"text{END}"]
    assert publish(github, "text") is UNCHANGED
    assert len(texts(repository)) == 1


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ("megtrim.yaml", "megtrim.yaml"),
        ("apps/camera_2/megtrim-v1.yaml", "apps/camera_2/megtrim-v1.yaml"),
        ("a b\n-->.yaml", "a%20b%0A-%2D%3E.yaml"),
        ("\ud800", "%ED%A0%80"),
        ("x" * 200, "x" * 200),
    ],
)
def test_keys_are_readable(config: str, key: str) -> None:
    assert key_of(config) == key


@given(st.text(), st.text())
def test_keys_tell_paths_apart_and_stay_inside_the_marker(one: str, other: str) -> None:
    key = key_of(one)

    assert len(key) <= 200
    assert "--" not in key
    assert not {">", "<", "\n", " "} & set(key)
    assert (key_of(other) == key) is (one == other)


def test_long_keys_are_digests() -> None:
    assert len(key_of("x" * 201)) == 64
    assert key_of("x" * 201) != key_of("x" * 202)


@pytest.fixture
def tracker(github: GithubDouble, repository: Repository) -> IssueTracker:
    return IssueTracker(asking(github.url).api, "acme/phone", label="slow")


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
