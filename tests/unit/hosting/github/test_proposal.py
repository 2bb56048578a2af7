import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from megtrim.hosting.github.api import Forbidden
from megtrim.hosting.github.proposal import (
    FolderChange,
    ProposalResult,
    PullRequestProposer,
    PullRequestState,
)
from megtrim.libs.util.errors import InfrastructureFailure
from support.github_double import GithubDouble
from support.github_state import Commit, Repository
from unit.hosting.github.support import Asking, asking

FOLDER = "trim/keepset"
PATH = f"{FOLDER}/m/s@c.json"
BRANCH = "megtrim/keepset"
CHANGE = FolderChange(
    path=FOLDER,
    texts={"m/s@c.json": '{"new": 1}\n'},
    base="main",
    branch=BRANCH,
    title=f"Refresh {FOLDER}",
)


def saying(text: str) -> FolderChange:
    return replace(CHANGE, texts={"m/s@c.json": text})


OPENED = ProposalResult.OPENED
UPDATED = ProposalResult.UPDATED
CURRENT = ProposalResult.CURRENT
WRITES = ("POST", "PUT", "PATCH", "DELETE")


@dataclass(slots=True)
class Team:
    github: GithubDouble
    repository: Repository
    base: str
    asking: Asking

    def propose(
        self, change: FolderChange = CHANGE, *, body: str = "The body.\n"
    ) -> PullRequestState:
        return self.proposer.propose(change, self.repository.heads["main"], body)

    def start(self, proposed: PullRequestState) -> bool:
        return self.proposer.start_checks(proposed, "megtrim.yml", BRANCH)

    @property
    def proposer(self) -> PullRequestProposer:
        return PullRequestProposer(self.asking.api, "acme/phone")

    @property
    def proposed(self) -> Commit:
        return self.repository.commits[self.repository.heads[BRANCH]]

    def state(self, outcome: ProposalResult, number: int) -> PullRequestState:
        return PullRequestState(outcome=outcome, number=number, commit=self.proposed.sha)

    def writes(self) -> list[str]:
        return [
            str(call).replace("/repos/acme/phone", "")
            for call in self.github.journal
            if call.method in WRITES
        ]


@pytest.fixture
def team(github: GithubDouble) -> Team:
    repository = github.repository("acme/phone", workflows={"megtrim.yml": {"pull-request"}})
    base = repository.commit({PATH: '{"old": 1}\n', "a.txt": "a"}, branch="main")
    return Team(github, repository, base, asking(github.url))


def test_the_first_proposal_opens_a_pull_request(team: Team) -> None:
    proposed = team.propose()

    assert proposed == team.state(OPENED, 1)
    assert team.proposed.parents == (team.base,)
    assert team.proposed.files == {PATH: b'{"new": 1}\n', "a.txt": b"a"}
    assert team.proposed.message == "Refresh trim/keepset"
    pull = team.repository.pulls[1]
    assert (pull["head"]["ref"], pull["base"]["ref"]) == (BRANCH, "main")
    assert (pull["title"], pull["body"]) == ("Refresh trim/keepset", "The body.\n")


def test_a_new_folder_can_be_proposed(team: Team) -> None:
    change = replace(CHANGE, path="new folder/ä")
    team.propose(change)

    assert team.proposed.files["new folder/ä/m/s@c.json"] == b'{"new": 1}\n'
    assert team.proposer.fetch_texts(change, team.proposed.sha) == CHANGE.texts


def test_files_of_scenarios_that_are_gone_are_removed(team: Team) -> None:
    more = {f"{FOLDER}/m/gone@c.json": "x", f"{FOLDER}/README.md": "ours"}
    same = {f"{FOLDER}/m/same@c.json": "same"}
    team.repository.commit({**more, **same}, branch="main")
    team.github.journal.clear()

    change = replace(CHANGE, texts={**CHANGE.texts, "m/same@c.json": "same", "n/s@c.json": "added"})
    proposed = team.propose(change)

    assert team.proposed.files == {
        PATH: b'{"new": 1}\n',
        f"{FOLDER}/m/same@c.json": b"same",
        f"{FOLDER}/n/s@c.json": b"added",
        f"{FOLDER}/README.md": b"ours",
        "a.txt": b"a",
    }
    assert team.propose(change) == replace(proposed, outcome=CURRENT)


def test_the_same_proposal_again_changes_nothing(team: Team) -> None:
    """GitHub keeps what was edited in a browser with other ends of lines."""
    first = team.propose(body="One.\n\nTwo.\n")
    assert team.propose(body="One.\n\nTwo.\n") == replace(first, outcome=CURRENT)
    team.repository.pulls[1]["body"] = "One.\r\n\r\nTwo."
    team.github.journal.clear()

    assert team.propose(body="One.\n\nTwo.\n") == replace(first, outcome=CURRENT)
    assert team.writes() == []


