"""What came in and what it costs, as the comment says it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.report import comment
from megtrim.size.growth.arrivals import Arrivals, NewPart, NewUse, PriceBasis
from megtrim.size.growth.inputs import Cause, CauseNote
from megtrim.size.prices.price_list import PriceChange, PriceKind
from megtrim.size.report import arrivals as growth
from megtrim.size.report.arrivals import list_prices
from megtrim.verdict.model import Verdict
from unit.size.report.test_tables import BASELINE, KIB, artifact, verdict
from unit.verdict.examples import HOSTILE

BUILT = NewUse(
    kind=PriceKind.MODEL, name="tiny-quant", basis=PriceBasis.BUILT, margin_bytes=12 * KIB
)
UNKNOWN = NewUse(kind=PriceKind.SCENARIO, name="tiny-mobile/large@desk")


def with_arrivals(
    *uses: NewUse,
    parts: tuple[NewPart, ...] = (),
    together: int | None = None,
    changes: tuple[PriceChange, ...] = (),
    names: tuple[str, ...] = ("load_and_run",),
) -> Verdict:
    """Return a verdict on files that something came into."""
    came = Arrivals(uses=uses, parts=parts, together_bytes=together)
    artifacts = [artifact(12 * KIB, name) for name in names]
    return verdict(
        *(
            replace(
                one,
                sizes=tuple(
                    replace(each, arrivals=came, price_changes=changes)
                    if each.variant == "reduced"
                    else each
                    for each in one.sizes
                ),
            )
            for one in artifacts
        )
    )


def lines(*uses: NewUse, together: int | None = None) -> list[str]:
    """Return the lines about what came in."""
    (section,) = list_prices(with_arrivals(*uses, together=together))
    title, empty, *found = section.splitlines()
    assert (title, empty) == ("### Price of what came in", "")
    return found


def test_a_model_that_alone_differs_has_an_exact_price() -> None:
    """It is the growth; what it would be alone is said if it is known."""
    alone = replace(BUILT, alone_bytes=80 * KIB)

    assert lines(BUILT) == [
        "- model `tiny-quant`: **+12 KiB**, exactly: nothing else differs from the baseline."
    ]
    assert lines(alone)[0].endswith(" A program for it alone would have 80 KiB.")
    assert lines(replace(BUILT, margin_bytes=0)) == [
        "- model `tiny-quant`: **0 B**, exactly: all that it needs was kept before."
    ]


def test_an_attributed_price_is_called_one() -> None:
    """It is a lower bound where regions have no price."""
    attributed = replace(BUILT, basis=PriceBasis.ATTRIBUTED)
    least = replace(BUILT, basis=PriceBasis.LEAST)

    assert lines(attributed) == [
        "- model `tiny-quant`: **12 KiB** would go if it left (attributed)."
    ]
    assert lines(least) == [
        (
            "- model `tiny-quant`: **at least 12 KiB** would go if it left (attributed). "
            "Regions have no price here."
        )
    ]


def test_an_unknown_price_has_the_way_to_get_it() -> None:
    """It is a key of the configuration, and what that costs is said."""
    assert lines(UNKNOWN) == [
        (
            "- scenario `tiny-mobile/large@desk`: its price is not known by itself, as other "
            "causes differ. `trim: {prices: true}` in the configuration shows it, which takes a "
            "few more links."
        )
    ]


def test_several_have_one_price_together() -> None:
    """What is known of each follows."""
    assert lines(UNKNOWN, replace(UNKNOWN, name="vgg"), together=20 * KIB) == [
        (
            "- `tiny-mobile/large@desk`, `vgg`: **+20 KiB** together, exactly: nothing else "
            "differs from the baseline."
        ),
        (
            "- The price of each: `trim: {prices: true}` in the configuration shows it, which "
            "takes a few more links."
        ),
    ]
    priced = replace(BUILT, basis=PriceBasis.ATTRIBUTED)
    assert len(lines(priced, priced, together=20 * KIB)) == 3


def test_what_is_kept_for_it_is_folded() -> None:
    """With its bytes where they are known, and for whom it is."""
    parts = (
        NewPart(kind="function", name="run(…)", size_bytes=1234, models=("tiny-quant",)),
        NewPart(kind="region", name="conv", count=4, models=("tiny-quant", "vgg")),
        NewPart(kind="elemwise_mode", name="ADD"),
    )
    _, fold = list_prices(with_arrivals(BUILT, parts=parts))

    assert "load&#95;and&#95;run</code>: 1 elementwise mode, 1 function and 4 regions<" in fold
    assert "| function | `run(…)` | `tiny-quant` | 1,234 |" in fold
    assert "| 4 regions | `conv` | `tiny-quant`, `vgg` |  |" in fold
    _, unknown = list_prices(with_arrivals(BUILT, parts=parts[1:]))
    assert "| 4 regions | `conv` | `tiny-quant`, `vgg` |\n" in unknown


def test_models_that_cost_another_price_are_folded() -> None:
    """A kernel that grew makes the models dearer that need it."""
    change = PriceChange(model="tiny-mobile", before_bytes=9000, after_bytes=9500)
    (fold,) = list_prices(with_arrivals(changes=(change,)))

    assert "1 model cost another price" in fold
    assert "| `tiny-mobile` | 9,000 | 9,500 | +500 |" in fold


def test_several_files_are_named() -> None:
    """A model has a price in each."""
    section, *_ = list_prices(with_arrivals(BUILT, names=("a", "b")))

    assert [line.partition("**")[2] for line in section.splitlines()[2:]] == [
        "+12 KiB** in `a`, exactly: nothing else differs from the baseline.",
        "+12 KiB** in `b`, exactly: nothing else differs from the baseline.",
    ]


def test_the_comment_has_it_and_is_silent_where_nothing_came_in() -> None:
    """Between why sizes changed and what changed."""
    assert "### Price of what came in" in comment.render(with_arrivals(BUILT))
    assert "came in" not in comment.render(verdict(artifact(12 * KIB)))


def test_names_are_untrusted() -> None:
    """They are of files of others."""
    parts = (NewPart(kind="region", name=HOSTILE, models=(HOSTILE,)),)
    change = PriceChange(model=HOSTILE, before_bytes=1, after_bytes=2)
    uses = (replace(BUILT, name=HOSTILE), replace(UNKNOWN, name=HOSTILE))
    text = "".join(list_prices(with_arrivals(*uses, parts=parts, changes=(change,))))

    assert "<script" not in text
    assert "@everyone" not in text


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


def test_names_of_causes_are_untrusted() -> None:
    """They are of files of others."""
    note = CauseNote(cause=Cause.SOURCE, seen=HOSTILE, advice=HOSTILE)
    text = growth.advise(grown(1, notes=(note,)))

    assert "<script" not in text
    assert "@everyone" not in text
