from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pytest

from megtrim.core.build_spec import Origin
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.report.comment import Links, render
from megtrim.core.verdict.model import Verdict, to_json
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.core.cli.support import Answer, Shell
from unit.core.verdict.examples import failing, hostile, passing
from unit.hosting.github.support import (
    BASE,
    HEAD,
    MERGE,
    REPOSITORY,
    environment,
    payload,
    pull_request,
)

MARK = "<!-- megtrim:report:v1:megtrim.yaml -->"
LINKS = Links(run="https://github.com/acme/phone/actions/runs/9007", artifact="")
FORK = (
    "no comment: the token of a pull request from a fork may not write one; the job summary has "
    "the same text, which the workflow of forks' comments shows when this run has ended"
)


def shown(
    verdict: Verdict, links: Links = LINKS, *, commit: str = HEAD, config: str = "megtrim.yaml"
) -> str:
    origin = Origin(project="phone", config=config, commit=commit, pull_request=17)
    return render(replace(verdict, origin=verdict.origin.confirm(origin)), links=links)


class Job:
    def __init__(self, shell: Shell, github: GithubDouble, patch: pytest.MonkeyPatch) -> None:
        self.shell = shell
        self.github = github
        self.repository: Repository = github.repository("acme/phone")
        self.repository.pulls[17] = pull_request()
        self.report = shell.folder / "report"
        self.report.mkdir()
        self.summary_file = shell.folder / "summary.md"
        self._patch = patch
        self.event("pull_request")

    def event(self, name: str, content: Any = None) -> None:
        self.env = environment(self.shell.folder, name, content) | {
            "GITHUB_API_URL": self.github.url,
            "GITHUB_STEP_SUMMARY": str(self.summary_file),
            "GITHUB_TOKEN": self.github.token,
        }

    def __call__(self, *arguments: str, verdict: Verdict | None = None) -> Answer:
        if verdict is not None:
            self.leave("verdict.json", to_json(verdict))
        for name, value in self.env.items():
            self._patch.setenv(name, value)
        return self.shell("ci", "github", "publish", "report", *arguments)

    def leave(self, name: str, text: str) -> None:
        (self.report / name).write_text(text, encoding="utf-8")

    @property
    def summary(self) -> str:
        return self.summary_file.read_text(encoding="utf-8")

    @property
    def comments(self) -> list[str]:
        return [each["body"] for each in self.repository.comments.values()]


