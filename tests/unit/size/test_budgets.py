from datetime import date

import pytest

from megtrim.config.model import Budget, Waiver
from megtrim.size.budgets import Baseline, Measured, check, ending, warn_early
from megtrim.size.rows import BudgetRow, BudgetStatus, LimitKind
from megtrim.util.errors import InputError

TODAY = date(2027, 1, 31)
KIB, MIB = 1024, 1024 * 1024
LAR = ("load_and_run", "reduced")
PASS, FAIL, SKIPPED = BudgetStatus.PASS, BudgetStatus.FAIL, BudgetStatus.SKIPPED


def budget(**limits: object) -> Budget:
    return Budget.model_validate({"artifact": "load_and_run", **limits})


def waiver(size: str, expires: str, owner: str = "ann", name: str = "load_and_run") -> Waiver:
    return Waiver.model_validate(
        {"budget": name, "bytes": size, "reason": "new head", "owner": owner, "expires": expires}
    )


def judge(
    one: Budget,
    size_bytes: int,
    *,
    before_bytes: int | None = None,
    waivers: tuple[Waiver, ...] = (),
) -> tuple[BudgetRow, ...]:
    baseline = None if before_bytes is None else Baseline(source="main", sizes={LAR: before_bytes})
    return check([one], Measured(sizes={LAR: size_bytes}), baseline, waivers, TODAY)


@pytest.mark.parametrize(
    ("limit", "size_bytes", "before_bytes", "status", "text"),
    [
        ("2 MiB", 2 * MIB, None, PASS, "2 MiB of 2 MiB, 0 B left"),
        ("2 MiB", 2 * MIB + 1, None, FAIL, "2.0 MiB of 2 MiB, 1 B too many"),
        ("16 KiB", MIB - 5, MIB, PASS, "-5 B since main, 16 KiB allowed"),
        ("16 KiB", MIB, MIB, PASS, "0 B since main, 16 KiB allowed"),
        ("16 KiB", MIB + 16 * KIB, MIB, PASS, "+16 KiB since main, 16 KiB allowed"),
        ("16 KiB", MIB + 16 * KIB + 1, MIB, FAIL, "+16.0 KiB since main, 16 KiB allowed"),
        ("1%", MIB + 10_486, MIB, PASS, "+10.2 KiB since main, 10.2 KiB allowed"),
        ("1%", MIB + 10_487, MIB, FAIL, "+10.2 KiB since main, 10.2 KiB allowed"),
        ("0 B", MIB, MIB, PASS, "0 B since main, 0 B allowed"),
    ],
)
def test_a_limit_is_kept_to_the_byte(
    limit: str, size_bytes: int, before_bytes: int | None, status: BudgetStatus, text: str
) -> None:
    one = budget(max=limit) if before_bytes is None else budget(growth=limit)

    (row,) = judge(one, size_bytes, before_bytes=before_bytes)

    assert (row.status, row.text) == (status, text)
    assert row.is_exceeded is (status is FAIL)


@pytest.mark.parametrize("sizes", [None, {}, {("load_and_run", "plain"): 5}])
def test_growth_without_a_baseline_is_skipped(sizes: dict[tuple[str, str], int] | None) -> None:
    baseline = None if sizes is None else Baseline(source="main", sizes=sizes)

    (row,) = check([budget(growth="1 KiB")], Measured(sizes={LAR: 9}), baseline, (), TODAY)

    assert (row.status, row.used_bytes, row.baseline) == (SKIPPED, None, "")
    assert row.text == "no baseline to compare with"


@pytest.mark.parametrize(
    ("size_bytes", "before_bytes", "statuses"),
    [
        (MIB + 2048, MIB, [PASS, FAIL]),
        (MIB, None, [PASS, SKIPPED]),
        (3 * MIB, None, [FAIL, SKIPPED]),
        (3 * MIB, MIB, [FAIL, FAIL]),
    ],
)
def test_each_limit_is_judged_by_itself(
    size_bytes: int, before_bytes: int | None, statuses: list[BudgetStatus]
) -> None:
    rows = judge(budget(max="2 MiB", growth="1 KiB"), size_bytes, before_bytes=before_bytes)

    assert [row.kind for row in rows] == [LimitKind.SIZE, LimitKind.GROWTH]
    assert [row.status for row in rows] == statuses


ANN, LAPSED = "new head (ann, to {})", "the waiver of ann lapsed on 2027-01-30: new head"


