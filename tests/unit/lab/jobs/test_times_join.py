from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Variant
from megtrim.core.checks.statuses import CheckStatus, PendingReason, VerdictKind
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.timing.spec import FEWEST_ROUNDS, LOOKS, PerformanceStatus
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.lab.evidence.bundle import Bundle
from megtrim.lab.evidence.times import TimesJudge, read_times
from megtrim.lab.jobs.join import join_times
from megtrim.libs.util.errors import InputError
from megtrim.times.experiments.contest import ContestResult, Mark
from unit.core.verdict.examples import passing
from unit.lab.evidence.support import (
    BUNDLE,
    CONTEST,
    DAY,
    SCENARIO,
    bundle,
    bundle_contest,
    contest,
    contest_result,
    device,
    record,
    samples,
    time_bundle,
    unheld_contest,
    write_times,
)
from unit.times.nights.faults import OTHER, WRONG

INFRASTRUCTURE = PerformanceStatus.INFRASTRUCTURE
TRIMMING = f"{SCENARIO}#trimming-reduced"
SIZES = ((Variant.PLAIN, 3000), (Variant.REDUCED, 200))


def asked(*contests: Any, **changes: Any) -> Bundle:
    made = time_bundle(*contests or (bundle_contest(), bundle_contest(id=OTHER)), **changes)
    assert made.times is not None
    return replace(made, times=replace(made.times, engine=passing().engine.digest))


def joined(
    folder: Path,
    whole: Bundle | None = None,
    *,
    pending: PendingReason | None = None,
    verdict: Verdict | None = None,
) -> Verdict:
    brought, problems = read_times([folder], config=DEFAULT_CONFIG)
    today = date.fromisoformat(DAY)
    judge = TimesJudge(
        brought=brought, devices=(device(),), pending=pending, today=today, bundle=BUNDLE
    )
    found = join_times(verdict or passing(), whole or asked(), judge, problems)
    assert parse_verdict(to_json(found), source="x") == found
    return found


def row_of(verdict: Verdict, contest_id: str = CONTEST) -> PerformanceRow:
    assert verdict.performance is not None
    name = contest_id.partition("#")[2]
    return next(row for row in verdict.performance.rows if row.experiment == name)


def check_of(verdict: Verdict, contest_id: str = CONTEST) -> CheckStatus:
    subject = contest_id.replace("#", " ")
    return next(check.status for check in verdict.checks if check.id == f"latency:{subject}")


def many(ratio: float = 0.5, **changes: Any) -> ContestResult:
    return contest_result(samples=tuple(samples(ratio, rounds=LOOKS[1], **changes)))


LONG = contest(budget=replace(contest().budget, rounds=LOOKS[1]))


def clear(*contests: Any) -> Bundle:
    made = contests or (bundle_contest(), bundle_contest(id=OTHER))
    return asked(*(replace(each, contest=each.contest and LONG) for each in made))


def test_times_stand_in_the_verdict(tmp_path: Path) -> None:
    write_times(tmp_path / "1", record(result=many()))
    write_times(tmp_path / "2", record(contest=OTHER, result=many(0.8)))
    found = joined(tmp_path, clear())
    row = row_of(found)

    assert (row.status, row.device, row.emulated) == (PerformanceStatus.MEASURED, "pixel-6", False)
    assert [each.stage for each in row.times] == ["prepare", "warm-up", "inference"]
    assert row.ratios[0].ratio == pytest.approx(0.5, rel=0.01)
    assert row.reproduce == (
        "megtrim perf run --config megtrim.yaml --committed --device pixel-6 "
        f"--experiment nchw88 --scenario {SCENARIO} --again"
    )
    assert row_of(found, OTHER).ratios[0].ratio == pytest.approx(0.8, rel=0.01)
    assert (check_of(found), check_of(found, OTHER)) == (CheckStatus.PASS, CheckStatus.PASS)
    assert found.verdict is VerdictKind.PASS
    assert found.headline == f"{passing().headline}, times: 2 measured"
    assert "pixel-6" in [each.name for each in found.devices]


PROGRAMS = {
    "crash": contest_result(status=PerformanceStatus.FAILED, reason="it was killed by SIGSEGV"),
    "hang": contest_result(
        status=PerformanceStatus.FAILED, reason="it did not end within 600 s", samples=()
    ),
    "wrong outputs": WRONG,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_fails_fails_its_own_row(tmp_path: Path, name: str) -> None:
    brought = PROGRAMS[name]
    write_times(tmp_path / "1", record(result=brought), record(contest=OTHER))
    found = joined(tmp_path)
    expected = PerformanceStatus.WRONG_OUTPUTS if brought is WRONG else PerformanceStatus.FAILED

    assert (row_of(found).status, check_of(found)) == (expected, CheckStatus.FAIL)
    assert row_of(found).reason == brought.reason
    assert row_of(found, OTHER).times
    assert found.verdict is VerdictKind.FAIL
    assert found.headline.startswith("1 check failed, ")


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (Mark.THROTTLED, "the machine was throttled"),
        (Mark.LOW_BATTERY, "the battery was low"),
        (Mark.BUSY, "the machine was busy"),
    ],
)
def test_samples_that_do_not_count_are_shown_and_left_out(
    tmp_path: Path, mark: Mark, why: str
) -> None:
    write_times(tmp_path / "1", record(result=many(marks=(mark,))), record(contest=OTHER))
    row = row_of(joined(tmp_path))

    of = f"{2 * LOOKS[1]} of {2 * LOOKS[1]} processes"
    assert (row.status, row.reason) == (INFRASTRUCTURE, f"none of its samples count: {why} in {of}")
    assert [(each.reason, each.count) for each in row.left_out] == [(str(mark), 2 * LOOKS[1])]
    assert row.times == ()


