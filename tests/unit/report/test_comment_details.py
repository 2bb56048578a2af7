"""The folds of the comment: scenarios, what was kept, and what it was built with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.report import comment_details
from megtrim.report.markup import MOST_ROWS
from megtrim.verdict.model import OperatorUse, Rebuild, RegionsUse, Verdict
from megtrim.verdict.trim_summary import SizeFlagResult
from unit.verdict.examples import TUNED, crashed, facts, failing, hostile, passing, tag


def rows(fold: str) -> list[str]:
    """Return the rows of the tables in a fold, their heads aside."""
    return [line for line in fold.splitlines() if line.startswith("| ")][2:]


def identity_of(**changes: object) -> dict[str, str]:
    """Return the rows of a passing verdict's identity, by what they are."""
    verdict = replace(passing(), **changes)  # type: ignore[arg-type]
    found = (row.strip("| ").split(" | ") for row in rows(comment_details.identity(verdict)))
    return dict(found)


def test_scenarios_are_counted_in_the_title() -> None:
    """Each has a row with its result, device, regions and time."""
    fold = comment_details.scenarios(failing())

    assert "Scenarios: 1 of 3 passed" in fold
    assert len(rows(fold)) == 3
    [trapped] = [row for row in rows(fold) if TUNED in row]
    assert "trapped: 2 regions that it needs were not kept" in trapped
    assert trapped.rstrip("| ").endswith("`qemu-arm64` | 149 | 1.25 s")


def test_a_time_that_does_not_count_is_noted() -> None:
    """The phone was too hot."""
    fold = comment_details.scenarios(replace(passing(), scenarios=(crashed(),)))

    assert "time not valid" in fold


def test_kept_regions_come_by_tag_the_largest_first() -> None:
    """With how many the profile build holds, where that is known."""
    known = RegionsUse(held=9, kept=3, by_tag=(tag("small", 1, 4), tag("large", 2, 5)))
    unknown = RegionsUse(held=0, kept=3, by_tag=(tag("small", 1, 0), tag("large", 2, 0)))

    fold = comment_details.render_keep_set(replace(passing(), regions=known))
    assert rows(fold) == ["| `large` | 2 | 5 |", "| `small` | 1 | 4 |"]
    assert "What was kept: 3 of 9 regions" in fold
    fold = comment_details.render_keep_set(replace(passing(), regions=unknown))
    assert rows(fold) == ["| `large` | 2 |", "| `small` | 1 |"]


def test_without_regions_the_fold_says_so() -> None:
    """Functions alone were trimmed."""
    fold = comment_details.render_keep_set(
        replace(passing(), regions=RegionsUse(held=0, kept=0, by_tag=()))
    )

    assert "No region was chosen by a trace." in fold
    assert "regions</summary>" not in fold


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "all"), (1, "`op0`"), (MOST_ROWS + 2, f"`op{MOST_ROWS - 1}` and 2 more")],
)
def test_operators_are_listed_up_to_a_limit(count: int, shown: str) -> None:
    """No list means that every operator stays."""
    uses = tuple(OperatorUse(name=f"op{number}", models=("m",)) for number in range(count))
    verdict: Verdict = replace(passing(), operators=replace(passing().operators, kept=uses))

    [line] = [
        line
        for line in comment_details.render_keep_set(verdict).splitlines()
        if line.startswith("**Operators:**")
    ]
    assert line.endswith(shown)


def test_the_identity_names_what_the_program_was_built_with() -> None:
    """What was not used or not done has no row."""
    plain = identity_of()
    assert list(plain) == [
        *("engine", "header generation", "toolchain", "trim", "minimum size", "device"),
    ]
    assert plain["engine"] == "`megengine` `c2f1e0b6a3d94857`"
    assert plain["device"] == "`qemu-arm64` (`qemu`) `cpu: max`, `version: 7.2.22`"

    flags = (
        SizeFlagResult(name="small_code", value="Oz", why_not=""),
        SizeFlagResult(name="relocations", value="android", why_not="too old"),
    )
    good = facts()
    full = identity_of(
        engine=replace(good.engine, commit="", dirty=("a.cpp", "b.cpp")),
        toolchain=replace(good.toolchain, image="team/ndk"),
        trim=replace(good.trim, minimum_size=False, switched_off=("rtti",), means=flags),
        rebuild=Rebuild(compiled=4, units=40),
    )
    assert full["engine"].endswith(", 2 changed files")
    assert good.engine.digest in full["engine"]
    assert full["image"] == "`team/ndk`"
    assert (full["minimum size"], full["switched off"]) == ("no", "`rtti`")
    assert (full["means"], full["not used"]) == ("`small_code Oz`", "relocations: too old")
    assert "4" in full["compiled"]


@pytest.mark.parametrize("name", ["scenarios", "render_keep_set", "identity"])
def test_nothing_of_a_verdict_becomes_markup(name: str) -> None:
    """Names and texts may come from anyone's pull request."""
    fold = getattr(comment_details, name)(hostile())

    assert "<script>" not in fold
    assert "@admin" not in fold.replace("`@admin", "")
