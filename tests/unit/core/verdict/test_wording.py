"""Sentences that all forms of the report share, and when they are true."""

import re
from dataclasses import replace

import pytest

from megtrim.core.checks.statuses import CheckStatus, decide
from megtrim.core.report import html, table
from megtrim.core.report.first_screen import describe_state
from megtrim.core.size.report import tables
from megtrim.core.trim.results import TrimChoice
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import has_kernels, list_larger, name_variant
from unit.core.verdict.examples import budget, facts, grown, growth, passing, sizes


def ended(*statuses: CheckStatus, warnings: tuple[str, ...] = ()) -> Verdict:
    first = passing().checks[0]
    checks = tuple(replace(first, id=f"c{n}", status=each) for n, each in enumerate(statuses))
    decided = decide(statuses)
    return replace(
        passing(), checks=checks, verdict=decided, scenarios=(), budgets=(), warnings=warnings
    )


@pytest.mark.parametrize(
    ("statuses", "warnings", "said"),
    [
        (("pass", "pass"), (), "All 2 checks passed."),
        (("pass",), (), "The one check passed."),
        (("pass", "skipped"), (), "Every check that ran passed, 1 skipped."),
        (("pass", "pass"), ("look",), "Every check that ran passed, 1 warning."),
        (("pass", "skipped"), ("a", "b"), "Every check that ran passed, 1 skipped, 2 warnings."),
        (("fail", "skipped", "pass"), (), "1 of 3 checks failed, 1 skipped."),
        (("unverified", "pass"), (), "Nothing failed, but not everything could be run."),
    ],
)
def test_skipped_checks_did_not_pass(
    statuses: tuple[str, ...], warnings: tuple[str, ...], said: str
) -> None:
    assert describe_state(ended(*map(CheckStatus, statuses), warnings=warnings)) == said


@pytest.mark.parametrize(
    ("variant", "level", "quick", "shown"),
    [
        ("reduced", "deferred", False, "deferred"),
        ("reduced", "function", False, "reduced"),
        ("reduced", "region", False, "reduced"),
        ("plain", "deferred", False, "plain"),
        ("region", "deferred", False, "region"),
        # The quick way leaves functions out, whatever level is configured.
        ("reduced", "deferred", True, "reduced"),
    ],
)
def test_a_program_with_deferred_functions_is_called_so(
    variant: str, level: str, quick: bool, shown: str
) -> None:
    choice = TrimChoice(
        level=level, layout="scoped", minimum_size=True, optimize="none", quick=quick
    )

    assert name_variant(variant, choice) == shown


def _defer(made: Verdict) -> Verdict:
    return replace(made, trim=replace(made.trim, level="deferred"))


def test_the_page_and_the_comment_call_it_so() -> None:
    made = passing()
    page = html.render(_defer(made))

    assert "`load_and_run` `deferred`" in tables.table(_defer(made))
    assert "| `load_and_run` |" in tables.table(made)
    assert ">deferred</th>" in page
    assert ">deferred, enlarged" in page
    assert "deferred, enlarged to its own scale" in page
    assert ">reduced</th>" not in page
    assert "reduced, enlarged" not in page


def test_the_terminal_calls_it_so_everywhere() -> None:
    weighed = replace(sizes(), sizes=tuple(replace(s, forms={"aar": 9}) for s in sizes().sizes))
    made = _defer(replace(grown(), artifacts=(*grown().artifacts, weighed)))
    said = table.render(made)

    assert "load_and_run deferred: 2.5 MiB, +59 KiB" in said
    assert "  deferred: 9 B as AAR." in said
    assert "reduced" not in said


@pytest.mark.parametrize(("reduced_bytes", "said"), [(800, False), (900, False), (901, True)])
def test_a_program_that_is_larger_than_by_regions_is_said(reduced_bytes: int, said: bool) -> None:
    made = sizes(reduced_bytes)
    plain, profile, reduced = made.sizes
    by_regions = replace(plain, variant="region", size_bytes=900)
    found = list_larger((replace(made, sizes=(plain, profile, by_regions, reduced)),), "deferred")

    assert [line.startswith("load_and_run is larger by 1 ") for line in found] == [True] * said
    assert list_larger((made,), "deferred") == ()
    (line,) = list_larger((replace(made, sizes=(replace(plain, size_bytes=1), reduced)),), "all")
    assert "than the plain program (" in line


def test_a_failed_growth_is_no_calm_page() -> None:
    over = (budget(), growth(used=356_352, status=CheckStatus.FAIL))
    page = html.render(join(facts(budgets=over)))

    tile = re.search(r'<li class="toned fail"><span class="tile-title">Change of(.*?)</li>', page)
    assert tile is not None
    assert "+348 KiB" in tile[1]
    assert "16 KiB allowed" in tile[1]
    assert '<p class="headline">load_and_run +348 KiB (+15.6%), 16 KiB allowed</p>' in page


@pytest.mark.parametrize(
    ("kind", "marked"), [("megengine", True), ("sample", True), ("ncnn", False), ("cmake", False)]
)
def test_regions_are_words_of_engines_that_mark_kernels(kind: str, *, marked: bool) -> None:
    verdict = passing()
    verdict = replace(verdict, engine=replace(verdict.engine, kind=kind))

    assert has_kernels(verdict) == marked
    assert ("regions kept" in table.render_sizes(verdict.artifacts[0], verdict.trim, verdict)) == (
        marked
    )
