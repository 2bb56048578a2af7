"""What people see of a report folder, however little a job left there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import Origin
from megtrim.cli.session.job_summary import SummaryPage, read_page
from megtrim.evidence.early_exit import EarlyExit, dump_ending
from megtrim.report.annotations import Level
from megtrim.report.comment import Links, render
from megtrim.util.errors import InputError
from megtrim.verdict.model import to_json
from unit.verdict.examples import failing

LINKS = Links(run="https://github.example/run/7")
ENDING = EarlyExit(exit=2, message="megtrim.yaml:3: jobs: an unknown key", hint="leave it out")


KNOWN = Origin(project="phone", commit="ab" * 20, pull_request=3, megtrim="2.0.0")


def page(report: Path, config: str = "trim/megtrim.yaml") -> SummaryPage:
    return read_page(report, config=config, links=LINKS)


def test_a_verdict_is_the_page_and_its_annotations(tmp_path: Path) -> None:
    """Their files are named from the root of the repository."""
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")
    found = page(tmp_path)

    assert found.text == render(failing(), links=LINKS)
    assert {each.file for each in found.annotations} == {"trim/megtrim.yaml"}
    assert found.problems == ()
    outside = page(tmp_path, config="../megtrim.yaml")
    assert {each.file for each in outside.annotations} == {"megtrim.yaml"}


def test_what_the_job_knows_outweighs_what_the_build_said(tmp_path: Path) -> None:
    """A build runs the code of whoever opened the pull request, and its folder is a checkout's."""
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")
    confirmed = replace(failing(), origin=failing().origin.confirm(KNOWN))

    found = read_page(tmp_path, config="megtrim.yaml", links=LINKS, known=KNOWN)
    assert found.text == render(confirmed, links=LINKS)
    assert " for `phone`: " in found.text.splitlines()[0]


def test_a_page_without_a_verdict_says_what_it_is_of(tmp_path: Path) -> None:
    """And begins with what ended the run."""
    nothing = read_page(tmp_path, config="megtrim.yaml", links=LINKS, known=KNOWN).text
    (tmp_path / "ending.json").write_text(dump_ending(ENDING), encoding="utf-8")
    ended = read_page(tmp_path, config="megtrim.yaml", links=LINKS, known=KNOWN).text
    lost = EarlyExit(exit=3, message="the phone\nis gone", hint="")
    (tmp_path / "ending.json").write_text(dump_ending(lost), encoding="utf-8")
    away = read_page(tmp_path, config="megtrim.yaml", links=LINKS, known=KNOWN).text

    assert nothing.startswith("## ⚠️ megtrim: no report for `phone`, so nothing is known\n")
    first = "megtrim ended before a verdict for `phone`"
    assert ended.startswith(f"## ❌ {first}: megtrim.yaml:3: jobs: an unknown key\n")
    assert away.startswith(f"## ⚠️ {first}: the phone\n")
    for text in (nothing, ended, away):
        last = text.splitlines()[-1]
        assert last.startswith("megtrim 2.0.0, pull request 3, commit abababababab. [This run]")


def test_a_run_that_ended_early_says_why(tmp_path: Path) -> None:
    """On the page and at the configuration."""
    (tmp_path / "ending.json").write_text(dump_ending(ENDING), encoding="utf-8")
    found = page(tmp_path)

    assert found.text.startswith("## ❌ megtrim ended before a verdict (`trim/megtrim.yaml`): ")
    assert ENDING.message in found.text
    assert str(LINKS.run) in found.text
    [annotation] = found.annotations
    assert (annotation.level, annotation.file) == (Level.ERROR, "trim/megtrim.yaml")


def test_a_folder_without_anything_is_a_page_too(tmp_path: Path) -> None:
    """Nothing is known, which is not good news."""
    found = page(tmp_path)

    assert found.text.startswith("## ⚠️ megtrim: no report (`trim/megtrim.yaml`), so nothing")
    assert (found.annotations, found.problems) == ((), ())


def test_a_damaged_verdict_is_a_problem_and_the_rest_is_shown(tmp_path: Path) -> None:
    """The page that was left stands in for it."""
    (tmp_path / "verdict.json").write_text("{}", encoding="utf-8")
    (tmp_path / "comment.md").write_text("the earlier page", encoding="utf-8")
    found = page(tmp_path)

    assert found.text == "the earlier page"
    [problem] = found.problems
    assert isinstance(problem, InputError)
    assert str(tmp_path / "verdict.json") in problem.message


def test_a_page_without_a_verdict_names_its_configuration(tmp_path: Path) -> None:
    """If it is not the default one: a pull request has a comment of each."""
    config = "android/megtrim.yaml"
    nothing = read_page(tmp_path, config=config, links=LINKS).text
    (tmp_path / "ending.json").write_text(dump_ending(ENDING), encoding="utf-8")
    ended = read_page(tmp_path, config=config, links=LINKS).text

    assert nothing.startswith(f"## ⚠️ megtrim: no report (`{config}`), so")
    assert ended.startswith(f"## ❌ megtrim ended before a verdict (`{config}`): ")
    [of_toolchain] = read_page(tmp_path, config=f"{config}#arm64", links=LINKS).annotations
    assert of_toolchain.file == config
    alone = read_page(tmp_path, config="megtrim.yaml", links=LINKS).text
    assert alone.startswith("## ❌ megtrim ended before a verdict: megtrim.yaml:3")
