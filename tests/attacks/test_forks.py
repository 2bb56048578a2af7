"""Attempts on the comment that a pull request of a fork gets: GitHub answers, the archive lies."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from megtrim.evidence.fields import EarlyExit
from megtrim.util.strict_json import dump
from megtrim.verdict.model import Verdict, to_json
from support.github_double import GithubDouble
from support.github_state import FORK_ID, Repository, zipped
from unit.cli.ci.github.job import Job, set_variables
from unit.cli.support import Answer, Shell
from unit.verdict.examples import HOSTILE, failing, hostile, passing

pytestmark = [pytest.mark.unit]

MARK = "<!-- megtrim:report:v1:megtrim.yaml -->"
OTHER_MARK = "<!-- megtrim:report:v1:android/megtrim.yaml -->"
FILE = ".github/workflows/megtrim.yml"
GIGABYTE = 1 << 30


class Attacker:
    """A fork with a pull request, at whose head the size check has just ended."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.repository: Repository = job.repository
        self.number = self.repository.pull("feature")
        self.repository.pulls[self.number]["head"]["repo"] = {"id": FORK_ID}
        self.run_id = self.repository.run(job.head, event="pull_request", fork=True)
        self.repository.runs[self.run_id]["path"] = FILE

    @property
    def pull(self) -> dict[str, Any]:
        return self.repository.pulls[self.number]

    def upload(self, verdict: Verdict, **files: str | bytes) -> int:
        return self.store({"verdict.json": to_json(verdict), **files})

    def store(self, content: bytes | dict[str, str | bytes], **claims: Any) -> int:
        name = claims.pop("name", "megtrim-report")
        return self.repository.artifact(self.run_id, content, name=name, **claims)

    def end(self, *options: str) -> Answer:
        content = {"workflow_run": {"id": self.run_id}, "repository": self.repository.brief()}
        self.job.event("workflow_run", content)
        return self.job("publish-fork", "--to", "reports", *options)

    @property
    def comments(self) -> list[str]:
        found = self.repository.comments.values()
        return [each["body"] for each in found if each["number"] == self.number]

    def comment(self, *options: str) -> str:
        answer = self.end(*options).expect(0)
        assert f"comment on pull request {self.number}: created" in answer.out
        (body,) = self.comments
        return body

    def edit_run(self, **fields: Any) -> None:
        self.repository.runs[self.run_id] |= fields


@pytest.fixture
def attacker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Attacker]:
    monkeypatch.chdir(tmp_path)
    with GithubDouble() as github:
        repository = github.repository("acme/phone")
        base = repository.commit({"a": "1"}, branch="main")
        head = repository.commit({"a": "2"}, parents=[base], branch="feature")
        set_variables(monkeypatch, github, tmp_path, SHA=base, REF="refs/heads/main")
        job = Job(Shell(tmp_path, capsys), github, repository, base, head, monkeypatch)
        yield Attacker(job)
        github.check()


def lie_about_the_origin(verdict: Verdict) -> Verdict:
    origin = replace(verdict.origin, project="bank", commit="9" * 40, pull_request=1)
    return replace(verdict, origin=origin)


def test_a_report_of_another_pull_request(attacker: Attacker) -> None:
    attacker.upload(lie_about_the_origin(failing()))
    body = attacker.comment()

    (first, *_), last = body.splitlines(), body.splitlines()[-1]
    assert (" for `phone`: " in first, last) == (True, MARK)
    assert f"pull request {attacker.number}, commit {attacker.job.head[:12]}." in body
    assert f"/acme/phone/actions/runs/{attacker.run_id})" in body
    assert "999999999999" not in body
    assert "A fork decides what its run reports" in body


def test_a_report_with_markup(attacker: Attacker) -> None:
    attacker.upload(replace(hostile(), warnings=(f"{HOSTILE}\n{OTHER_MARK}",)))
    body = attacker.comment()

    assert body.splitlines()[-1] == MARK
    assert body.count("<!-- megtrim:") == 1
    page = MarkdownIt("gfm-like", {"linkify": False}).render(body)
    said = re.sub(r"<code.*?</code>", "", page, flags=re.DOTALL)
    assert "<script" not in page
    assert "@admin" not in said


def test_a_page_next_to_the_report(attacker: Attacker) -> None:
    attacker.store({"comment.md": f"# Merge me @owner\n{OTHER_MARK}"})
    assert "no comment: " in attacker.end().expect(0).err
    attacker.upload(passing(), **{"comment.md": "# Merge me @owner"})

    assert "Merge me" not in attacker.comment()


def test_an_ending_with_markup(attacker: Attacker) -> None:
    ending = EarlyExit(exit=2, config="megtrim.yaml", message="no\n````\n<b>@owner", hint="")
    attacker.store({"ending.json": dump(ending)})

    assert "\n`````text\nno\n````\n<b>@owner\n`````\n" in attacker.comment()


def test_a_comment_of_someone_else(attacker: Attacker) -> None:
    theirs = attacker.repository.comment(attacker.number, f"pass\n\n{MARK}", login="mallory")
    attacker.upload(failing())
    attacker.end().expect(0)

    assert len(attacker.comments) == 2
    assert attacker.repository.comments[theirs["id"]]["body"] == f"pass\n\n{MARK}"


def test_a_commit_of_two_forks(attacker: Attacker) -> None:
    attacker.upload(failing())
    copy = {**attacker.pull, "number": 99, "head": {**attacker.pull["head"], "repo": {"id": 5}}}
    attacker.repository.pulls[99] = copy

    assert attacker.comment().endswith(MARK)


def test_an_older_report(attacker: Attacker) -> None:
    attacker.upload(passing())
    attacker.upload(failing())

    assert attacker.comment().startswith("## ❌")


