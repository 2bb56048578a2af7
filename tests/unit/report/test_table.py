from dataclasses import replace

import pytest

from megtrim.checks.invocation import suggest_for_scenario
from megtrim.checks.statuses import CheckKind
from megtrim.report import table
from megtrim.trim.results import RegionsUse
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.verdict.examples import by_committed, compared, facts, failing, hostile, passing


def test_a_pass_in_full() -> None:
    assert table.render(passing()) == (
        "load_and_run\n"
        "  variant       bytes      size  % of plain  regions kept  verdict\n"
        "  -------  ----------  --------  ----------  ------------  -------\n"
        "  plain    39,300,016  37.5 MiB      100.0%             -\n"
        "  profile  41,204,312  39.3 MiB      104.8%    900 of 900\n"
        "  reduced   2,641,920   2.5 MiB        6.7%    149 of 900  pass\n"
        "\n"
        "budgets\n"
        "  budget        limits     used    limit     left  left in %\n"
        "  ------------  ------  -------  -------  -------  ---------\n"
        "  load_and_run  size    2.5 MiB  2.8 MiB  236 KiB       8.4%\n"
        "  load_and_run  growth   +1 KiB   16 KiB   15 KiB      93.8%\n"
        "\n"
        "verdict: pass. load_and_run: 37.5 MiB → 2.5 MiB (6.7% of plain), "
        "3 of 3 scenarios verified, 149 of 900 regions kept\n"
    )


def test_growth_has_a_column_where_there_is_a_baseline() -> None:
    assert table.render(compared()).startswith(
        "load_and_run\n"
        "  variant       bytes      size  % of plain  growth  regions kept  verdict\n"
        "  -------  ----------  --------  ----------  ------  ------------  -------\n"
        "  plain    39,300,016  37.5 MiB      100.0%     0 B             -\n"
        "  profile  41,204,312  39.3 MiB      104.8%       -    900 of 900\n"
        "  reduced   2,641,920   2.5 MiB        6.7%  -2 KiB    149 of 900  pass\n"
        "\n"
        "baseline: main at 2981d11\n"
    )


def test_a_failure_lists_what_to_look_at_and_warnings() -> None:
    verdict = failing()
    lines = table.render(verdict).splitlines()

    assert lines[5].endswith("149 of 900  fail")
    trap = "trap:resnet18-s/tuned@armv82-dotprod: trapped: 2 regions that it needs were not kept"
    parity = "parity:mobilenet-s/default@any: 1 of 1 outputs differs: run0-var178 by up to 0.0125"
    verify = "    to see it again: megtrim verify --config megtrim.yaml --committed --scenario"
    assert lines[15:25] == [
        f"  fail: {trap}",
        f"    what to do: {suggest_for_scenario(CheckKind.TRAP, verdict.invocation)}",
        f"{verify} resnet18-s/tuned@armv82-dotprod --again",
        f"  fail: {parity}",
        f"    what to do: {suggest_for_scenario(CheckKind.PARITY, verdict.invocation)}",
        f"{verify} mobilenet-s/default@any --again",
        "  fail: size:load_and_run/reduced: 2.9 MiB of 2.8 MiB, 112 KiB too many",
        "    what to do: make it smaller, raise the budget, or add a waiver with a reason",
        "    to see it again: megtrim size --config megtrim.yaml --committed",
        "  fail: growth:load_and_run/reduced: +348 KiB since main at 2981d11, 16 KiB allowed",
    ]
    assert lines[26:] == [
        "  warning: the engine's checkout has changes that are not committed: 2 files"
    ]


@pytest.mark.parametrize(
    ("verdict", "cell"),
    [
        (by_committed(), "         149"),
        (join(facts(regions=RegionsUse(held=900, kept=0, by_tag=()))), "  900 of 900"),
        (join(facts(regions=RegionsUse(held=0, kept=0, by_tag=()))), "             -"),
    ],
    ids=["by the keep set", "without a trace all", "not known"],
)
def test_regions_are_those_that_a_variant_has(verdict: Verdict, cell: str) -> None:
    (line,) = (each for each in table.render(verdict).splitlines() if "  reduced  " in each)

    assert line.partition("6.7%")[2].strip().split("  ")[0] == cell.strip()
    assert line.endswith("  pass")


def test_several_artifacts_and_hostile_names() -> None:
    two = tuple(replace(artifact, name=name) for artifact in facts().artifacts for name in "ab")

    assert table.render(join(facts(artifacts=two))).count("  plain    39,300,016") == 2
    assert "\x1b" not in table.render(hostile())
    table.render(hostile()).encode()
