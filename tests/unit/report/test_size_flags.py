"""The means against size in the report: what was used, and why the rest was not."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report import html
from megtrim.report.comment import render
from megtrim.trim.usage import SizeFlagResult, TrimChoice
from megtrim.verdict.join import join
from megtrim.verdict.model import parse_verdict, to_json
from unit.verdict.examples import HOSTILE, facts

MEANS = (
    SizeFlagResult(name="unwind_tables", value="false", why_not=""),
    SizeFlagResult(name="small_code", value="Oz", why_not=""),
    SizeFlagResult(name="relocations", value="android", why_not="the phone is too old"),
)


def sized(means: tuple[SizeFlagResult, ...] = MEANS) -> TrimChoice:
    return replace(facts().trim, optimize="size", means=means)


def test_they_stand_where_the_choices_are() -> None:
    """In the page and in the comment; each that was not used with its reason."""
    verdict = join(facts(trim=sized()))
    page, comment = html.render(verdict), render(verdict)

    assert "<dt>means</dt><dd>unwind_tables false, small_code Oz</dd>" in page
    assert "<dt>not used</dt><dd>relocations: the phone is too old</dd>" in page
    assert "| means | `unwind_tables false, small_code Oz` |" in comment
    assert "| not used | relocations: the phone is too old |" in comment


def test_a_recipe_says_nothing_of_them() -> None:
    """There were none to choose from."""
    verdict = join(facts(trim=sized(())))

    for text in (html.render(verdict), render(verdict)):
        assert "not used" not in text
        assert "unwind_tables" not in text


def test_they_are_read_back_as_they_were() -> None:
    """And what a stranger wrote there cannot be markup."""
    hostile = replace(MEANS[2], why_not=HOSTILE)
    verdict = join(facts(trim=sized((hostile,))))

    assert parse_verdict(to_json(verdict), source="verdict.json") == verdict
    assert "<script>alert" not in html.render(verdict)
    assert "<script>" not in render(verdict)
