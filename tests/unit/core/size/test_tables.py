from dataclasses import replace

import pytest

from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.report import comment
from megtrim.core.report.table import render_sizes
from megtrim.core.size.growth.arrivals import Arrivals, NewPart, NewUse, PriceBasis
from megtrim.core.size.growth.causes import Cause, CauseNote
from megtrim.core.size.prices import PriceChange
from megtrim.core.size.report import budgets
from megtrim.core.size.report import tables as sizes
from megtrim.core.size.report.tables import explain_changes, list_prices
from megtrim.core.size.rows import ArtifactSizes, BudgetRow
from megtrim.core.size.views import PriceKind
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import Verdict
from unit.core.verdict import examples
from unit.core.verdict.examples import HOSTILE, REDUCED_BYTES, budget, facts, grown, growth, hostile

KIB = 1024
BASELINE = "main at 2981d11, the merge base, stored today"


def artifact(growth_bytes: int | None = None, name: str = "load_and_run") -> ArtifactSizes:
    base = examples.sizes()
    *others, reduced = base.sizes
    return replace(base, name=name, sizes=(*others, replace(reduced, growth_bytes=growth_bytes)))


def verdict(
    *artifacts: ArtifactSizes, budgets: tuple[BudgetRow, ...] = (), baseline: str = ""
) -> Verdict:
    return join(facts(artifacts=artifacts, budgets=budgets, baseline=baseline))


@pytest.mark.parametrize(
    ("baseline", "expected"),
    [
        ("", "no baseline, so growth is not known"),
        (
            "none: main has no sizes, yet",
            "no baseline, so growth is not known: main has no sizes, yet",
        ),
        ("megtrim/sizes.json", "against megtrim/sizes.json"),
        (BASELINE, "against main at <code>2981d11</code> (the merge base, stored today)"),
    ],
)
def test_the_baseline_is_always_said(baseline: str, expected: str) -> None:
    """Also when there is none, which is not the same as no change."""
    assert sizes.name_baseline(verdict(baseline=baseline)) == expected


@pytest.mark.parametrize(
    ("forms", "said"),
    [
        ({}, ""),
        ({"deflated": 1024}, "1 KiB to download (deflated)."),
        ({"deflated": 1024, "aar": 9}, "1 KiB to download (deflated), 9 B as AAR."),
        (
            {"unstripped": 4096, "deflated": 1024},
            "1 KiB to download (deflated), 4 KiB with symbols.",
        ),
    ],
)
def test_what_users_download_is_said(forms: dict[str, int], said: str) -> None:
    base = artifact()
    *others, reduced = base.sizes
    shown = replace(base, sizes=(*others, replace(reduced, forms=forms)))
    _, *lines = sizes.table(verdict(shown)).split("\n\n")

    assert lines == ([said] if said else [])
    text = render_sizes(shown, examples.passing().trim)
    assert text.endswith(f"\n  {said}") == bool(said)


