"""Attempts on the comment that a pull request of a fork gets: GitHub answers, the archive lies."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.libs.util.strict_json import dump
from support.github_state import FORK_ID, Repository, zipped
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import HOSTILE, failing, hostile, passing
from unit.hosting.cli.github.job import Job, open_job

pytestmark = [pytest.mark.unit]

MARK = "<!-- megtrim:report:v1:megtrim.yaml -->"
OTHER_MARK = "<!-- megtrim:report:v1:android/megtrim.yaml -->"


class Attacker:
    """A fork with a pull request, at whose head the size check has just ended."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.repository: Repository = job.repository
        self.number = self.repository.pull("feature")
        self.pull = self.repository.pulls[self.number]
        self.pull["head"]["repo"] = {"id": FORK_ID}
        self.run_id = self.repository.run(job.head, event="pull_request", fork=True)
        self.run = self.repository.runs[self.run_id]
        self.run["path"] = ".github/workflows/megtrim.yml@main"  # the documented form

    def upload(self, verdict: Verdict, **files: str | bytes) -> int:
        return self.store({"verdict.json": to_json(verdict), **files})

    def store(self, content: bytes | dict[str, str | bytes], **claims: Any) -> int:
        name = claims.pop("name", "megtrim-report")
        return self.repository.artifact(self.run_id, content, name=name, **claims)

    def end(self, *options: str) -> Answer:
        content = {"workflow_run": {"id": self.run_id}, "repository": self.repository.brief()}
        variables = {"SHA": self.job.base, "REF": "refs/heads/main"}
        self.job.event("workflow_run", content, **variables)
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

    def is_refused(self) -> bool:
        return "no comment: " in self.end().expect(0).err and not self.comments


@pytest.fixture
def attacker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Attacker]:
    monkeypatch.chdir(tmp_path)
    with open_job(Shell(tmp_path, capsys), monkeypatch) as job:
        yield Attacker(job)


def test_a_report_of_another_pull_request(attacker: Attacker) -> None:
    verdict = failing()
    lies = replace(verdict.origin, project="bank", commit="9" * 40, pull_request=1)
    attacker.upload(replace(verdict, origin=lies))
    body = attacker.comment()

    _, _, about, *_ = body.splitlines()
    last = body.splitlines()[-1]
    assert (" for `phone` " in about, last) == (True, MARK)
    assert f"pull request {attacker.number}, commit <code>{attacker.job.head[:12]}</code>." in body
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
    assert attacker.is_refused()
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


def pack(*texts: str | bytes) -> bytes:
    """Return an archive with as many verdicts."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for text in texts:
            archive.writestr("verdict.json", text)
    return packed.getvalue()


def replace_the_archive(attacker: Attacker, artifact: int) -> None:
    attacker.repository.archives[artifact] = pack(to_json(failing()))


REFUSED: dict[str, Callable[[Attacker, int], object]] = {
    "the_head_moved_on": lambda fork, _: fork.repository.commit({"a": "3"}, branch="feature"),
    "the_pull_request_is_closed": lambda fork, _: fork.pull.update(state="closed"),
    "a_commit_of_two_pull_requests": lambda fork, _: fork.repository.pulls.update(
        {99: {**fork.pull, "number": 99}}
    ),
    "a_fork_that_is_gone": lambda fork, _: (
        fork.pull["head"].update(repo=None),
        fork.run.update(head_repository=None),
    ),
    "no_report": lambda fork, _: fork.repository.artifacts.clear(),
    "a_report_that_was_replaced": replace_the_archive,
}
STORED: dict[str, dict[str, Any]] = {
    "a_report_that_expired": {"expired": True},
    "an_archive_that_is_huge": {"size_in_bytes": 1 << 40},
}
RUNS: dict[str, dict[str, Any]] = {
    "a_run_of_another_workflow": {"path": ".github/workflows/mine.yml"},
    "a_run_of_the_default_branch": {"event": "push"},
    "a_run_of_the_repository_itself": {"head_repository": {"id": 1, "full_name": "acme/phone"}},
}
LACKING = {key: value for key, value in json.loads(to_json(passing())).items() if key != "notes"}
OTHER = replace(passing().invocation, config="android/megtrim.yaml")
ARCHIVES: dict[str, Sequence[bytes]] = {
    "a_report_of_another_configuration": (pack(to_json(replace(passing(), invocation=OTHER))),),
    "an_archive_that_unpacks_to_gigabytes": (pack(bytes(1 << 27)),),
    "an_archive_that_is_none": (
        zipped(dict.fromkeys(map(str, range(2_000)), "")),
        b"no zip",
        pack(to_json(passing()))[:-9],
    ),
    "a_verdict_that_cannot_be_read": [
        pack(text) for text in ("[" * 100_000, "\x00" * 100, "{}", json.dumps(LACKING))
    ],
}
ATTEMPTS = {*REFUSED, *STORED, *RUNS, *ARCHIVES}


@pytest.mark.parametrize("attempt", REFUSED)
def test_attempt_to_be_shown(attacker: Attacker, attempt: str) -> None:
    REFUSED[attempt](attacker, attacker.upload(passing()))

    assert attacker.is_refused()
    assert attacker.repository.comments == {}


@pytest.mark.parametrize("attempt", [*STORED, *RUNS])
def test_attempt_to_be_downloaded(attacker: Attacker, attempt: str) -> None:
    stored = attacker.repository.artifacts[attacker.upload(passing())]
    stored |= STORED.get(attempt, {})
    attacker.run |= RUNS.get(attempt, {})

    assert attacker.is_refused()
    listed = attacker.job.github.calls("GET", "artifacts")
    assert attacker.job.github.calls("GET", "/zip$") == []
    assert (attempt in STORED) == bool(listed)


@pytest.mark.parametrize("attempt", ARCHIVES)
def test_attempt_by_an_archive(attacker: Attacker, attempt: str) -> None:
    for data in ARCHIVES[attempt]:
        attacker.store(data)
        assert attacker.is_refused()


def test_a_report_of_another_run(attacker: Attacker) -> None:
    stored = attacker.repository.artifacts[attacker.upload(passing())]
    stored["workflow_run"]["id"] += 10_000

    assert attacker.is_refused()
    assert attacker.job.github.calls("GET", "/zip$") == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_archive_with_two_verdicts(attacker: Attacker) -> None:
    attacker.store(pack(to_json(passing()), to_json(failing())))

    assert attacker.is_refused()