def test_another_keep_set_replaces_the_commit(team: Team) -> None:
    team.propose()
    team.github.journal.clear()

    proposed = team.propose(saying('{"newer": 1}\n'), body="Another body.")

    assert proposed == team.state(UPDATED, 1)
    assert team.proposed.parents == (team.base,)
    assert team.proposed.files[PATH] == b'{"newer": 1}\n'
    assert {n: p["state"] for n, p in team.repository.pulls.items()} == {1: "open"}
    assert team.repository.pulls[1]["body"] == "Another body."
    assert team.writes() == [
        "POST /git/trees",
        "POST /git/commits",
        "PATCH /git/refs/heads/megtrim/keepset",
        "PATCH /pulls/1",
    ]


@pytest.mark.parametrize(("branch", "text"), [("main", b"b"), (BRANCH, b"a")])
def test_a_base_is_followed_and_a_commit_of_someone_replaced(
    team: Team, branch: str, text: bytes
) -> None:
    team.propose()
    later = team.repository.commit({"a.txt": "b"}, branch=branch)

    assert team.propose().outcome is UPDATED
    assert team.proposed.parents == (later if branch == "main" else team.base,)
    assert team.proposed.files["a.txt"] == text


def test_a_merge_on_the_branch_is_replaced(team: Team) -> None:
    """Its first parent is the base and its keep set the new one: it brings in all the rest, too."""
    companion = team.repository.commit({"a.txt": "mine"}, parents=[team.base])
    team.repository.commit(
        {PATH: CHANGE.texts["m/s@c.json"]}, parents=[team.base, companion], branch=BRANCH
    )

    assert team.propose().outcome is OPENED
    assert team.proposed.parents == (team.base,)


def test_a_branch_that_may_not_be_made_is_no_race(team: Team) -> None:
    team.github.fail("POST", "/git/refs$", status=400, message="a rule of this repository")

    with pytest.raises(InfrastructureFailure, match="a rule of this repository"):
        team.propose()
    assert team.writes()[2:] == ["POST /git/refs"]


def test_a_closed_pull_request_is_not_reopened(team: Team) -> None:
    team.propose()
    team.repository.pulls[1]["state"] = "closed"

    assert team.propose() == team.state(OPENED, 2)


def test_a_branch_without_a_pull_request_gets_one(team: Team) -> None:
    team.github.fail("POST", "/pulls$", status=500)
    with pytest.raises(InfrastructureFailure):
        team.propose()
    head = team.repository.heads[BRANCH]

    assert team.propose() == PullRequestState(outcome=OPENED, number=1, commit=head)


def test_pull_requests_of_others_are_left_alone(team: Team) -> None:
    repository = team.repository
    repository.commit({"x": "1"}, parents=[team.base], branch=BRANCH)
    repository.commit({"x": "2"}, parents=[team.base], branch="other")
    repository.set_head("release", team.base)
    fork = repository.pull(BRANCH)
    repository.pulls[fork]["head"]["repo"] = {"id": 999, "full_name": "acme/copy"}
    others = [fork, repository.pull(BRANCH, base="release"), repository.pull("other")]

    proposed = team.propose()

    assert (proposed.outcome, proposed.number) == (OPENED, 4)
    assert [repository.pulls[number]["body"] for number in others] == ["", "", ""]


def after(team: Team, method: str, path: str, act: Callable[[Any], object]) -> None:
    answer = team.github.dispatch

    def dispatch(request: Any) -> Any:
        response = answer(request)
        if request.method == method and path in request.path:
            act(response)
        return response

    team.github.dispatch = dispatch  # type: ignore[method-assign]


def test_a_pull_request_that_came_in_between_is_taken(team: Team) -> None:
    team.repository.commit({PATH: "x"}, parents=[team.base], branch=BRANCH)
    team.repository.pull(BRANCH)
    hidden = team.repository.pulls.pop(1)
    team.github.fail("POST", "/pulls$", status=422, message="Validation Failed")
    after(team, "POST", "/pulls", lambda _: team.repository.pulls.update({1: hidden}))

    assert team.propose() == team.state(UPDATED, 1)
    assert team.repository.pulls[1]["body"] == "The body.\n"


def test_an_answer_that_got_lost_opens_no_second_one(team: Team) -> None:
    team.github.fail("POST", "/pulls$", status=502, acts=True)

    assert team.propose().number == 1
    assert sorted(team.repository.pulls) == [1]


