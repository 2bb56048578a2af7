"""What people see of a report folder, however little a job left there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.cli.session.job_summary import SummaryPage, read_page
from megtrim.errors import InputError
from megtrim.evidence.early_exit import EarlyExit, dump_ending
from megtrim.report.annotations import Level
from megtrim.report.comment import Links, render
from megtrim.verdict.model import to_json
from unit.verdict.examples import failing

LINKS = Links(run="https://github.example/run/7")
ENDING = EarlyExit(exit=2, message="megtrim.yaml:3: jobs: an unknown key", hint="leave it out")


def page(report: Path, config: str = "trim/megtrim.yaml", repository: str = "") -> SummaryPage:
    return read_page(report, config=config, links=LINKS, repository=repository)


def test_a_verdict_is_the_page_and_its_annotations(tmp_path: Path) -> None:
    """Their files are named from the root of the repository."""
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")
    found = page(tmp_path)

    assert found.text == render(failing(), links=LINKS)
    assert {each.file for each in found.annotations} == {"trim/megtrim.yaml"}
    assert found.problems == ()
    outside = page(tmp_path, config="../megtrim.yaml")
    assert {each.file for each in outside.annotations} == {"megtrim.yaml"}


@pytest.mark.parametrize(
    ("config", "repository", "name"),
    [
        ("megtrim.yaml", "acme/phone", "phone"),
        ("megtrim.yaml", "", "camera-app"),
        ("trim/megtrim.yaml", "acme/phone", "camera-app"),
    ],
)
def test_a_project_at_the_root_has_the_repositorys_name(
    tmp_path: Path, config: str, repository: str, name: str
) -> None:
    """Its folder is named by a checkout."""
    (tmp_path / "verdict.json").write_text(to_json(failing()), encoding="utf-8")

    found = page(tmp_path, config=config, repository=repository)
    assert found.text == render(replace(failing(), project=name), links=LINKS)


def test_a_run_that_ended_early_says_why(tmp_path: Path) -> None:
    """On the page and at the configuration."""
    (tmp_path / "ending.json").write_text(dump_ending(ENDING), encoding="utf-8")
    found = page(tmp_path)

    assert found.text.startswith("### megtrim ended before a verdict (`trim/megtrim.yaml`)\n")
    assert ENDING.message in found.text
    assert str(LINKS.run) in found.text
    [annotation] = found.annotations
    assert (annotation.level, annotation.file) == (Level.ERROR, "trim/megtrim.yaml")


def test_a_folder_without_anything_is_a_page_too(tmp_path: Path) -> None:
    """Nothing is known, which is not good news."""
    found = page(tmp_path)

    assert found.text.startswith("### megtrim: nothing is known (`trim/megtrim.yaml`)\n")
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

    assert nothing.startswith(f"### megtrim: nothing is known (`{config}`)\n")
    assert ended.startswith(f"### megtrim ended before a verdict (`{config}`)\n")
    [of_toolchain] = read_page(tmp_path, config=f"{config}#arm64", links=LINKS).annotations
    assert of_toolchain.file == config
    alone = read_page(tmp_path, config="megtrim.yaml", links=LINKS).text
    assert alone.startswith("### megtrim ended before a verdict\n")
