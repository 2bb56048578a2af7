from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.evidence.fields import EarlyExit
from megtrim.util.strict_json import dump
from megtrim.verdict.model import Verdict, to_json
from unit.cli.support import Answer, Shell
from unit.github.support import environment
from unit.verdict.examples import failing, passing, unverified


def leave(shell: Shell, name: str, verdict: Verdict, config: str = "") -> None:
    called = replace(verdict.invocation, config=config or f"megtrim.yaml#{name}")
    text = to_json(replace(verdict, invocation=called))
    folder = shell.folder / "reports" / f"megtrim-report._{name}"
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_text(text, encoding="utf-8")


def join(shell: Shell, names: str = "arm64 desk") -> Answer:
    return shell("ci", "github", "toolchains", "reports", "--names", names, "--to", "report")


def comment(folder: Path) -> str:
    return (folder / "report" / "comment.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("desk", "status", "word"),
    [(passing(), 0, "pass"), (unverified(), 0, "unverified"), (failing(), 1, "fail")],
)
def test_the_worst_is_the_gate(shell: Shell, desk: Verdict, status: int, word: str) -> None:
    leave(shell, "arm64", passing())
    leave(shell, "desk", desk)
    answer = join(shell)

    assert (answer.status, answer.err) == (status, "")
    assert answer.out.splitlines() == [
        f"arm64: pass: {passing().headline}",
        f"desk: {word}: {desk.headline}",
    ]
    table, *_ = comment(shell.folder).split("\n<details>")
    assert table.count("\n| `") == 2


def test_a_path_may_begin_with_the_folder(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    joined = ("--names", "arm64", "--to", "report", "--config", "./megtrim.yaml")

    assert shell("ci", "github", "toolchains", "reports", *joined).status == 0


def test_what_is_missing_is_no_pass(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    answer = join(shell).expect(3)

    assert "desk: reports/megtrim-report._desk: the build job left no result" in answer.out
    assert "| `desk` | ❌ no verdict |" in comment(shell.folder)


def test_a_single_report_needs_no_folder(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    (shell.folder / "reports" / "megtrim-report._arm64").rename(shell.folder / "alone")
    (shell.folder / "reports").rmdir()
    (shell.folder / "alone").rename(shell.folder / "reports")

    assert join(shell, "arm64").status == 0
    both = join(shell).expect(3)
    assert "arm64: pass: " in both.out
    assert "desk: reports/megtrim-report._desk: the build job left no result" in both.out


def test_a_run_that_ended_early_ends_it_as_it_did(shell: Shell) -> None:
    leave(shell, "arm64", failing())
    folder = shell.folder / "reports" / "megtrim-report._desk"
    folder.mkdir(parents=True)
    ending = EarlyExit(config="megtrim.yaml#desk", exit=2, message="no compiler", hint="")
    (folder / "ending.json").write_text(dump(ending), encoding="utf-8")
    assert join(shell).expect(2).out.splitlines()[1] == "desk: no compiler"
    assert "no compiler" in comment(shell.folder)


def test_a_verdict_of_another_configuration_is_refused(shell: Shell) -> None:
    leave(shell, "arm64", passing())
    leave(shell, "desk", passing(), config="megtrim.yaml#arm64")
    answer = join(shell)

    refused = "is of the configuration megtrim.yaml#arm64, expected one of megtrim.yaml#desk"
    assert answer.status == 2
    assert refused in answer.out
    pages = comment(shell.folder).split("<details><summary>")
    (page,) = (page for page in pages if refused in page)
    assert page.startswith("<code>desk</code>: ❌ no verdict</summary>")
    assert "✅" not in page


def test_an_ending_of_another_configuration_is_refused(shell: Shell) -> None:
    folder = shell.folder / "reports" / "megtrim-report._desk"
    folder.mkdir(parents=True)
    ending = EarlyExit(config="megtrim.yaml#arm64", exit=3, message="no phone", hint="")
    (folder / "ending.json").write_text(dump(ending), encoding="utf-8")
    answer = join(shell, "desk").expect(2)

    assert "the report is of the configuration megtrim.yaml#arm64, expected" in answer.out
    assert "no phone" not in comment(shell.folder)


def test_a_job_names_its_project_without_any_verdict(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path, "pull_request").items():
        monkeypatch.setenv(name, value)
    assert join(shell, "desk").status == 3

    title, *_ = comment(shell.folder).splitlines()
    assert title == "## ❌ megtrim: no verdict for `phone`: `desk`"


def test_no_names_are_no_pass(shell: Shell) -> None:
    assert join(shell, " ").status == 2


def test_the_comment_is_published_and_one_alone_need_not_be(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(shell, "arm64", passing())
    assert join(shell, "arm64").status == 0
    summary = shell.folder / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    shell("ci", "github", "publish", "report", "--no-comment").expect(0)

    assert comment(shell.folder) in summary.read_text(encoding="utf-8")