def test_a_branch_that_came_in_between_is_moved(team: Team) -> None:
    team.repository.commit({"x": "1"}, parents=[team.base], branch=BRANCH)
    team.github.fail("GET", "/git/ref/heads/megtrim", status=404)

    assert team.propose().outcome is OPENED
    assert team.writes()[2:4] == ["POST /git/refs", "PATCH /git/refs/heads/megtrim/keepset"]
    assert team.proposed.files[PATH] == b'{"new": 1}\n'


def test_a_branch_that_went_in_between_is_made(team: Team) -> None:
    team.propose()
    team.repository.pulls[1]["state"] = "closed"
    team.github.fail("PATCH", "/git/refs/", status=422, message="Reference does not exist")
    after(team, "PATCH", "/git/refs/", lambda _: team.repository.heads.pop(BRANCH))

    assert team.propose(saying("x")).outcome is OPENED
    assert team.proposed.files[PATH] == b"x"


def test_two_at_once_leave_one_pull_request(team: Team) -> None:
    results: list[PullRequestState | BaseException] = []

    def run(text: str) -> None:
        other = Team(team.github, team.repository, team.base, asking(team.github.url))
        try:
            results.append(other.propose(saying(text), body=f"Body of {text}."))
        except InfrastructureFailure as failure:
            results.append(failure)

    threads = [threading.Thread(target=run, args=(text,)) for text in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert [p["state"] for p in team.repository.pulls.values()] == ["open"]
    assert [type(result) for result in results] == [PullRequestState, PullRequestState]
    assert team.proposed.parents == (team.base,)
    assert team.proposed.files[PATH] in (b"one", b"two")

    team.propose(body="The last.")
    assert team.proposed.files[PATH] == b'{"new": 1}\n'
    assert [p["body"] for p in team.repository.pulls.values()] == ["The last."]


def test_the_setting_that_forbids_it_is_explained(team: Team) -> None:
    team.repository.may_open_pulls = False

    with pytest.raises(Forbidden) as caught:
        team.propose()

    assert "GitHub Actions is not permitted to create" in caught.value.message
    assert "Settings > Actions > General > Workflow permissions" in caught.value.hint
    assert BRANCH in team.repository.heads
    team.repository.may_open_pulls = True
    assert team.propose().outcome is OPENED


def test_checks_are_started_once_for_a_commit(team: Team) -> None:
    proposed = team.propose()

    assert team.start(proposed)
    assert not team.start(proposed)
    assert team.repository.dispatches == [
        {"workflow": "megtrim.yml", "ref": BRANCH, "inputs": {"pull-request": "1"}}
    ]
    again = team.propose(saying("x"))
    assert team.start(again)
    assert len(team.repository.dispatches) == 2


def test_runs_of_other_workflows_are_no_checks(team: Team) -> None:
    proposed = team.propose()
    team.repository.run(proposed.commit, event="workflow_dispatch", branch=BRANCH)
    team.repository.run(proposed.commit, event="push", branch=BRANCH)

    assert team.start(proposed)


def test_files_are_read_at_a_commit(team: Team) -> None:
    large = '{"regions": "' + "x" * 1_100_000 + '"}\n'
    same = {f"{FOLDER}/n/s@c.json": CHANGE.texts["m/s@c.json"]}
    later = team.repository.commit({PATH: large, **same}, branch="main")

    assert team.proposer.fetch_texts(CHANGE, team.base) == {"m/s@c.json": '{"old": 1}\n'}
    assert team.proposer.fetch_texts(CHANGE, later) == {
        "m/s@c.json": large,
        "n/s@c.json": CHANGE.texts["m/s@c.json"],
    }
    assert len(team.github.calls("GET", "/git/blobs/")) == 2


def test_what_is_no_folder_of_texts_has_none(team: Team) -> None:
    later = team.repository.commit({PATH: b"\xff\xfe"}, branch="main")

    assert team.proposer.fetch_texts(replace(CHANGE, path="nothing"), later) == {}
    assert team.proposer.fetch_texts(replace(CHANGE, path="a.txt"), later) == {}
    assert team.proposer.fetch_texts(CHANGE, later) is None


def test_a_tree_that_was_cut_off_is_a_failure(team: Team) -> None:
    def cut(response: Any) -> None:
        whole = response.get_data(as_text=True)
        response.set_data(whole.replace('"truncated": false', '"truncated": true'))

    after(team, "GET", "/git/trees/", cut)

    with pytest.raises(InfrastructureFailure, match="not the whole tree"):
        team.propose()


def test_heads_of_branches(team: Team) -> None:
    team.repository.set_head("a/ü#1%", team.base)

    assert team.proposer.head("a/ü#1%") == team.base
    assert team.proposer.head("nothing") is None
