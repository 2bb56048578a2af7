"""The check of a budget that asks for neighbours."""

from __future__ import annotations

from dataclasses import replace

from megtrim.verdict.invocation import Invocation
from megtrim.verdict.neighbour_checks import Demand, demand_check
from megtrim.verdict.statuses import CheckStatus
from unit.verdict.examples import MOBILENET, NEIGHBOURS, RESNET

DEMAND = Demand(
    artifact="load_and_run",
    asked=2,
    found={RESNET: NEIGHBOURS},
    lost={},
    file="megtrim.yaml",
    line=34,
    invocation=Invocation(config="trim/megtrim.yaml"),
)


def test_a_budget_that_is_kept_passes() -> None:
    """With how many work of all, and the time that it took."""
    check = demand_check(DEMAND)

    assert (check.id, check.status) == ("neighbours:load_and_run", CheckStatus.PASS)
    assert check.text == "2 of 4 neighbours work: as asked for"
    assert (check.detail, check.hint, check.time_s) == ("", "", 2.0)
    assert (check.file, check.line) == ("megtrim.yaml", 34)


def test_a_budget_that_is_not_kept_reports_all_that_is_broken() -> None:
    """Of every scenario, the first in the text; what a trap lacked stands below."""
    other = tuple(replace(each, scenario=MOBILENET) for each in NEIGHBOURS)
    check = demand_check(replace(DEMAND, asked="all", found={RESNET: NEIGHBOURS, MOBILENET: other}))

    assert check.status is CheckStatus.FAIL
    assert check.text == (
        "mobilenet-s/default@any: 2 of those asked for do not work: "
        "enable-nchw44 trapped, other-dump trapped (and 1 more scenario)"
    )
    assert check.detail.splitlines()[:3] == [
        f"{MOBILENET} enable-nchw44 (--enable-nchw44): trapped: it trapped",
        "  kern<7>",
        f"{MOBILENET} other-dump (--other-dump): trapped: it trapped",
    ]
    assert len(check.detail.splitlines()) == 8
    assert check.hint.startswith("make scenarios of those that you need")


def test_what_is_broken_counts_before_what_is_unknown() -> None:
    """A machine that failed leaves a kept budget open, and mends no broken one."""
    lost = replace(DEMAND, lost={MOBILENET: "the phone is gone"})
    open_, broken = demand_check(lost), demand_check(replace(lost, asked="all"))

    assert (open_.status, open_.text) == (
        *(CheckStatus.INFRASTRUCTURE, f"{MOBILENET}: the phone is gone"),
    )
    assert open_.hint.startswith("nothing is known about the product")
    assert broken.status is CheckStatus.FAIL
    assert broken.detail.splitlines()[0] == f"{MOBILENET}: the phone is gone"
