"""Sizes in the comment: one line for each artifact, and the table of all variants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.size.artifact_sizes import ArtifactSizes
from megtrim.size.budget_row import BudgetRow, BudgetStatus
from megtrim.size.byte_table import ByteChange
from megtrim.size.growth.inputs import Cause
from megtrim.size.report import tables as sizes
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.verdict import examples
from unit.verdict.examples import REDUCED_BYTES, budget, facts, growth, hostile

KIB = 1024
BASELINE = "main at 2981d11, the merge base, stored today"


def artifact(growth_bytes: int | None = None, name: str = "load_and_run") -> ArtifactSizes:
    base = examples.sizes()
    variants = (
        replace(each, growth_bytes=growth_bytes) if each.variant == "reduced" else each
        for each in base.sizes
    )
    return replace(base, name=name, sizes=tuple(variants))


def verdict(
    *artifacts: ArtifactSizes, budgets: tuple[BudgetRow, ...] = (), baseline: str = ""
) -> Verdict:
    return join(facts(artifacts=artifacts, budgets=budgets, baseline=baseline))


def test_one_artifact_is_one_line_with_its_baseline() -> None:
    """Size, change, and what is left of the budget."""
    one = verdict(artifact(1 * KIB), budgets=(budget(),), baseline=BASELINE)

    assert sizes.glance(one) == (
        "✅ **`load_and_run` 2.5 MiB**, +1 KiB against main at 2981d11 "
        "(the merge base, stored today), 236 KiB of its budget left"
    )


def grown(*changes: tuple[str, str, int, int]) -> ArtifactSizes:
    """Return an artifact with these changes: component, symbol, bytes before and now."""
    symbols = tuple(
        ByteChange(component=component, label=label, before_bytes=before, after_bytes=after)
        for component, label, before, after in changes
    )
    components = tuple(
        ByteChange(component="", label=component, before_bytes=before, after_bytes=after)
        for component, _, before, after in changes
    )
    base = artifact(sum(each.growth_bytes for each in symbols))
    return replace(
        base,
        sizes=tuple(
            replace(each, components=components, symbols=symbols)
            if each.variant == "reduced"
            else each
            for each in base.sizes
        ),
    )


def test_the_second_line_says_what_grew() -> None:
    """Three components, and all others."""
    one = grown(
        ("kernels/x86/conv_bias", "f", 0, 180 * KIB),
        ("operators", "g", 20 * KIB, 0),
        ("runtime", "h", 0, 4 * KIB),
        ("toolchain", "i", 0, 2 * KIB),
        ("C library", "j", 0, KIB),
    )

    first, second = sizes.glance(verdict(one, baseline=BASELINE)).split("\\\n")

    assert ", +167 KiB against main" in first
    assert second == (
        "By component: `kernels/x86/conv_bias` +180 KiB, `operators` -20 KiB, `runtime` +4 KiB, "
        "all others +3 KiB."
    )


@pytest.mark.parametrize(
    ("causes", "said"),
    [
        (
            (Cause.SOURCE,),
            (
                "Cause: source +1 KiB. Unchanged: dependencies, keep set, models, flags, "
                "toolchain, megtrim."
            ),
        ),
        (
            (Cause.KEEP_SET, Cause.MODELS),
            (
                "Causes: keep set and models +1 KiB together. Unchanged: source, dependencies, "
                "flags, toolchain, megtrim."
            ),
        ),
        (
            tuple(Cause),
            (
                "Causes: source, dependencies, keep set, models, flags, toolchain and megtrim "
                "+1 KiB together."
            ),
        ),
    ],
)
def test_what_differs_from_the_baseline_is_said(causes: tuple[Cause, ...], said: str) -> None:
    """And what does not; without growth there is nothing to explain."""
    grew, same = (verdict(artifact(each), baseline=BASELINE) for each in (KIB, 0))

    assert sizes.glance(replace(grew, causes=causes)).split("\\\n")[1:] == [said]
    assert "Cause" not in sizes.glance(replace(same, causes=causes))


def test_what_changed_is_folded() -> None:
    """By component and symbol; nothing where it is not known."""
    one = grown(("operators", "mgb::opr::Add<…>::run(…)", 50, 2098))

    (part,) = sizes.changes(verdict(one))

    assert part.startswith("<details><summary>What changed in <code>load&#95;and&#95;run</code>")
    assert "</code>: +2 KiB</summary>" in part
    assert "| `operators` | `mgb::opr::Add<…>::run(…)` | 50 | 2,098 | +2,048 |" in part
    assert list(sizes.changes(verdict(artifact(KIB)))) == []


def test_several_artifacts_share_the_line_of_the_baseline() -> None:
    """Ten of them have lines of their own."""
    many = verdict(
        *(artifact(0, name=f"lib{number}.so") for number in range(12)), baseline=BASELINE
    )
    lines = sizes.glance(many).split("\\\n")

    assert len(lines) == 12
    assert "**`lib0.so` 2.5 MiB**, no change" in lines[0]
    assert lines[10] == "2 more artifacts"
    assert lines[11] == f"Baseline: {BASELINE}."


def test_without_a_baseline_no_change_is_known() -> None:
    """Which is not the same as none."""
    line, baseline = sizes.glance(verdict(artifact())).split("\\\n")

    assert "change" not in line
    assert baseline == "Baseline: none, so growth is not known."


@pytest.mark.parametrize(
    ("row", "growth_bytes", "said"),
    [
        (budget(), 0, ", no change, 236 KiB of its budget left"),
        (
            budget(max_bytes=REDUCED_BYTES - 20 * KIB, status=BudgetStatus.FAIL),
            0,
            ", no change, 20 KiB over its budget of 2.5 MiB",
        ),
        (
            growth(used_bytes=17 * KIB, status=BudgetStatus.FAIL),
            17 * KIB,
            ", +17 KiB, 16 KiB allowed",
        ),
        (budget(max_bytes=REDUCED_BYTES), -KIB, ", -1 KiB, 0 B of its budget left"),
        (budget(waiver="until May"), 0, ", 236 KiB of its budget left, waived"),
    ],
)
def test_a_line_is_held_to_its_budget(row: BudgetRow, growth_bytes: int, said: str) -> None:
    """Its sign is the worst of all budgets of the artifact."""
    line, _ = sizes.glance(verdict(artifact(growth_bytes), budgets=(row,))).split("\\\n")

    assert line.endswith(said)
    assert line[0] == ("❌" if row.status is BudgetStatus.FAIL else "✅")


def test_the_sign_of_an_artifact_is_its_worst_budgets() -> None:
    """Of whichever variant; the numbers are those of what ships."""
    failed = budget(variant="plain", status=BudgetStatus.FAIL)

    assert sizes.glance(verdict(artifact(), budgets=(budget(), failed))).startswith("❌")


def test_the_table_has_a_row_for_each_variant() -> None:
    """Only a row with a budget has a result."""
    table = sizes.table(
        verdict(
            artifact(1 * KIB), budgets=(budget(waiver="until May"), growth()), baseline=BASELINE
        )
    )
    plain, profile, reduced = [line for line in table.splitlines() if "load_and_run" in line]

    assert plain.startswith("| `load_and_run` `plain` | 39,300,016 | 37.5 MiB | 100.0% |")
    assert plain.rstrip().endswith("|  |  |  |")
    assert "`profile`" in profile
    assert "+1 KiB (16 KiB allowed) | 236 KiB of 2.8 MiB |" in reduced
    assert "waived: until May" in reduced


def test_allowed_growth_without_a_baseline_is_shown() -> None:
    """It was not checked."""
    table = sizes.table(verdict(artifact(), budgets=(growth(used_bytes=None),)))

    assert "no baseline (16 KiB allowed)" in table


def test_names_are_no_markup() -> None:
    """An artifact's name or a waiver's reason may be anyone's."""
    folds = [*sizes.changes(hostile())]
    assert len(folds) == 1
    for text in (sizes.glance(hostile()), sizes.table(hostile()), *folds):
        assert "<script>" not in text
