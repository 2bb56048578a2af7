"""The verdict as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from megtrim.report import markdown
from megtrim.verdict.join import join
from megtrim.verdict.kinds import BudgetStatus
from megtrim.verdict.model import OperatorsUse, OperatorUse, RegionsUse, Verdict
from unit.verdict.examples import (
    MOBILENET,
    budget,
    facts,
    failing,
    hostile,
    passing,
    scenario,
    trapped,
    unverified,
)


def test_the_verdict_and_the_headline_come_first() -> None:
    """Who reads two lines knows the result."""
    lines = markdown.render(passing()).splitlines()

    assert lines[0] == "## ✅ megtrim: pass for `camera-app`"
    assert lines[2] == (
        r"**load\_and\_run: 37.5 MiB → 2.5 MiB (6.7% of plain), "
        "3 of 3 scenarios verified, 149 of 900 regions kept**"
    )
    assert lines[4] == "Every check passed."


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (failing(), "## ❌ megtrim: fail for"),
        (unverified(), "## ⚠️ megtrim: unverified for"),
        (join(facts(scenarios=())), "## ❔ megtrim: inconclusive for"),
    ],
)
def test_each_verdict_has_its_sign_and_its_word(verdict: Verdict, expected: str) -> None:
    """A sign alone would say nothing to who cannot see it."""
    assert markdown.render(verdict).startswith(expected)


def test_the_table_of_an_artifact() -> None:
    """Variant, bytes, share of plain, growth, and regions."""
    text = markdown.render(passing())

    assert (
        "### `load_and_run`\n\n"
        "| variant | bytes | size | % of plain | growth | regions kept |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| `plain` | 39,300,016 | 37.5 MiB | 100.0% |  |  |\n"
        "| `profile` | 41,204,312 | 39.3 MiB | 104.8% |  | 900 of 900 |\n"
        "| `reduced` | 2,641,920 | 2.5 MiB | 6.7% | +1 KiB | 149 of 900 |\n"
    ) in text


def test_a_failed_check_says_what_to_do_and_how_to_see_it_again() -> None:
    """Someone without the log at hand can act."""
    text = markdown.render(failing())

    assert (
        "### ❌ fail: `trap:resnet18-s/tuned@armv82-dotprod`\n\n"
        "trapped: 2 regions that it needs were not kept\n\n"
        "What to do: if this must run, add it as a scenario and trace it again: megtrim trim\n\n"
        "To see it again:\n\n"
        "```text\n"
        "megtrim verify --config megtrim.yaml --probe resnet18-s -- --enable-nchw44\n"
        "```\n\n"
        "<details><summary>Details</summary>\n\n"
        "```text\nmodel: resnet18-s\n"
    ) in text
    assert text.index("### ❌ fail") < text.index("### Warnings") < text.index("### Scenarios")
    assert "- the engine's checkout has changes that are not committed: 2 files" in text
    assert "### ❌" not in markdown.render(passing())


def test_the_tables_of_scenarios_and_budgets() -> None:
    """Each scenario and each budget has a row with its result as a word."""
    text = markdown.render(failing())

    assert (
        f"| `{MOBILENET}` | ❌ fail | 1 of 1 outputs differs: run0-var178 by up to 0.0125 "
        "| `qemu-arm64` | 149 | 1.25 s |"
    ) in text
    assert "| `resnet18-s/default@any` | ✅ pass | outputs equal to the last bit" in text
    assert (
        "| `load_and_run` `reduced` | 2.9 MiB | 2.8 MiB | -112 KiB | +348 KiB | 16 KiB | ❌ fail |"
    ) in text


def test_a_budget_without_limits_baseline_or_with_a_waiver() -> None:
    """Empty cells stay empty, a waiver shows its reason."""
    rows = (
        budget(max_bytes=None, growth_bytes=None, growth_max_bytes=None),
        budget(artifact="lib", growth_bytes=None),
        budget(variant="plain", status=BudgetStatus.SKIPPED, waiver="for #3"),
    )
    text = markdown.render(join(facts(budgets=rows)))

    assert "| `load_and_run` `reduced` | 2.5 MiB |  |  |  |  | ✅ pass |" in text
    assert "| 236 KiB | no baseline | 16 KiB | ✅ pass |" in text
    assert "| ◽ skipped, waived: for #<!-- -->3 |" in text


def test_what_was_kept_and_what_built_it_are_folded() -> None:
    """There for who wants it, in nobody's way."""
    text = markdown.render(passing())

    assert "<details><summary>What was kept: 149 of 900 regions</summary>" in text
    assert "| `megdnn_common_elemwise` | 86 | 118 |" in text
    assert "**Elementwise modes:** `ADD`, `FUSE_ADD_RELU`" in text
    assert "| engine | `megengine` `c2f1e0b6a3d94857` |" in text
    assert "| minimum size | yes |" in text
    assert "| toolchain | `clang-linux-arm64` `aarch64-linux-gnu` `clang 14.0.6` |" in text
    assert "| device | `qemu-arm64` (`qemu`) `cpu: max`, `version: 7.2.22` |" in text