def cells_of(made: Verdict) -> list[list[str]]:
    """Return the cells of each artifact in the table of sizes."""
    rows = [line for line in sizes.table(made).splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_several_artifacts_have_a_row_each() -> None:
    rows = (
        budget(artifact="a", variant="plain", limit=None),
        budget(artifact="a", status=CheckStatus.FAIL),
        budget(artifact="b"),
        budget(artifact="b", variant="plain", status=CheckStatus.SKIPPED),
        budget(artifact="c", status=CheckStatus.SKIPPED, limit=None),
    )
    names = ("a", "b", "c", "d")
    many = verdict(*(artifact(5, name=name) for name in names), budgets=rows, baseline=BASELINE)

    assert [row[:2] for row in cells_of(many)] == [
        ["`a`", "❌ fail"],
        ["`b`", "✅ pass"],
        ["`c`", "◽ skipped"],
        ["`d`", ""],
    ]


@pytest.mark.parametrize(
    ("causes", "notes", "said"),
    [
        ((Cause.SOURCE,), (), "Why: source."),
        (tuple(Cause), (), "flags, toolchain and megtrim."),
        ((), (), ""),
    ],
)
def test_what_differs_from_the_baseline_is_said(
    causes: tuple[Cause, ...], notes: tuple[CauseNote, ...], said: str
) -> None:
    grew, same = (verdict(artifact(each), baseline=BASELINE) for each in (KIB, 0))

    assert explain_changes(replace(grew, causes=causes, notes=notes)).endswith(said)
    assert explain_changes(replace(same, causes=causes, notes=notes)) == ""


@pytest.mark.parametrize(
    ("row", "growth_bytes", "change", "left", "result"),
    [
        (budget(), 0, "no change", "236 KiB of 2.8 MiB", "✅ pass"),
        (
            budget(limit=REDUCED_BYTES - 20 * KIB, status=CheckStatus.FAIL),
            0,
            "no change",
            "-20 KiB of 2.5 MiB",
            "❌ fail",
        ),
        (
            growth(used=17 * KIB, status=CheckStatus.FAIL),
            17 * KIB,
            "+17 KiB (+0.7%), 16 KiB allowed",
            "",
            "❌ fail",
        ),
        (budget(limit=REDUCED_BYTES), -KIB, "-1 KiB (-0.04%)", "0 B of 2.5 MiB", "✅ pass"),
        (
            budget(limit=REDUCED_BYTES - 1, waiver="until May"),
            None,
            "no baseline",
            "-1 B of 2.5 MiB",
            "✅ pass, waived: until May",
        ),
        (growth(used=1, limit=0), 1, "+1 B, 0 B allowed", "", "✅ pass"),
    ],
)
def test_a_row_is_held_to_its_budget(
    row: BudgetRow, growth_bytes: int | None, change: str, left: str, result: str
) -> None:
    [cells] = cells_of(verdict(artifact(growth_bytes), budgets=(row,)))

    assert cells[:4] == ["`load_and_run`", result, change, left]


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
    came = Arrivals(uses=uses, parts=parts, together_bytes=together)
    artifacts = []
    for name in names:
        base = artifact(12 * KIB, name)
        *others, reduced = base.sizes
        reduced = replace(reduced, arrivals=came, price_changes=changes)
        artifacts.append(replace(base, sizes=(*others, reduced)))
    return verdict(*artifacts)


def lines(*uses: NewUse, together: int | None = None) -> list[str]:
    (section,) = list_prices(with_arrivals(*uses, together=together))
    title, empty, *found = section.splitlines()
    assert (title, empty) == ("### Price of what came in", "")
    return found


EXACTLY = "exactly: nothing else differs from the baseline."
ASK = "`trim: {prices: true}` in the configuration shows it, which takes a few more links."


@pytest.mark.parametrize(
    ("uses", "together", "expected"),
    [
        ([BUILT], None, [f"- model `tiny-quant`: **+12 KiB**, {EXACTLY}"]),
        (
            [replace(BUILT, margin_bytes=0, alone_bytes=80 * KIB)],
            None,
            [
                (
                    "- model `tiny-quant`: **0 B**, exactly: all that it needs was kept before. "
                    "A program for it alone would have 80 KiB."
                )
            ],
        ),
        (
            [replace(BUILT, basis=PriceBasis.ATTRIBUTED)],
            None,
            ["- model `tiny-quant`: **12 KiB** would go if it left (attributed)."],
        ),
        (
            [replace(BUILT, basis=PriceBasis.LEAST), UNKNOWN],
            None,
            [
                (
                    "- model `tiny-quant`: **at least 12 KiB** would go if it left (attributed). "
                    "Regions have no price here."
                ),
                (
                    "- scenario `tiny-mobile/large@desk`: its price is not known by itself, "
                    f"as other causes differ. {ASK}"
                ),
            ],
        ),
        (
            [UNKNOWN, replace(UNKNOWN, name="vgg")],
            20 * KIB,
            [
                f"- `tiny-mobile/large@desk`, `vgg`: **+20 KiB** together, {EXACTLY}",
                f"- The price of each: {ASK}",
            ],
        ),
    ],
)
def test_what_came_in_has_its_price(
    uses: list[NewUse], together: int | None, expected: list[str]
) -> None:
    assert lines(*uses, together=together) == expected


def test_what_is_kept_for_it_is_folded() -> None:
    parts = (
        NewPart(kind="function", name="run(…)", size_bytes=1234, models=("tiny-quant",)),
        NewPart(kind="region", name="conv", count=4, models=("tiny-quant", "vgg")),
        NewPart(kind="elemwise_mode", name="ADD"),
    )
    section, fold, _ = list_prices(with_arrivals(BUILT, parts=parts, names=("load_and_run", "b")))
    assert [line.partition("**")[2] for line in section.splitlines()[2:]] == [
        f"+12 KiB** in `{name}`, {EXACTLY}" for name in ("load_and_run", "b")
    ]

    assert "load&#95;and&#95;run</code>: 1 elementwise mode, 1 function and 4 regions<" in fold
    assert "| function | `run(…)` | `tiny-quant` | 1,234 |" in fold
    assert "| 4 regions | `conv` | `tiny-quant`, `vgg` |  |" in fold
    _, unknown = list_prices(with_arrivals(BUILT, parts=parts[1:]))
    assert "| 4 regions | `conv` | `tiny-quant`, `vgg` |\n" in unknown


def test_models_that_cost_another_price_are_folded() -> None:
    change = PriceChange(model="tiny-mobile", before=9000, after=9500)
    (fold,) = list_prices(with_arrivals(changes=(change,)))

    assert fold in comment.render(with_arrivals(changes=(change,)))
    assert "1 model cost another price" in fold
    assert "| `tiny-mobile` | 9,000 | 9,500 | +500 |" in fold


NOTES = (
    CauseNote(cause=Cause.SOURCE, seen="src/a.cpp differs", advice="look at it"),
    CauseNote(cause=Cause.FLAGS, seen="trim.optimize: size → none", advice="set it back"),
)


def that_grew(*kib: int, notes: tuple[CauseNote, ...] = NOTES) -> Verdict:
    artifacts = (artifact(size * KIB) for size in kib)
    causes = tuple(note.cause for note in notes)
    made = verdict(*artifacts, baseline=BASELINE)
    return replace(made, causes=causes, notes=notes)


SEEN = ("src/a.cpp differs", "trim.optimize: size → none")


@pytest.mark.parametrize(
    ("kib", "notes", "expected"),
    [
        (4, NOTES[:1], [f"- **source** +4 KiB: {SEEN[0]}. Look at it."]),
        (-4, NOTES[:1], [f"- **source** -4 KiB: {SEEN[0]}."]),
        (
            -4,
            NOTES,
            [
                f"- **source**: {SEEN[0]}. Look at it.",
                f"- **flags**: {SEEN[1]}. Set it back.",
            ],
        ),
    ],
)
def test_each_cause_says_what_differs_and_what_to_do(
    kib: int, notes: tuple[CauseNote, ...], expected: list[str]
) -> None:
    """What shrank for one cause needs no advice; of several, one may have grown."""
    assert explain_changes(that_grew(kib, notes=notes)).splitlines() == expected
    assert explain_changes(that_grew(0, notes=notes)) == ""


def test_names_are_no_markup() -> None:
    parts = (NewPart(kind="region", name=HOSTILE, models=(HOSTILE,)),)
    change = PriceChange(model=HOSTILE, before=1, after=2)
    uses = (replace(BUILT, name=HOSTILE), replace(UNKNOWN, name=HOSTILE))
    note = CauseNote(cause=Cause.SOURCE, seen=HOSTILE, advice=HOSTILE)
    (fold,) = sizes.changes(hostile())
    used = judged(budget(waiver=HOSTILE, owner=HOSTILE, artifact=HOSTILE, lower_limit=1))

    assert "\x1b" not in budgets.text(used)
    for text in (
        *budgets.markdown(used),
        fold,
        sizes.name_baseline(verdict(baseline=HOSTILE)),
        sizes.fold_builds(hostile()),
        sizes.table(hostile()),
        *list_prices(with_arrivals(*uses, parts=parts, changes=(change,))),
        explain_changes(that_grew(1, notes=(note,))),
    ):
        assert "<script" not in text
        assert "@everyone" not in text
        assert "](http" not in text
        assert "\x1b" not in text


SOFT = budget(
    measure="section .text",
    owner="runtime team",
    used=2000 * KIB,
    limit=None,
    soft_limit=1900 * KIB,
    status=CheckStatus.SKIPPED,
)
WAIVED = growth(measure="section .text", used=20 * KIB, waiver="the depth model (Ann)")


def judged(*rows: BudgetRow) -> Verdict:
    return join(replace(facts(), budgets=rows))


def test_the_fold_shows_what_is_left_of_each_limit() -> None:
    (fold,) = budgets.markdown(judged(budget(), growth(), SOFT, WAIVED))

    assert "<summary>Budgets: 2 of 2 kept, the tightest has 236 KiB (8.4%) left</summary>" in fold
    assert (list(budgets.markdown(judged())), budgets.text(judged())) == ([], "")
    first = growth(used=None, limit=0, status=CheckStatus.SKIPPED)
    last = budgets.text(judged(budget(), WAIVED)).splitlines()[-1]
    assert last == "  load_and_run section .text: waived: the depth model (Ann)"
    (bare,) = budgets.markdown(judged(budget(limit=0, status=CheckStatus.FAIL), first))
    assert "<summary>Budgets: 0 of 1 kept</summary>" in bare
    assert "| ◽ skipped | growth | no baseline | 0 B |" in bare
    rows = [line for line in fold.splitlines() if line.startswith("| `")]
    text = "| `load_and_run` | section .text"
    assert rows == [
        "| `load_and_run` |  | ✅ pass | size | 2.5 MiB | 2.8 MiB | 236 KiB | 8.4% |  |  |",
        "| `load_and_run` |  | ✅ pass | growth | +1 KiB | 16 KiB | 15 KiB | 93.8% |  |  |",
        (
            f"{text} | ◽ skipped | size, warns | 2.0 MiB | 1.9 MiB | -100 KiB | -5.3% |  "
            "| runtime team |"
        ),
        (
            f"{text} | ✅ pass | growth | +20 KiB | 16 KiB | -4 KiB | -25.0% "
            "| the depth model (Ann) |  |"
        ),
    ]


def test_what_is_exceeded_comes_first_and_what_has_no_baseline_is_one_line() -> None:
    unknown = growth(artifact="b", used=None, status=CheckStatus.SKIPPED)
    lines = budgets.text(judged(budget(), growth(status=CheckStatus.FAIL), unknown)).splitlines()

    assert [line.split()[1] for line in lines[3:5]] == ["fail", "pass"]
    assert lines[5] == "  1 limit of growth not checked: there is no baseline"


@pytest.mark.parametrize(
    ("variant", "measure", "shown"),
    [
        ("reduced", "", ""),
        ("plain", "", "untrimmed"),
        ("reduced", "section .text", "section .text"),
        ("plain", "section .text", "section .text, untrimmed"),
        ("reduced", "work", "instructions, trimmed"),
        ("plain", "work", "instructions, untrimmed"),
        ("reduced", "peak memory", "peak memory, trimmed"),
    ],
)
def test_what_a_budget_is_of_is_no_claim(variant: str, measure: str, shown: str) -> None:
    """Of "reduced work", people read that it is less work."""
    assert budgets.describe_measured(budget(variant=variant, measure=measure)) == shown


@pytest.mark.parametrize(
    ("config", "place"), [("megtrim.yaml", "megtrim.yaml"), ("quick/m.yaml", "quick/megtrim.yaml")]
)
def test_a_lower_limit_is_proposed_with_its_place(config: str, place: str) -> None:
    made = judged(budget(lower_limit=2600 * KIB), growth(used=-KIB))
    made = replace(made, invocation=Invocation(config=config))
    proposal, _ = budgets.markdown(made)

    assert proposal.startswith("### Limits that could be lower\n\n- `load_and_run`: max could be ")
    assert budgets.text(made).splitlines()[-1] == (
        f"  load_and_run: max could be 2.5 MiB (2,662,400 bytes) at {place}:34"
    )


@pytest.mark.parametrize(
    ("row", "exceeded", "near", "marks"),
    [
        (budget(used=1024, limit=2048), False, False, ("48.098%", "96.195%", "")),
        (budget(used=4096, limit=2048), True, False, ("100.000%", "50.000%", "")),
        (budget(used=1, limit=1), False, False, ("100.000%", "100.000%", "")),
        (
            budget(used=1536, limit=2048, soft_limit=1536),
            False,
            True,
            ("72.147%", "96.195%", "72.147%"),
        ),
        (
            budget(used=3072, limit=None, soft_limit=1024),
            False,
            True,
            ("100.000%", "", "33.333%"),
        ),
        (growth(used=32_768), True, False, ("100.000%", "50.000%", "")),
        (growth(used=-1024), False, False, ("0.000%", "96.156%", "")),
        (growth(used=None), False, False, ("0.000%", "96.156%", "")),
    ],
)
def test_the_page_draws_what_is_used(
    row: BudgetRow, exceeded: bool, near: bool, marks: tuple[str, str, str]
) -> None:
    assert (row.is_exceeded, row.is_near) == (exceeded, near)
    assert budgets.place_marks(row) == marks


def test_the_terminal_says_what_grew_and_why() -> None:
    trim = grown().trim
    assert [*sizes.explain(grown(), trim, committed=True)] == [
        "baseline: main at 2981d11",
        "load_and_run reduced: 2.5 MiB, +59 KiB",
        (
            "  Causes: source and models +59 KiB together. The baseline was built from the same "
            "dependencies, flags, toolchain and megtrim version."
        ),
        "  By component: runtime +59 KiB.",
        (
            "  model tiny-quant: its price is not known by itself, as other causes differ. "
            "trim: {prices: true} in the configuration shows it, which takes a few more links."
        ),
        "  source: src/a.cpp differs. Look at it.",
        "  models: tiny-quant is new. Look at it.",
    ]
    assert [*sizes.explain(replace(grown(), baseline=""), trim, committed=True)] == []
