"""All facts joined into one verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.config.yaml.problems import Place
from megtrim.verdict.join import join
from megtrim.verdict.model import RegionsUse
from megtrim.verdict.statuses import CheckStatus, UnverifiedPolicy, VerdictKind, exit_code
from unit.verdict.examples import (
    MOBILENET,
    RESNET,
    TUNED,
    by_committed,
    facts,
    failing,
    passing,
    regions,
    scenario,
    unverified,
)


def test_a_good_trim_passes() -> None:
    """Everything passed: exit 0, and the headline has sizes, scenarios and regions."""
    verdict = passing()

    assert verdict.verdict is VerdictKind.PASS
    assert exit_code(verdict.verdict) == 0
    assert verdict.headline == (
        "load_and_run: 37.5 MiB → 2.5 MiB (6.7% of plain), "
        "3 of 3 scenarios verified, 149 of 900 regions kept"
    )


def test_the_headline_says_that_it_was_quick() -> None:
    """Every form of the report, and the gate, has that line."""
    known = facts()
    quick = join(replace(known, trim=replace(known.trim, quick=True)))

    assert quick.headline == (f"{join(known).headline}, the quick way, from the plain build alone")


def test_failures_come_first_in_the_headline() -> None:
    """A trap, a parity break and a budget broken both ways are four failed checks: exit 1."""
    verdict = failing()

    assert verdict.verdict is VerdictKind.FAIL
    assert exit_code(verdict.verdict) == 1
    assert verdict.headline.startswith("4 checks failed, load_and_run: 37.5 MiB → 2.9 MiB")
    assert "1 of 3 scenarios verified" in verdict.headline


def test_a_sleeping_phone_never_blocks_but_an_expired_proof_does() -> None:
    """Unverified is exit 0 within its age, 3 if the team wants to know, and 1 past it."""
    within, past = unverified(), unverified(expired=True)

    assert (within.verdict, exit_code(within.verdict)) == (VerdictKind.UNVERIFIED, 0)
    assert (past.verdict, exit_code(past.verdict)) == (VerdictKind.FAIL, 1)
    assert exit_code(within.verdict, UnverifiedPolicy.FAIL) == 3
    assert past.headline.startswith("1 check failed, ")
    assert "failed" not in within.headline


def test_checks_are_ordered_by_kind_then_subject_and_scenarios_by_id() -> None:
    """The order of the facts does not show in the verdict."""
    verdict = passing()
    given = facts()
    turned = join(replace(given, scenarios=given.scenarios[::-1], checks=given.checks[::-1]))

    assert turned == verdict
    assert [item.id for item in verdict.scenarios] == [MOBILENET, RESNET, TUNED]
    assert [check.id for check in verdict.checks] == [
        "build:plain",
        "build:profile",
        "build:reduced",
        f"trap:{MOBILENET}",
        f"trap:{RESNET}",
        f"trap:{TUNED}",
        f"parity:{MOBILENET}",
        f"parity:{RESNET}",
        f"parity:{TUNED}",
        "size:load_and_run/reduced",
        "growth:load_and_run/reduced",
    ]


def test_checks_point_to_where_their_subject_is_configured() -> None:
    """A reader of a report can go to the line; line 1 where it is not known."""
    lines = {check.id: check.line for check in passing().checks}

    assert lines[f"trap:{RESNET}"] == 21
    assert lines["growth:load_and_run/reduced"] == 34
    assert {check.line for check in join(facts(places={}, checks=())).checks} == {1}


def test_a_scenario_in_a_file_of_its_own_is_pointed_to_there() -> None:
    """Not to megtrim.yaml, which only names the pattern."""
    own = Place(file="megtrim/models/resnet/default.yaml", line=2)
    checks = {check.id: check for check in join(facts(places={RESNET: own})).checks}
    found = checks[f"trap:{RESNET}"]

    assert (found.file, found.line) == (own.file, 2)


def test_without_scenarios_nothing_is_proven() -> None:
    """A small binary that never ran is inconclusive, and says what to do."""
    verdict = join(facts(scenarios=()))

    assert verdict.verdict is VerdictKind.INCONCLUSIVE
    assert exit_code(verdict.verdict) == 0
    (check,) = [check for check in verdict.checks if check.id == "coverage:scenarios"]
    assert check.status is CheckStatus.INCONCLUSIVE
    assert check.hint == "add scenarios to the models in megtrim.yaml"
    assert "scenario" not in verdict.headline


def test_the_headline_names_only_what_was_measured() -> None:
    """No sizes, no scenario, no region: it says that."""
    nothing = RegionsUse(held=900, kept=0, by_tag=())
    plain_only = tuple(replace(item, sizes=item.sizes[:1]) for item in facts().artifacts)

    assert join(facts(scenarios=(), artifacts=(), regions=nothing)).headline == (
        "nothing was measured"
    )
    assert join(facts(artifacts=plain_only, regions=nothing)).headline == (
        "3 of 3 scenarios verified"
    )
    assert join(facts(scenarios=(scenario(RESNET),), artifacts=(), regions=nothing)).headline == (
        "1 of 1 scenario verified"
    )


def test_regions_are_counted_alone_where_no_one_knows_of_how_many() -> None:
    """A committed keep set says what is kept; what else there is, only a profile build knows."""
    one = RegionsUse(held=0, kept=1, by_tag=())

    assert by_committed().headline.endswith("3 of 3 scenarios verified, 149 regions kept")
    assert join(facts(regions=one)).headline.endswith(", 1 region kept")
    assert join(facts(regions=replace(one, held=2))).headline.endswith(", 1 of 2 regions kept")


def test_every_fact_is_in_the_verdict() -> None:
    """What a report shows is the verdict's alone."""
    given = facts(warnings=("a warning",), baseline="main at 2981d11")
    verdict = join(given)

    for name in ("origin", "config", "engine", "toolchain", "trim", "artifacts", "operators"):
        assert getattr(verdict, name) == getattr(given, name)
    assert verdict.regions == regions()
    assert verdict.devices == given.devices
    assert verdict.budgets == given.budgets
    assert verdict.baseline == "main at 2981d11"
    assert verdict.warnings == ("a warning",)


@pytest.mark.parametrize("count", [0, 1])
def test_a_verdict_that_contradicts_its_checks_cannot_be_made(count: int) -> None:
    """No hand can turn a failure into a pass, nor count a scenario twice."""
    verdict = failing()
    with pytest.raises(ValueError, match="expected what its checks add up to: fail"):
        replace(verdict, verdict=VerdictKind.PASS)
    with pytest.raises(ValueError, match="twice, expected each id once"):
        replace(verdict, scenarios=(verdict.scenarios[count],) * 2)
    with pytest.raises(ValueError, match="line below 1"):
        replace(verdict, checks=(replace(verdict.checks[count], line=0), *verdict.checks[2:]))
