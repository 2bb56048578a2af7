"""Attempts on nights and histories: what a branch, a tag, a clock or a push may decide."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.libs.history.folder import append_to_folder
from megtrim.libs.util.process import ProcessRunner
from megtrim.times.nights import issue_actions
from support.history_entries import make_row, make_run, make_sizes
from unit.core.cli.support import Answer, Shell
from unit.hosting.cli.github.job import FAST, GOOD, SLOW, Team, open_team
from unit.times.nights.test_regressions import known, measured, night, the_one

pytestmark = [pytest.mark.unit]

UNMERGED = "d" * 40
NOWHERE = "e" * 40
IN_2099 = 26_658
PUSHED = "force_push"
DELETED = "branch_deletion"


@pytest.fixture
def team(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Team]:
    monkeypatch.chdir(tmp_path)
    with open_team(Shell(tmp_path, capsys), monkeypatch) as made:
        made.repository.commit(parents=[f"{1:040x}"], sha=UNMERGED, branch="topic")
        yield made


def start(team: Team, event: str, ref: str, **more: Any) -> None:
    content = {"repository": team.repository.brief(), **more}
    (team.shell.folder / "event.json").write_text(json.dumps(content), encoding="utf-8")
    for name, value in (("EVENT_NAME", event), ("REF", ref), ("SHA", UNMERGED)):
        team.env.setenv(f"GITHUB_{name}", value)


def by_hand(team: Team, ref: str = "refs/heads/topic") -> None:
    start(team, "workflow_dispatch", ref)


def expect_refusal(team: Team, answer: Answer) -> None:
    assert answer.status == 2
    assert "which is not the default branch" in answer.err
    assert [call for call in team.github.journal if call.method != "GET"] == []


def measure(team: Team, *nights: int) -> None:
    runs = [make_run(each) for each in nights]
    append_to_folder(team.shell.folder / "history", runs)


def forge_entry(team: Team, commit: str, at: int = 2, **more: Any) -> None:
    run = make_run(at, **more)
    run = replace(run, commit=replace(run.commit, sha=commit))
    append_to_folder(team.shell.folder / "history", [run])


def open_issue(base: str, run: int = 5) -> issue_actions.KnownIssue:
    record = issue_actions.RegressionRecord(
        config="megtrim.yaml", scenario=SLOW.scenario, subjects=(SLOW.subject,), base=base,
        last_good=base, first_bad=UNMERGED, run=run, state=issue_actions.IssueState.REGRESSED,
    )  # fmt: skip
    return issue_actions.KnownIssue(number=7, is_open=True, record=record)


def push(team: Team, what: str = "push") -> Answer:
    processes = ProcessRunner({"PATH": "/usr/bin:/bin"})
    folder = team.shell.folder
    bare = folder / "remotes/acme/phone.git"
    if not bare.exists():
        processes.capture("git", "init", "--quiet", "--bare", str(bare))
        processes.capture("git", "init", "--quiet", str(folder / "kit"))
        settings = f'[url "file://{folder}/remotes/"]\n\tinsteadOf = https://github.com/\n'
        (folder / ".gitconfig").write_text(settings, encoding="utf-8")
        team.env.setenv("HOME", str(folder))
        team.env.delenv("XDG_CONFIG_HOME", raising=False)
    (folder / "report/runs").mkdir(parents=True, exist_ok=True)
    made = Path("made")
    (name,) = append_to_folder(made, [make_run(1)])
    (folder / "report/runs/night.json").write_bytes((made / name).read_bytes())
    return team.shell(
        "ci", "github", "history", what, "report", "--repository", str(folder / "kit")
    )


def store_sizes(team: Team, committed_at: str = "2026-11-03T02:00:00Z") -> None:
    origin = Origin(config="megtrim.yaml", commit=UNMERGED, committed_at=committed_at)
    text = dump_sizes(Baseline(sizes={("app", "reduced"): 100}, origin=origin))
    (team.shell.folder / "report").mkdir(exist_ok=True)
    (team.shell.folder / "report/sizes.json").write_text(text, encoding="utf-8")


def test_a_night_of_a_branch_closes_the_issue(team: Team) -> None:
    team(SLOW)
    team.github.journal.clear()
    by_hand(team)

    expect_refusal(team, team(FAST, run=78))
    assert team.states() == ["open"]


def test_a_night_of_a_branch_opens_an_issue(team: Team) -> None:
    by_hand(team)

    expect_refusal(team, team(SLOW))
    assert team.publish("--dry-run").status == 0


def start_pull(team: Team) -> None:
    ends = {"head": {"sha": UNMERGED, "ref": "topic"}, "base": {"sha": GOOD, "ref": "main"}}
    brief = team.repository.brief()
    pull = {"number": 7, **{name: {**end, "repo": brief} for name, end in ends.items()}}
    start(team, "pull_request_target", "refs/heads/main", pull_request=pull)


def name_no_repository(team: Team) -> None:
    by_hand(team, "refs/heads/")
    (team.shell.folder / "event.json").write_text("{}", encoding="utf-8")


FOREIGN: dict[str, Callable[[Team], None]] = {
    "a_night_of_a_branch_joins_the_history": by_hand,
    "a_night_of_a_tag_that_is_called_like_the_branch": lambda team: by_hand(team, "refs/tags/main"),
    "a_night_of_a_pull_request": start_pull,
    "an_event_that_names_no_repository": name_no_repository,
}


@pytest.mark.parametrize("attempt", FOREIGN)
def test_attempt_by_an_event(team: Team, attempt: str) -> None:
    FOREIGN[attempt](team)

    expect_refusal(team, push(team))
    expect_refusal(team, team(SLOW))


def test_sizes_of_a_branch_join_the_history(team: Team) -> None:
    store_sizes(team)
    start(team, "push", "refs/heads/topic", before=GOOD)

    expect_refusal(team, push(team, "push-sizes"))


FORGED: dict[str, tuple[tuple[int, ...], str, int]] = {
    "a_base_that_was_never_merged": ((0, 1), UNMERGED, 2),
    "a_base_of_no_commit_of_the_repository": ((0,), NOWHERE, 2),
    "an_entry_of_the_year_2099": ((0,), f"{1:040x}", IN_2099),
}


ATTEMPTS = {*FOREIGN, *FORGED}


@pytest.mark.parametrize("attempt", FORGED)
def test_attempt_by_an_entry(team: Team, attempt: str) -> None:
    nights, commit, at = FORGED[attempt]
    measure(team, *nights)
    forge_entry(team, commit, at=at)

    assert team.base() == f"{nights[-1]:040x}"


def test_a_hundred_bases_that_were_never_merged(team: Team) -> None:
    measure(team, 0)
    for number in range(100):
        forge_entry(team, f"{number + 10**6:040x}", at=number + 1)

    assert team.base() == ""
    assert len([call for call in team.github.journal if "/compare/" in str(call)]) <= 10


def test_a_base_that_a_force_push_dropped(team: Team) -> None:
    measure(team, 0, 1, 2)
    team.repository.set_head("main", team.repository.commit(parents=[f"{1:040x}"]))
    team.env.setenv("GITHUB_SHA", team.repository.heads["main"])

    assert team.base() == f"{1:040x}"


def test_an_issue_whose_base_was_never_merged(team: Team) -> None:
    measure(team, 0, 1)
    team.write(SLOW, run=77)
    team.shell("ci", "github", "regression-issues", "report", "--base", UNMERGED)

    assert team.states() == ["open"]
    assert team.base() == f"{1:040x}"


def test_a_stranger_counts_for_the_base(team: Team) -> None:
    hidden = team.count(5000)
    team.keep(hidden, event="pull_request", fork=True)
    team.keep(hidden, event="schedule", branch="topic")
    team.keep(hidden, event="schedule", sha=UNMERGED)
    team.count(5000)

    assert "no baseline" in team.compare()


def test_a_branch_is_its_own_base(team: Team) -> None:
    measure(team, 0, 1)
    forge_entry(team, UNMERGED)
    by_hand(team)

    assert team.base() == f"{1:040x}"


def test_a_tag_is_called_like_the_default_branch(team: Team) -> None:
    measure(team, 0)
    forge_entry(team, UNMERGED)
    team.repository.tags["main"] = {"type": "commit", "sha": UNMERGED}
    by_hand(team)

    assert team.base() == f"{0:040x}"
    asked = [str(call) for call in team.github.journal if "/compare/" in str(call)]
    assert not any(call.endswith("main") for call in asked)


def test_an_entry_of_2099_takes_the_turn_of_a_week(team: Team) -> None:
    history = team.shell.folder / "history"
    append_to_folder(history, [*measured(28), make_run(IN_2099, [make_row()], device="another")])
    for number in range(3, 30):
        team.repository.commit(sha=f"{number:040x}", branch="main")
    team.env.setenv("GITHUB_SHA", team.repository.commit(branch="main"))

    assert team.base() == f"{14:040x}"


def test_a_commit_of_2099_freezes_the_trend_of_sizes(team: Team) -> None:
    future = replace(make_sizes(3, 100), committed_at="2099-01-01T00:00:00Z")
    sizes = [make_sizes(1, 100), make_sizes(2, 9000), future]
    append_to_folder(team.shell.folder / "perf-history", sizes)

    answer = team.shell("size", "history")
    assert "2 commits since 2026-11-01: +8.7 KiB" in answer.out
    assert "found a time in the future" in answer.err


def test_a_commit_of_2099_joins_the_history(team: Team) -> None:
    team.env.setenv("GITHUB_SHA", UNMERGED)
    store_sizes(team, committed_at="2099-01-01T00:00:00Z")

    answer = push(team, "push-sizes")
    assert (answer.status, answer.out) == (0, "")
    assert "left out: sizes.json: the commit says that it was made on 2099-01-01" in answer.err


def test_the_sizes_of_a_commit_are_measured_again(team: Team) -> None:
    forged = make_sizes(2, 100, run=2**53)
    sizes = [make_sizes(1, 100), make_sizes(2, 9000, run=7), forged]
    append_to_folder(team.shell.folder / "perf-history", sizes)

    assert "+8.7 KiB" in team.shell("size", "history").out


def test_a_run_number_of_2_to_the_53(team: Team) -> None:
    first = known(the_one(night(SLOW, run=2**53)))

    (action,) = issue_actions.plan_actions(night(FAST, run=9), (first,))
    assert action.record.state is issue_actions.IssueState.FIXED


def test_run_numbers_begin_again(team: Team) -> None:
    assert team(SLOW, run=9_000_000).status == 0

    assert team(FAST, run=3).out == "issue 1: closed: repaired\n"


def test_a_regression_is_too_long_for_an_issue(team: Team) -> None:
    rows = [replace(SLOW, experiment=f"e{number}" + "\u00e9" * 200) for number in range(300)]

    assert team(*rows).status == 0
    (issue,) = team.repository.issues.values()
    assert len(issue["body"]) <= 60_000
    team.repository.issues[1]["state"] = "closed"
    assert team(*rows, run=78).out == "no issue to open, update or close\n"


def test_an_old_night_is_repeated(team: Team) -> None:
    team(SLOW, run=90)
    team.env.setenv("GITHUB_RUN_ATTEMPT", "2")

    assert team(FAST, run=80).out == "no issue to open, update or close\n"


def test_a_base_that_cannot_be_built(team: Team) -> None:
    runs = [make_run(number, job=str(number)) for number in range(5, 25)]
    issue = open_issue(GOOD, run=5)
    chosen = [
        issue_actions.list_bases([issue], runs[: 1 + later], config="megtrim.yaml", head=NOWHERE)[0]
        for later in range(20)
    ]

    assert chosen[:4] == [GOOD] * 4
    assert {each == GOOD for each in chosen[4:]} == {True, False}
    assert not any(one == two == GOOD for one, two in pairwise(chosen[4:]))


@pytest.mark.parametrize(
    ("kind", "login"),
    [(PUSHED, "eve"), (DELETED, "eve"), (PUSHED, "x\n::error::all is well"), (PUSHED, None)],
)
def test_the_history_is_rewritten(team: Team, kind: str, login: str | None) -> None:
    moment = {"ref": "refs/heads/perf-history", "timestamp": "2027-01-02T03:04:05Z"}
    actor = login and {"login": login}
    team.repository.activity.append(moment | {"activity_type": kind, "actor": actor})
    answer = push(team)

    assert answer.status == 0, answer.err
    lines = [each for each in answer.out.splitlines() if each.startswith("::")]
    assert len(lines) == 1
    assert lines[0].startswith("::warning title=The history perf-history was rewritten::2027-01-02")


def test_a_server_keeps_no_record_of_pushes(team: Team) -> None:
    team.github.fail("GET", r"/activity", status=404)
    team.github.fail("GET", r"/activity", status=404)

    assert push(team).status == 0