@pytest.mark.parametrize(
    ("over_bytes", "waivers", "status", "waived", "lapsed"),
    [
        (KIB, [waiver("1 KiB", "2027-01-31")], PASS, ANN.format("2027-01-31"), ""),
        (KIB + 1, [waiver("1 KiB", "2027-02-01")], FAIL, ANN.format("2027-02-01"), ""),
        (KIB, [waiver("1 KiB", "2027-01-30")], FAIL, "", LAPSED),
        (
            3 * KIB,
            [waiver("1 KiB", "2027-02-01"), waiver("2 KiB", "2027-03-01", owner="bob")],
            PASS,
            "new head (ann, to 2027-02-01); new head (bob, to 2027-03-01)",
            "",
        ),
        (1, [waiver("1 MiB", "2027-02-01", name="load_and_run/plain")], FAIL, "", ""),
        (0, [waiver("1 KiB", "2027-02-01"), waiver("1 KiB", "2027-01-30")], PASS, "", LAPSED),
    ],
)
def test_a_waiver_raises_both_limits(
    over_bytes: int, waivers: list[Waiver], status: BudgetStatus, waived: str, lapsed: str
) -> None:
    rows = judge(
        budget(max=MIB, growth=0), MIB + over_bytes, before_bytes=MIB, waivers=tuple(waivers)
    )

    for row in rows:
        assert (row.status, row.waiver, row.lapsed) == (status, waived, lapsed)
        assert row.text.endswith(f"; {lapsed}") is bool(lapsed and status is FAIL)
        assert (", waived: " in row.text) is bool(waived)


def test_a_waiver_is_named_before_it_lapses() -> None:
    days = ("2027-02-15", "2027-02-14", "2027-02-01", "2027-01-31", "2027-01-30")
    leave = tuple(waiver("1 KiB", day) for day in days)

    assert ending(leave, date(2027, 1, 31)) == (
        "the waiver of ann for load_and_run lapses after 2027-01-31, today: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-01, in 1 day: new head",
        "the waiver of ann for load_and_run lapses after 2027-02-14, in 14 days: new head",
    )


def test_variants_are_budgets_of_their_own() -> None:
    budgets = [budget(max=10, variant="plain"), budget(max=10)]
    sizes = {LAR: 9, ("load_and_run", "plain"): 11}

    rows = check(budgets, Measured(sizes=sizes), None, (), TODAY)

    assert [(row.name, row.check_id, row.status) for row in rows] == [
        ("load_and_run/plain", "size:load_and_run/plain", FAIL),
        ("load_and_run", "size:load_and_run/reduced", PASS),
    ]


def test_budget_of_something_that_was_not_built_is_refused() -> None:
    """A budget that measures nothing would pass for ever."""
    with pytest.raises(InputError) as caught:
        check([budget(max=1)], Measured(sizes={}), None, (), TODAY)

    assert caught.value.message == (
        "the budget load_and_run names an artifact that was not built: load_and_run"
    )


def test_a_budget_of_a_section() -> None:
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    baseline = Baseline(source="main", sizes={LAR: 90}, measured={LAR: {"section .text": 50}})
    one = budget(section=".text", growth="8 B", owner="runtime")
    leave = (waiver("2 B", "2027-02-01", name="load_and_run section .text"),)

    (failed,) = check([one], measured, baseline, (), TODAY)
    (waived,) = check([one], measured, baseline, leave, TODAY)

    assert (failed.name, failed.measure) == ("load_and_run section .text", "section .text")
    assert (failed.used_bytes, failed.owner) == (10, "runtime")
    assert [failed.status, waived.status] == [FAIL, PASS]


def check_section(name: str, baseline: Baseline | None = None) -> BudgetRow:
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    known = {"load_and_run": frozenset({"section .text", "section .tdata"})}
    one = budget(section=name, max="8 B")
    (row,) = check([one], measured, baseline, (), TODAY, known)
    return row


def test_a_budget_of_a_section_that_never_was_is_refused() -> None:
    """It would pass for ever; one that another build of this artifact has is gone, and passes."""
    with pytest.raises(InputError) as caught:
        check_section(".txt")

    assert caught.value.message == (
        "the budget load_and_run section .txt: no build of load_and_run has a section .txt "
        "(did you mean .text?)"
    )
    assert caught.value.hint
    assert check_section(".tdata").status is PASS


def test_a_section_that_the_baseline_has_was_there() -> None:
    before = {"section .eh_frame": 7}
    mine = Baseline(sizes={LAR: 90}, measured={LAR: before})
    other = ("other", "reduced")
    theirs = Baseline(sizes={LAR: 90, other: 9}, measured={other: before})

    assert check_section(".eh_frame", mine).used_bytes == 0
    with pytest.raises(InputError):
        check_section(".eh_frame", theirs)


