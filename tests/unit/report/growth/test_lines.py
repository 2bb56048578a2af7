"""Why files grew, as the comment says it."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report import comment
from megtrim.report.growth import lines as growth
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.notes import CauseNote
from megtrim.size.growth.shares import GrowthShare
from megtrim.verdict.model import Verdict
from unit.report.test_sizes import BASELINE, KIB, artifact, verdict
from unit.verdict.examples import HOSTILE

NOTES = (
    CauseNote(cause=Cause.SOURCE, seen="src/a.cpp differs", advice="look at it"),
    CauseNote(cause=Cause.FLAGS, seen="trim.optimize: size → none", advice="set it back"),
)


def share(*causes: Cause, kib: int, largest: tuple[str, ...] = ()) -> GrowthShare:
    grown, shrunk = max(0, kib) * KIB, max(0, -kib) * KIB
    return GrowthShare(causes=causes, grown_bytes=grown, shrunk_bytes=shrunk, largest=largest)


def grown(*shares: GrowthShare, notes: tuple[CauseNote, ...] = NOTES) -> Verdict:
    one = artifact(sum(each.growth_bytes for each in shares))
    sizes = tuple(
        replace(each, shares=shares) if each.variant == "reduced" else each for each in one.sizes
    )
    causes = tuple(each.cause for each in notes)
    made = verdict(replace(one, sizes=sizes), baseline=BASELINE)
    return replace(made, causes=causes, notes=notes)


SEVERAL = grown(
    share(Cause.SOURCE, kib=12, largest=("conv::run(…)", "table")),
    share(Cause.FLAGS, kib=-1),
    share(Cause.SOURCE, Cause.FLAGS, kib=2, largest=("main",)),
)


def test_the_second_line_has_the_causes_with_their_bytes() -> None:
    """What several share is by itself."""
    _, second, *_ = comment.render(SEVERAL).partition("## ")[2].split("\\\n")

    assert second.startswith(
        "Causes: source +12 KiB, flags -1 KiB, shared by source and flags +2 KiB. "
        "Unchanged: dependencies, keep set, models, toolchain, megtrim."
    )


def test_each_cause_says_what_to_do() -> None:
    """What shrank needs no advice; what is shared has the command that divides it."""
    title, *lines = growth.advise(SEVERAL).splitlines()

    assert title == "### Why sizes changed"
    assert lines[1:] == [
        (
            "- **source** +12 KiB: src/a.cpp differs. Most in `conv::run(…)`, `table`. "
            "What to do: look at it."
        ),
        "- **flags** -1 KiB: trim.optimize: size → none.",
        (
            "- **shared by source and flags** +2 KiB: symbols do not prove which of them it is. "
            "Most in `main`. What to do: `megtrim size causes --base BASE` builds it with one put "
            "back at a time."
        ),
    ]


def test_without_symbols_one_cause_has_all() -> None:
    """Several are not divided, and no bytes are claimed for them."""
    one = replace(grown(share(Cause.SOURCE, kib=4), notes=NOTES[:1]), artifacts=(artifact(KIB),))
    both = replace(SEVERAL, artifacts=(artifact(KIB),))

    assert "- **source** +1 KiB: src/a.cpp differs. What to do: look at it." in growth.advise(one)
    assert "- **source**: src/a.cpp differs. What to do: look at it." in growth.advise(both)
    assert "shared" not in growth.advise(both)


def test_nothing_is_explained_where_nothing_grew() -> None:
    """Whatever differs."""
    assert growth.advise(replace(SEVERAL, artifacts=(artifact(0),))) == ""


def test_names_are_untrusted() -> None:
    """They are of files of others."""
    note = CauseNote(cause=Cause.SOURCE, seen=HOSTILE, advice=HOSTILE)
    text = growth.advise(grown(share(Cause.SOURCE, kib=1, largest=(HOSTILE,)), notes=(note,)))

    assert "<script" not in text
    assert "@everyone" not in text