def test_without_a_trace_or_operators_it_says_so() -> None:
    """Nothing chosen is not the same as nothing kept."""
    nothing = OperatorsUse(kept=(), dtypes=(), elemwise_modes=())
    text = markdown.render(
        join(facts(regions=RegionsUse(held=900, kept=0, by_tag=()), operators=nothing))
    )

    assert "<details><summary>What was kept</summary>\n\nNo region was chosen by a trace." in text
    assert "**Operators:** all" in text


def test_many_failures_leave_room_for_everything_else() -> None:
    """Ten are told in full, the next hundred in a line each, and the tables are still there."""
    many = tuple(
        replace(trapped(), id=f"m{number:03}/s@c", log_tail="x" * 100_000) for number in range(200)
    )
    text = markdown.render(join(facts(scenarios=many)))

    assert len(text) < markdown.LIMIT == 60_000
    assert text.startswith("## ❌ megtrim: fail")
    assert text.count("### ❌ fail: `trap:m0") == 10
    assert text.count("| ❌ fail | `trap:m") == 100
    assert "| `m099/s@c` | ❌ fail |" in text
    assert "### Budgets" in text
    assert text.count("*90 more in the HTML report.*") == 1
    assert text.count("<details>") == text.count("</details>") == 12
    assert "do not fit" not in text


def test_what_does_not_fit_is_left_out_whole_and_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is important comes first, so it is what stays."""
    monkeypatch.setattr(markdown, "LIMIT", 2_000)
    text = markdown.render(failing())

    assert 1_500 < len(text) <= 2_000
    assert text.startswith("## ❌ megtrim: fail")
    assert text.endswith("\n*6 parts of this page do not fit here; the HTML report has all.*\n")
    assert text.count("<details>") == text.count("</details>")


def test_a_part_is_left_out_when_it_is_one_character_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page is filled up to its limit, less the room for the note."""
    text = markdown.render(passing())
    monkeypatch.setattr(markdown, "LIMIT", len(text) + 201)
    assert markdown.render(passing()) == text

    monkeypatch.setattr(markdown, "LIMIT", len(text) + 200)
    cut = markdown.render(passing())
    assert cut.endswith("*1 part of this page does not fit here; the HTML report has all.*\n")
    assert "Engine, toolchain and devices" not in cut


def test_a_long_list_of_operators_is_cut_and_said_so() -> None:
    """A hundred names are enough for a summary."""
    uses = tuple(OperatorUse(name=f"O{number:03}", models=("m",)) for number in range(103))
    needs = OperatorsUse(kept=uses, dtypes=uses[:100], elemwise_modes=uses[:101])
    text = markdown.render(join(facts(operators=needs)))

    assert ", `O099` and 3 more\n\n**Data types:** `O000`" in text
    assert ", `O099`\n\n**Elementwise modes:** `O000`" in text
    assert ", `O099` and 1 more\n\n</details>" in text


def test_a_long_table_is_cut_and_said_so() -> None:
    """A hundred rows are enough for a summary."""
    many = tuple(scenario(f"m/s{number:03}@c") for number in range(103))
    text = markdown.render(join(facts(scenarios=many)))

    assert text.count("| `m/s") == 100
    assert "*3 more in the HTML report.*" in text
    one_over = markdown.render(join(facts(scenarios=many[:101])))
    assert "*1 more in the HTML report.*" in one_over
    whole = markdown.render(join(facts(scenarios=many[:100])))
    assert whole.count("| `m/s") == 100
    assert "more in the HTML report" not in whole


def test_hostile_texts_stay_text() -> None:
    """No mention, number or HTML of a log, a name or a message is alive outside of code."""
    text = markdown.render(hostile())
    outside = re.sub(r"(?ms)^(`{3,})text\n.*?^\1$", "", text)
    outside = re.sub("`[^`\n]*`|<code>[^\n]*?</code>", "", outside)

    assert "<script" not in outside
    assert "@admin" not in outside
    assert " #1" not in outside
    assert "\x1b" not in text
    text.encode()


def test_equal_verdicts_give_equal_pages() -> None:
    """The page is a function of the verdict."""
    assert markdown.render(failing()) == markdown.render(failing())