def test_a_baseline_that_does_not_measure_a_part_is_none() -> None:
    measured = Measured(sizes={LAR: 100}, measured={LAR: {"section .text": 60}})
    baseline = Baseline(source="main", sizes={LAR: 90})

    (row,) = check([budget(section=".text", growth="8 B")], measured, baseline, (), TODAY)

    assert (row.status, row.baseline) == (SKIPPED, "")


@pytest.mark.parametrize("part", [{"component": "kernels"}, {"model": "resnet50"}])
def test_a_part_that_is_not_known_is_no_pass(part: dict[str, str]) -> None:
    with pytest.raises(InputError) as caught:
        check([budget(max=9, **part)], Measured(sizes={LAR: 5}), None, (), TODAY)

    assert "cannot be checked" in caught.value.message
    assert caught.value.hint


def test_a_limit_may_be_a_share_of_the_plain_build() -> None:
    measured = Measured(sizes={LAR: 81, ("load_and_run", "plain"): 1000})

    (row,) = check([budget(max="8%")], measured, None, (), TODAY)

    assert (row.max_bytes, row.status) == (80, FAIL)


SOFT = {"warn": "1 MiB", "warn_growth": "4 KiB", "owner": "runtime"}
LARGE = "load_and_run (1.0 MiB) is above 1 MiB, from which its budget warns; runtime owns it"
GROWN = "load_and_run grew by 8 KiB; its budget warns from 4 KiB of growth; runtime owns it"
NEAR = "load_and_run (1.9 MiB) is 102.4 KiB below its limit of 2 MiB; its budget warns from 1.8 MiB"


@pytest.mark.parametrize(
    ("limits", "grown_bytes", "statuses", "warnings"),
    [
        (SOFT, 8 * KIB, [SKIPPED, SKIPPED], (LARGE, GROWN)),
        (SOFT | {"growth": "16 KiB"}, 8 * KIB, [SKIPPED, PASS], (LARGE, GROWN)),
        (SOFT | {"growth": "16 KiB"}, 17 * KIB, [SKIPPED, FAIL], (LARGE,)),
        ({"max": "2 MiB", "warn": "90%"}, int(0.7 * MIB), [PASS], ()),
        ({"max": "2 MiB", "warn": "90%"}, int(0.9 * MIB), [PASS], (NEAR,)),
        ({"max": "2 MiB", "warn": "1.8 MiB"}, int(0.9 * MIB), [PASS], (NEAR,)),
        ({"max": "2 MiB", "warn": "90%"}, int(1.1 * MIB), [FAIL], ()),
    ],
)
def test_soft_limits_warn_and_never_fail(
    limits: dict[str, str],
    grown_bytes: int,
    statuses: list[BudgetStatus],
    warnings: tuple[str, ...],
) -> None:
    """Alone, or below a hard limit that is kept; above that one no one needs a warning."""
    rows = judge(budget(**limits), MIB + grown_bytes, before_bytes=MIB)

    assert [row.status for row in rows] == statuses
    assert warn_early(rows) == warnings


@pytest.mark.parametrize(
    ("limits", "size_bytes", "lower_bytes"),
    [
        ({"max": "2 MiB"}, MIB - 4096, 2 * MIB - 4096),
        ({"max": "2 MiB"}, MIB - 1, None),
        ({"max": 2 * MIB + 7}, MIB - 1, 2 * MIB + 6),
        ({"max": "2 MB"}, MIB - 4096, 1_996_000),
        ({"max": "2 MiB"}, MIB, None),
        ({"max": "2 MiB"}, MIB + 1, None),
        ({"max": "2 MiB", "ratchet": "16 KiB"}, MIB - 4096, MIB + 12 * KIB),
        ({"max": "2 MiB", "ratchet": "1%"}, MIB, MIB + 11 * KIB),
        ({"max": "1040 KiB", "ratchet": "16 KiB"}, MIB, None),
        ({"max": "99%", "ratchet": "1 KiB"}, 9, None),
        ({"max": "1 KiB", "ratchet": "1 KiB"}, MIB, None),
    ],
)
def test_a_lower_limit_is_proposed_where_there_is_room(
    limits: dict[str, object], size_bytes: int, lower_bytes: int | None
) -> None:
    measured = Measured(sizes={LAR: size_bytes, ("load_and_run", "plain"): 2 * MIB})
    baseline = Baseline(source="main", sizes={LAR: MIB})

    (row,) = check([budget(**limits)], measured, baseline, (), TODAY)

    assert row.lower_bytes == lower_bytes