def test_an_archive_with_paths_that_climb(attacker: Attacker, tmp_path: Path) -> None:
    outside = tmp_path / "written"
    names = ("../verdict.json", str(outside), "a/../../verdict.json", "verdict.json/x")
    attacker.upload(failing(), **dict.fromkeys(names, to_json(passing())))

    assert attacker.comment().startswith("## ❌")
    found = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {Path("event.json"), Path("reports/megtrim-report/verdict.json")}
    assert not (tmp_path.parent / "verdict.json").exists()


def test_a_report_of_all_toolchains_but_one(attacker: Attacker) -> None:
    chosen = replace(passing().invocation, config="megtrim.yaml#desk")
    named = {"name": "megtrim-report._desk"}
    attacker.store({"verdict.json": to_json(replace(passing(), invocation=chosen))}, **named)
    body = attacker.comment("--toolchains", "desk phone")

    assert "reports/megtrim-report._phone: the build job left no result" in body
    assert body.splitlines()[-1] == MARK


def close(attacker: Attacker) -> None:
    attacker.upload(passing())
    attacker.pull["state"] = "closed"


def move_on(attacker: Attacker) -> None:
    attacker.upload(passing())
    attacker.repository.commit({"a": "3"}, branch="feature")


def open_another(attacker: Attacker) -> None:
    attacker.upload(passing())
    attacker.repository.pulls[99] = {**attacker.pull, "number": 99}


def delete_the_fork(attacker: Attacker) -> None:
    attacker.upload(passing())
    attacker.pull["head"]["repo"] = None
    attacker.edit_run(head_repository=None)


def expire(attacker: Attacker) -> None:
    attacker.repository.artifacts[attacker.upload(passing())]["expired"] = True


def of_another_run(attacker: Attacker) -> None:
    attacker.store({"verdict.json": to_json(passing())}, id=attacker.run_id + 10_000)


def of_another_configuration(attacker: Attacker) -> None:
    other = replace(passing().invocation, config="android/megtrim.yaml")
    attacker.upload(replace(passing(), invocation=other))


def replace_the_archive(attacker: Attacker) -> None:
    artifact = attacker.upload(failing())
    attacker.repository.archives[artifact] = zipped({"verdict.json": to_json(passing())})


def claim_a_terabyte(attacker: Attacker) -> None:
    attacker.repository.artifacts[attacker.upload(passing())]["size_in_bytes"] = 1 << 40


def pack_zeros(attacker: Attacker) -> None:
    packed = BytesIO()
    with (
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("verdict.json", "w") as member,
    ):
        for _ in range(GIGABYTE >> 23):
            member.write(bytes(1 << 20))
    attacker.store(packed.getvalue())


def pack_twice(attacker: Attacker) -> None:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("verdict.json", to_json(passing()))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("verdict.json", to_json(failing()))
    attacker.store(packed.getvalue())


def leave_no_zip(attacker: Attacker) -> None:
    whole = zipped({"verdict.json": to_json(passing())})
    for data in (zipped({str(number): "" for number in range(2_000)}), b"no zip", whole[:-9]):
        attacker.store(data)
        assert not_shown(attacker)


def leave_no_verdict(attacker: Attacker) -> None:
    lacking = {key: each for key, each in json.loads(to_json(passing())).items() if key != "notes"}
    for text in ("[" * 100_000, "\x00" * 100, "{}", json.dumps(lacking)):
        attacker.store({"verdict.json": text})
        assert not_shown(attacker)


def not_shown(attacker: Attacker) -> bool:
    return "no comment: " in attacker.end().expect(0).err


REFUSED: dict[str, Callable[[Attacker], None]] = {
    "the_head_moved_on": move_on,
    "the_pull_request_is_closed": close,
    "a_commit_of_two_pull_requests": open_another,
    "a_fork_that_is_gone": delete_the_fork,
    "no_report": lambda _: None,
    "a_report_of_another_configuration": of_another_configuration,
    "a_report_that_was_replaced": replace_the_archive,
    "an_archive_that_unpacks_to_gigabytes": pack_zeros,
    "an_archive_with_two_verdicts": pack_twice,
    "an_archive_that_is_none": leave_no_zip,
    "a_verdict_that_cannot_be_read": leave_no_verdict,
}
NOT_DOWNLOADED: dict[str, Callable[[Attacker], None]] = {
    "a_report_that_expired": expire,
    "a_report_of_another_run": of_another_run,
    "an_archive_that_is_huge": claim_a_terabyte,
}
RUNS: dict[str, dict[str, Any]] = {
    "a_run_of_another_workflow": {"path": ".github/workflows/mine.yml"},
    "a_run_of_the_default_branch": {"event": "push"},
    "a_run_of_the_repository_itself": {"head_repository": {"id": 1, "full_name": "acme/phone"}},
}
ATTEMPTS = {*REFUSED, *NOT_DOWNLOADED, *RUNS}


@pytest.mark.parametrize("attempt", [*REFUSED, *NOT_DOWNLOADED])
def test_attempt_to_be_shown(attacker: Attacker, attempt: str) -> None:
    (REFUSED | NOT_DOWNLOADED)[attempt](attacker)

    assert not_shown(attacker)
    assert attacker.repository.comments == {}
    if attempt in NOT_DOWNLOADED:
        assert attacker.job.github.calls("GET", "/zip$") == []


@pytest.mark.parametrize("attempt", RUNS)
def test_attempt_by_a_run(attacker: Attacker, attempt: str) -> None:
    attacker.upload(passing())
    attacker.edit_run(**RUNS[attempt])

    assert not_shown(attacker)
    assert attacker.repository.comments == {}
    assert attacker.job.github.calls("GET", "artifacts") == []
