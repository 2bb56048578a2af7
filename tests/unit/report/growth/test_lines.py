"""Why files grew, as the comment says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.report import comment
from megtrim.report.growth import lines as growth
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.notes import CauseNote
from megtrim.verdict.model import Verdict
from unit.report.test_sizes import BASELINE, KIB, artifact, verdict
from unit.verdict.examples import HOSTILE

NOTES = (
    CauseNote(cause=Cause.SOURCE, seen="src/a.cpp differs", advice="look at it"),
    CauseNote(cause=Cause.FLAGS, seen="trim.optimize: size → none", advice="set it back"),
)


def grown(*kib: int, notes: tuple[CauseNote, ...] = NOTES) -> Verdict:
    artifacts = (artifact(size * KIB) for size in kib)
    causes = tuple(note.cause for note in notes)
    made = verdict(*artifacts, baseline=BASELINE)
    return replace(made, causes=causes, notes=notes)


@pytest.mark.parametrize(
    ("kib", "notes", "expected"),
    [
        (13, NOTES, "Causes: source and flags +13 KiB together. Unchanged: dependencies, keep set"),
        (-1, NOTES[:1], "Cause: source -1 KiB. Unchanged: dependencies, keep set, models, flags"),
    ],
)
def test_the_second_line_has_the_causes(
    kib: int, notes: tuple[CauseNote, ...], expected: str
) -> None:
    """One has all bytes; what several have is not divided."""
    text = comment.render(grown(kib, notes=notes))
    _, second, *_ = text.partition("## ")[2].split("\\\n")

    assert second.startswith(expected)


SEEN = ("src/a.cpp differs", "trim.optimize: size → none")


@pytest.mark.parametrize(
    ("kib", "notes", "expected"),
    [
        (4, NOTES[:1], [f"- **source** +4 KiB: {SEEN[0]}. What to do: look at it."]),
        (-4, NOTES[:1], [f"- **source** -4 KiB: {SEEN[0]}."]),
        (
            -4,
            NOTES,
            [
                f"- **source**: {SEEN[0]}. What to do: look at it.",
                f"- **flags**: {SEEN[1]}. What to do: set it back.",
            ],
        ),
    ],
)
def test_each_cause_says_what_differs_and_what_to_do(
    kib: int, notes: tuple[CauseNote, ...], expected: list[str]
) -> None:
    """What shrank for one cause needs no advice; of several, one may have grown."""
    title, _, *lines = growth.advise(grown(kib, notes=notes)).splitlines()

    assert title == "### Why sizes changed"
    assert lines == expected


def test_nothing_is_explained_where_nothing_grew() -> None:
    """Whatever differs."""
    assert growth.advise(grown(0)) == ""


def test_names_are_untrusted() -> None:
    """They are of files of others."""
    note = CauseNote(cause=Cause.SOURCE, seen=HOSTILE, advice=HOSTILE)
    text = growth.advise(grown(1, notes=(note,)))

    assert "<script" not in text
    assert "@everyone" not in text
