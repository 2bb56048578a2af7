"""What people see of a report folder, however little a job left there."""

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build_spec import Origin
from megtrim.cli.session.job_summary import SummaryPage, read_page
from megtrim.evidence.fields import EarlyExit
from megtrim.report.annotations import Level
from megtrim.report.comment import Links, render
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump
from megtrim.verdict.model import to_json
from unit.verdict.examples import failing

LINKS = Links(run="https://github.example/run/7")
ENDING = EarlyExit(exit=2, message="megtrim.yaml:3: jobs: an unknown key", hint="leave it out")


KNOWN = Origin(project="phone", commit="ab" * 20, pull_request=3, megtrim="2.0.0")


def page(report: Path, config: str = "trim/megtrim.yaml") -> SummaryPage:
    return read_page(report, config=config, links=LINKS)


def test_a_verdict_is_the_page_and_its_annotations(tmp_path: Path) -> None:
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


LOST = EarlyExit(exit=3, message="the phone\nis gone", hint="")
REASON = ": megtrim.yaml:3: jobs: an unknown key"
ENDED = "megtrim ended before a verdict"
ANDROID = "android/megtrim.yaml"


@pytest.mark.parametrize(
    ("ending", "config", "known", "title", "file"),
    [
        (None, "megtrim.yaml", KNOWN, "⚠️ megtrim: no report for `phone`, so nothing is", None),
        (None, ANDROID, Origin(), f"⚠️ megtrim: no report (`{ANDROID}`), so nothing", None),
        (ENDING, "megtrim.yaml", KNOWN, f"❌ {ENDED} for `phone`{REASON}\n", "megtrim.yaml"),
        (LOST, "megtrim.yaml", KNOWN, f"⚠️ {ENDED} for `phone`: the phone\n", "megtrim.yaml"),
        (ENDING, "megtrim.yaml", Origin(), f"❌ {ENDED}{REASON}\n", "megtrim.yaml"),
        (ENDING, ANDROID, Origin(), f"❌ {ENDED} (`{ANDROID}`){REASON}\n", ANDROID),
        (ENDING, f"{ANDROID}#arm64", Origin(), f"❌ {ENDED} (`{ANDROID}#arm64`){REASON}", ANDROID),
    ],
)
def test_a_page_without_a_verdict_says_what_it_is_of(
    tmp_path: Path,
    ending: EarlyExit | None,
    config: str,
    known: Origin,
    title: str,
    file: str | None,
) -> None:
    """It begins with what ended the run; nothing known is no good news.

    The configuration is named where it is not the default one: a pull request has a comment of
    each.
    """
    if ending is not None:
        (tmp_path / "ending.json").write_text(dump(ending), encoding="utf-8")
    found = read_page(tmp_path, config=config, links=LINKS, known=known)

    assert found.text.startswith(f"## {title}")
    assert [(each.level, each.file) for each in found.annotations] == (
        [(Level.ERROR, file)] if file else []
    )
    assert found.problems == ()
    assert str(LINKS.run) in found.text
    if known is KNOWN:
        last = found.text.splitlines()[-1]
        assert last.startswith("megtrim 2.0.0, pull request 3, commit abababababab. [This run]")


def test_a_damaged_verdict_is_a_problem_and_the_rest_is_shown(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text("{}", encoding="utf-8")
    (tmp_path / "comment.md").write_text("the earlier page", encoding="utf-8")
    found = page(tmp_path)

    assert found.text == "the earlier page"
    [problem] = found.problems
    assert isinstance(problem, InputError)
    assert str(tmp_path / "verdict.json") in problem.message