@pytest.fixture
def job(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    with GithubDouble() as github:
        yield Job(shell, github, monkeypatch)


@pytest.mark.parametrize("verdict", [failing(), hostile()], ids=["failing", "hostile"])
def test_everything_is_shown(job: Job, verdict: Verdict) -> None:
    """The same text in the summary and in the comment, which leads to the run.

    Names and logs are strangers': every line is an annotation of ours or the last one.
    """
    answer = job(verdict=verdict)

    text = shown(verdict)
    assert " for `phone` " in text.splitlines()[2]
    assert f"pull request 17, commit <code>{HEAD[:12]}</code>." in text
    assert "actions/runs/9007" in text
    assert (answer.status, answer.err) == (0, "")
    assert job.summary == text
    assert job.comments == [f"{text.rstrip()}\n\n{MARK}"]
    *annotations, last = answer.out.splitlines()
    assert last == "comment on pull request 17: created"
    assert annotations
    assert all(line.startswith(("::error ", "::warning ")) for line in annotations)


def test_what_was_annotated_is_not_annotated_again(job: Job) -> None:
    job.leave("verdict.json", to_json(failing()))
    first = job().out.splitlines()[:-1]
    assert job("--annotated", "report").out.splitlines()[:-1] == []
    assert job("--annotated", "nowhere").out.splitlines()[:-1] == first


def test_what_is_shown_again_is_not_written_again(job: Job) -> None:
    job(verdict=passing())
    job.github.journal.clear()

    assert job("--pull-request", "3").out == "comment on pull request 17: unchanged\n"
    assert {call.method for call in job.github.journal} == {"GET"}
    assert job(verdict=failing()).out.endswith("comment on pull request 17: updated\n")
    assert len(job.comments) == 1


def test_the_artifact_and_the_configuration_are_named(job: Job) -> None:
    job.leave("verdict.json", to_json(failing()))

    plain = job()
    named = job("--config", "apps/a b/megtrim.yaml", "--artifact", "megtrim-report")

    links = Links(run=LINKS.run, artifact="megtrim-report")
    assert job.comments[1] == (
        f"{shown(failing(), links, config='apps/a b/megtrim.yaml').rstrip()}\n\n"
        "<!-- megtrim:report:v1:apps/a%20b/megtrim.yaml -->"
    )
    assert len(job.comments) == 2
    assert "::error file=megtrim.yaml," in plain.out
    assert "::error file=apps/a b/megtrim.yaml," in named.out
    assert "file=megtrim.yaml" not in named.out


@pytest.mark.parametrize("config", ["/srv/megtrim.yaml", "../x/megtrim.yaml"])
def test_a_configuration_outside_places_nothing(job: Job, config: str) -> None:
    job.leave("verdict.json", to_json(failing()))

    assert "::error file=megtrim.yaml," in job("--config", config).out


def test_an_early_ending_is_shown(job: Job) -> None:
    ending = EarlyExit(exit=2, message="no @compiler\n```\n<b>", hint="install: one")
    job.leave("ending.json", dump(ending))

    answer = job("--config", "trim/megtrim.yaml")

    text = (
        "## ❌ megtrim ended before a verdict for `phone` (`trim/megtrim.yaml`): "
        "no @<!-- -->compiler\n\n"
        "````text\nno @compiler\n```\n<b>\n  install: one\n````\n\n"
        f"megtrim {version('megtrim')}, pull request 17, commit <code>{HEAD[:12]}</code>. "
        "[This run](https://github.com/acme/phone/actions/runs/9007) has its log.\n"
    )
    assert job.summary == text
    assert job.comments[0].startswith(text.rstrip())
    assert answer.out.splitlines()[0] == (
        "::error file=trim/megtrim.yaml,title=megtrim ended before a verdict::"
        "no @compiler ``` <b> install: one"
    )


NO_REPORT = "## ⚠️ megtrim: no report for `phone`"


@pytest.mark.parametrize(
    ("files", "page", "warning"),
    [
        # Whoever joined the evidence wrote why there is no verdict.
        ({"comment.md": "# Why\n"}, "# Why", ""),
        # A job that was killed has left nothing, and someone waits for an answer.
        ({}, f"{NO_REPORT}, so nothing is known\n\nThe build job left no report", ""),
        *(
            ({name: "{", "comment.md": "left"}, "left", f"report/{name}:1: found no JSON here")
            for name in ("verdict.json", "ending.json")
        ),
        # A page of 2 MiB is none of ours.
        (
            {"comment.md": "x" * 2 * 1024 * 1024},
            NO_REPORT,
            "report/comment.md: found more than 1,048,576 bytes",
        ),
    ],
    ids=["page", "nothing", "broken verdict", "broken ending", "large page"],
)
def test_without_a_verdict_it_is_said_what_is_known(
    job: Job, files: dict[str, str], page: str, warning: str
) -> None:
    for name, text in files.items():
        job.leave(name, text)

    answer = job().expect(0)

    assert answer.err.startswith(f"warning: {warning}" if warning else "")
    assert bool(answer.err) is bool(warning)
    assert job.summary.startswith(page)
    assert (f"\n```text\n{warning}" in job.summary) is bool(warning)
    (comment,) = job.comments
    assert comment.startswith(page)
    assert comment.endswith(f"\n\n{MARK}")
    assert "```" not in comment


OVERTAKEN = f"no comment: pull request 17 is at {BASE[:12]}, this run is of {HEAD[:12]}"


@pytest.mark.parametrize(
    ("event", "head", "commit", "reason"),
    [
        ("pull_request", {"id": 12}, HEAD, FORK),
        ("pull_request", None, HEAD, FORK),
        ("workflow_dispatch", {"id": 12}, HEAD, FORK),
        # Its own run reports.
        *((name, REPOSITORY, BASE, OVERTAKEN) for name in ("workflow_dispatch", "pull_request")),
    ],
    ids=["fork", "deleted fork", "fork by hand", "overtaken by hand", "overtaken"],
)
def test_what_may_not_be_commented_on_gets_the_summary(
    job: Job, event: str, head: Any, commit: str, reason: str
) -> None:
    pull = pull_request(head_repository=head)
    job.event(event, {**payload(event), "pull_request": pull})
    job.repository.pulls[17] = {**pull, "head": {**pull["head"], "sha": commit}}
    job("--pull-request", "17", verdict=passing()).expect(0, err=f"{reason}\n")
    assert job.summary.endswith(f"```text\n{reason}\n```\n")
    assert job.comments == []
    assert event != "pull_request" or reason != FORK or job.github.journal == []


@pytest.mark.parametrize("name", ["push", "schedule", "merge_group", "workflow_dispatch"])
def test_other_events_have_the_summary_alone(job: Job, name: str) -> None:
    job.event(name)
    answer = job("--pull-request", "", verdict=passing())

    assert (answer.status, answer.err, job.github.journal) == (0, "", [])
    assert job.summary == shown(passing(), commit=MERGE if name == "merge_group" else HEAD)


def test_a_run_by_hand_may_name_the_pull_request(job: Job) -> None:
    """A pull request that was opened with a job's token starts no checks of its own."""
    job.event("workflow_dispatch")
    job.leave("verdict.json", to_json(replace(passing(), origin=Origin(project="phone"))))

    assert job("--pull-request", "17").out == "comment on pull request 17: created\n"
    [comment] = job.comments
    assert f", pull request 17, commit <code>{HEAD[:12]}</code>." in comment


@pytest.mark.parametrize("number", ["x", "0", "-1", "1.5", "²", "9" * 16, "1;reboot"])
def test_a_number_that_is_none_is_refused(job: Job, number: str) -> None:
    job("--pull-request", number).expect(
        InputError.exit_code, "expected the number of a pull request"
    )


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/comments", 403), ("POST", "/comments", 500), ("GET", "/pulls", 404)],
)
def test_a_refusal_is_a_warning(job: Job, method: str, path: str, status: int) -> None:
    job.github.fail(method, path, status=status)
    answer = job(verdict=passing())

    warning = answer.err.removeprefix("warning: ")
    assert answer.status == 0
    assert warning.startswith(f"{method} /repos/acme/phone/")
    assert f"GitHub answered {status}" in warning
    assert job.summary == shown(passing()) + f"```text\n{warning}```\n"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("GITHUB_TOKEN", "there is no GitHub token"),
        ("GITHUB_EVENT_PATH", "GITHUB_EVENT_PATH is not set"),
        ("GITHUB_SHA", "GITHUB_SHA is not set"),
    ],
)
def test_a_job_without_something_has_the_summary(job: Job, variable: str, text: str) -> None:
    job.env[variable] = ""
    assert job(verdict=passing()).expect(0).err.startswith(f"warning: {text}\n")
    assert passing().headline.split(":")[0] in job.summary
    assert job.comments == []


def test_a_summary_that_cannot_be_written_is_a_warning(job: Job) -> None:
    job.env["GITHUB_STEP_SUMMARY"] = str(job.shell.folder)
    job(verdict=passing()).expect(0, "cannot be written: Is a directory")

    assert len(job.comments) == 1