def test_too_few_rounds_are_no_pass(tmp_path: Path) -> None:
    few = contest_result(samples=tuple(samples(rounds=FEWEST_ROUNDS - 1)))
    write_times(tmp_path / "1", record(result=few), record(contest=OTHER))
    found = joined(tmp_path)

    assert row_of(found).status is PerformanceStatus.INCONCLUSIVE
    assert check_of(found) is CheckStatus.FAIL


@pytest.mark.parametrize("pending", list(PendingReason))
def test_a_night_without_a_device_is_delivered(tmp_path: Path, pending: PendingReason) -> None:
    found = joined(tmp_path, pending=pending)

    assert {row_of(found).status, row_of(found, OTHER).status} == {INFRASTRUCTURE}
    assert found.verdict is VerdictKind.UNVERIFIED


def test_what_no_device_was_asked_for_has_its_row(tmp_path: Path) -> None:
    status = PerformanceStatus
    write_times(tmp_path / "1", record(result=many()))
    whole = clear(
        unheld_contest(status.SKIPPED, "needs a GPU", id=f"{SCENARIO}#nchw4"),
        bundle_contest(),
        unheld_contest(status.FAILED, "it did not compile", id=f"{SCENARIO}#fast-run"),
        unheld_contest(status.INFRASTRUCTURE, "no room", id=f"{SCENARIO}#full-run"),
    )
    found = joined(tmp_path, whole)

    assert found.performance is not None
    assert [(row.experiment, row.status, row.reason) for row in found.performance.rows] == [
        ("nchw4", status.SKIPPED, "needs a GPU"),
        ("nchw88", status.MEASURED, ""),
        ("fast-run", status.FAILED, "it did not compile"),
        ("full-run", status.INFRASTRUCTURE, "no room"),
    ]


def trimming(**changes: Any) -> Any:
    given = {"id": TRIMMING, "rival": Variant.REDUCED, "contest": LONG, "sizes": SIZES}
    return bundle_contest(**{**given, **changes})


def trimming_row(verdict: Verdict) -> Any:
    assert verdict.performance is not None
    (row,) = verdict.performance.trimming
    return row


@pytest.mark.parametrize(
    ("ratio", "status", "kind"),
    [
        (0.9, PerformanceStatus.MEASURED, VerdictKind.PASS),
        (1.5, PerformanceStatus.REGRESSED, VerdictKind.FAIL),
    ],
)
def test_size_and_speed_of_trimmed_programs(
    tmp_path: Path, ratio: float, status: PerformanceStatus, kind: VerdictKind
) -> None:
    write_times(tmp_path / "1", record(contest=TRIMMING, result=many(ratio)))
    found = joined(tmp_path, asked(trimming()))
    row = trimming_row(found)

    assert (row.artifact, row.status, found.verdict) == ("load_and_run", status, kind)
    sizes = [(each.variant, each.size_bytes) for each in row.variants]
    assert sizes == [("plain", 3000), ("reduced", 200)]
    assert row.variants[1].ratio.ratio == pytest.approx(ratio, rel=0.01)


@pytest.mark.parametrize("other", [(), (record(contest=TRIMMING, result=many(0.9)),)])
def test_a_lost_contest_hides_no_failure_of_its_row(tmp_path: Path, other: Any) -> None:
    region = trimming(id=f"{SCENARIO}#trimming-region", rival=Variant.REGION)
    programs = dict.fromkeys(("plain", "region", "reduced"), "3" * 64)
    failed = record(contest=region.id, result=WRONG)
    write_times(tmp_path / "1", failed, *other)
    found = joined(tmp_path, asked(trimming(), region, programs=programs))

    assert trimming_row(found).status is PerformanceStatus.WRONG_OUTPUTS
    assert found.verdict is VerdictKind.FAIL


def test_a_verdict_and_a_bundle_of_two_builds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="the bundle is for the engine eeeeeeeeeeee, but the verdict"
    ):
        joined(tmp_path, time_bundle())
    with pytest.raises(InputError, match="the bundle asks devices to verify, expected one that"):
        joined(tmp_path, bundle())


def test_times_are_joined_once(tmp_path: Path) -> None:
    """A second join could take what the first one lost from another night."""
    first = joined(tmp_path)
    with pytest.raises(InputError, match="the verdict contains times already"):
        joined(tmp_path, verdict=first)


def test_what_cannot_be_used_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad/evidence.json").write_text("{", encoding="utf-8")
    warnings = joined(tmp_path).warnings

    assert len(warnings) == len(passing().warnings) + 1
    assert warnings[-1].startswith(f"evidence that cannot be used: {tmp_path}/bad/evidence.json:1")
