"""Times that devices took: the record of each contest, and which of all results counts.

Samples that contradict their contest prove nothing; without any it is never a pass.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import Contradiction, PendingReason, ScenarioStatus
from megtrim.core.evidence.evidence import (
    PENDING,
    DeviceResult,
    EvidenceResult,
    JobPurpose,
    expect_evidence_of,
    list_results,
    read_evidence,
    read_folders,
)
from megtrim.core.evidence.fields import A_LINE, Digest, Line, is_line, require
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.lab.evidence.bundle import BundleContest, BundleDevice, find_device
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.input_files import decode
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.limits import MOST_ITEMS, clean_line
from megtrim.libs.util.strict_json import load
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.times.experiments.contest import (
    MOST_RUNS,
    Contest,
    ContestResult,
    Mark,
    Sample,
)

VERSION = 3
LARGEST_RECORD = LARGEST_DOCUMENT
MOST_DAYS = 1
"""By how much the day of a device may differ: a night has two, and clocks differ."""

STATUSES: Mapping[PerformanceStatus, ScenarioStatus] = {
    PerformanceStatus.MEASURED: ScenarioStatus.PASS,
    PerformanceStatus.WRONG_OUTPUTS: ScenarioStatus.PARITY,
    PerformanceStatus.FAILED: ScenarioStatus.ENGINE_ERROR,
}
"""What evidence says of how a contest ended."""

SKIPPED = ScenarioStatus.UNVERIFIED
"""What evidence says of a contest that the machine cannot hold."""

_HINT = "look at the device job, and run it again"
_RECORD_HINT = "run the device job again; `megtrim ci evidence run` writes it"
_CLOCK_HINT = "set the clock of the device's host, and run the device job again"
_SPARE = 2
"""Rounds that may be run for each that counts: others are marked."""
_CLOCKS_DIFFER = 1.05
"""By how much a program's own times may add up to more than its wall time."""


class ContestRecord(Value):
    version: int = VERSION
    bundle: Digest
    contest: Line
    binding: Digest
    result: ContestResult

    def __post_init__(self) -> None:
        conditions = self.result.conditions
        expected = f"at most {MOST_ITEMS}"
        require(len(conditions) <= MOST_ITEMS, "conditions", len(conditions), expected)
        for line in (self.result.reason, self.result.outputs, *conditions):
            require(is_line(line), "result", line, A_LINE)


def parse_record(text: str, *, source: str) -> ContestRecord:
    return load(ContestRecord, text, source=source, version=VERSION, hint=_RECORD_HINT)


def make_contest_result(record: ContestRecord, digest: str) -> EvidenceResult:
    result = record.result
    samples = count(sum(each.processes for each in result.samples), "process", "processes")
    text = f"timed: {samples}" if result.status is PerformanceStatus.MEASURED else result.reason
    return EvidenceResult(
        scenario=record.contest,
        binding=record.binding,
        status=STATUSES[result.status],
        text=text,
        time_s=result.time_s,
        times=digest,
    )


def make_skipped_result(contest: BundleContest, reason: str) -> EvidenceResult:
    return EvidenceResult(
        scenario=contest.id,
        binding=contest.binding,
        status=SKIPPED,
        text=clean_line(reason),
        time_s=0.0,
    )


class TimedContest(Value):
    device: DeviceIdentity
    entry: str
    """Name of the configured device that the machine is."""
    result: ContestResult | None
    skipped: str = ""

    @property
    def rank(self) -> int:
        """What counts first: 0 is a failure, 1 are times, 2 that there can be none."""
        if self.result is None:
            return 2
        return int(self.result.status is PerformanceStatus.MEASURED)


class TimesJudge(Value):
    brought: Mapping[str, Sequence[DeviceResult]]
    """By the contest's id."""
    devices: tuple[BundleDevice, ...]
    pending: PendingReason | None
    today: date
    bundle: str = ""
    """The sha256 of the bundle that asked; empty: contests come from the project itself."""

    def choose(self, asked: BundleContest) -> TimedContest:
        """Return the result of a contest. Raises InfrastructureFailure where none counts."""
        usable: list[TimedContest] = []
        lost: list[InfrastructureFailure] = []
        for brought in self._list_fitting(asked):
            try:
                usable.append(self._read(brought, asked))
            except InfrastructureFailure as failure:
                lost.append(failure)
        if not usable:
            raise lost[0]
        # A wrong output is not outvoted by other runs, and what was measured could be.
        worst = min(usable, key=lambda found: (found.rank, found.device.name))
        others = [found for found in usable if found.rank == worst.rank and found != worst]
        if worst.rank == 1 and others:
            names = " and ".join(sorted({found.device.name for found in (worst, *others)}))
            msg = f"two results for it differ, from {names}; it is unknown which is right"
            raise InfrastructureFailure(msg, hint="give the evidence of one run of the device jobs")
        return worst

    def _list_fitting(self, asked: BundleContest) -> Sequence[DeviceResult]:
        found = self.brought.get(asked.id, ())
        fitting = [each for each in found if each.result.binding == asked.binding]
        # Forks run no device jobs, so what comes from one is not genuine.
        if fitting and self.pending is not PendingReason.FORK:
            return fitting
        if self.pending is not None:
            why = PENDING[self.pending].format(labels=f"self-hosted, megtrim, {asked.cpu_class}")
        elif found:
            why = "the evidence of the device jobs is for another program, model, input or setting"
        else:
            why = "no device job delivered a result for it"
        raise InfrastructureFailure(why, hint=_HINT)

    def _read(self, brought: DeviceResult, asked: BundleContest) -> TimedContest:
        device = brought.device
        result = brought.result
        day = brought.evidence.day
        entry = find_device(self.devices, brought.evidence.cpu_class, device)
        if entry is None:
            msg = f"{device.name} ({device.kind}) is not one of the devices that were asked"
            raise InfrastructureFailure(msg, hint=_HINT)
        days = brought.days_until(self.today)
        if abs(days) > MOST_DAYS:
            when = "before" if days > 0 else "after"
            msg = f"{device.name} brought it on {day}, which is {when} this run"
            raise InfrastructureFailure(msg, hint=_HINT if days > 0 else _CLOCK_HINT)
        if result.times is None:
            text = clean_line(f"{device.name}: {result.text}")
            if result.status is SKIPPED and asked.cpu_features:
                return TimedContest(device=device, entry=entry.name, result=None, skipped=text)
            raise InfrastructureFailure(text, hint=_HINT, attempts=result.attempts)
        try:
            source = str(brought.file(result.times))
            data = brought.load(result.times, most=LARGEST_RECORD) or b""
            record = parse_record(decode(data, shown=source), source=source)
            expect_of(record, asked)
            status = record.result.status
            if STATUSES[status] is not result.status:
                msg = f"its samples say {status}, its evidence {result.status}"
                raise InputError(msg)
            if self.bundle not in ("", record.bundle):
                found = record.bundle[:12]
                expected = self.bundle[:12]
                msg = f"the bundle {found} asked for it, but this run has the bundle {expected}"
                raise InputError(msg)
        except InputError as error:
            msg = clean_line(f"{device.name}: {error.message}")
            raise InfrastructureFailure(msg, hint=_HINT) from None
        return TimedContest(device=device, entry=entry.name, result=record.result)


def read_times(
    folders: Sequence[Path], *, config: str
) -> tuple[Mapping[str, Sequence[DeviceResult]], tuple[str, ...]]:
    """Raises InputError for evidence of another configuration than ``config``."""
    found: dict[str, list[DeviceResult]] = {}
    problems = []
    for folder in read_folders(folders):
        try:
            entries = read_evidence(folder)
        except InputError as error:
            problems.append(error.message)
            continue
        expect_evidence_of(config, f"{folder}: the evidence", entries)
        for evidence in entries:
            if evidence.purpose is not JobPurpose.TIME:
                problems.append(f"{folder} is to {evidence.purpose}, expected one to time")
                continue
            for brought in list_results(evidence, folder):
                found.setdefault(brought.result.scenario, []).append(brought)
    unusable = (clean_line(f"evidence that cannot be used: {problem}") for problem in problems)
    return found, tuple(unusable)


def expect_of(record: ContestRecord, asked: BundleContest) -> None:
    """Raise Contradiction for a record that no run of this contest leaves."""
    if (record.contest, record.binding) != (asked.id, asked.binding):
        msg = f"{asked.id}: found the samples of {record.contest}, expected its own"
        raise Contradiction(msg, hint=_RECORD_HINT)
    for objection in _list_objections(record.result, asked.held):
        msg = f"{asked.id}: its status is {record.result.status}, and {objection}"
        raise Contradiction(msg, hint=_RECORD_HINT)


def _list_objections(result: ContestResult, contest: Contest) -> Iterator[str]:
    measured = result.status is PerformanceStatus.MEASURED
    if measured is bool(result.reason):
        yield "it has a reason" if measured else "it has no reason"
    if measured and contest.rival is not None and not result.outputs:
        yield "its outputs were not compared"
    if result.program_time_s > result.time_s:
        yield "its programs took longer than everything together"
    yield from _list_places(result.samples, contest)
    if measured:
        yield from _list_gaps(result.samples, contest)
    if result.by_run_length and contest.whole:
        yield "its times are from runs of different lengths"
    if not result.by_run_length:
        yield from _list_lengths(result.samples, contest)
    if any(_is_of_the_other_kind(sample, contest) for sample in result.samples):
        yield f"its samples have other times than {_name_times(contest)}"
    times_ms = (
        (sample.prepare_ms or 0.0)
        + sum(sample.warm_ups_ms)
        + sum(sample.iterations_ms)
        + sum(sample.runs_ms)
        for sample in result.samples
    )
    total_s = sum(times_ms) / 1000
    if not result.by_run_length and total_s > result.program_time_s * _CLOCKS_DIFFER:
        yield f"its times add up to {total_s:.3g} s in {result.program_time_s:.3g} s of programs"


def _list_places(samples: tuple[Sample, ...], contest: Contest) -> Iterator[str]:
    names = {each.name for _, each in contest.sides}
    contestants: set[tuple[int, str]] = set()
    positions: set[tuple[int, int]] = set()
    for sample in samples:
        number = sample.round_number
        if sample.contestant not in names:
            yield "a sample is from another contestant"
        if number >= _SPARE * contest.budget.rounds or sample.position >= len(names):
            yield f"a sample is from round {number}, position {sample.position}"
        if (number, sample.contestant) in contestants or (number, sample.position) in positions:
            yield f"round {number} has a sample twice"
        contestants.add((number, sample.contestant))
        positions.add((number, sample.position))


def _list_gaps(samples: tuple[Sample, ...], contest: Contest) -> Iterator[str]:
    """Object to rounds that are missing: someone may have chosen among them."""
    if not samples:
        yield "it has no samples"
        return
    rounds = 1 + max(sample.round_number for sample in samples)
    if len(samples) != rounds * len(contest.sides):
        yield f"it has {len(samples)} samples of {rounds} rounds"


def _list_lengths(samples: tuple[Sample, ...], contest: Contest) -> Iterator[str]:
    kept = [sample for sample in samples if Mark.DAMAGED_LOG not in sample.marks]
    what = _name_times(contest)
    if contest.whole:
        counts = sorted({len(each.runs_ms) for each in kept})
        least = 1
    else:
        counts = sorted({len(each.iterations_ms) for each in kept})
        least = max(each.commands[-1].iterations for _, each in contest.sides)
    if len(counts) > 1:
        yield f"its samples have {counts[0]} and {counts[-1]} {what}"
    elif counts and counts[0] < least:
        yield f"its samples have {counts[0]} {what}, asked were {least}"
    elif contest.whole and counts and counts[0] > MOST_RUNS:
        yield f"its samples have {counts[0]} {what}, expected at most {MOST_RUNS}"


def _name_times(contest: Contest) -> str:
    return "whole runs" if contest.whole else "iterations"


def _is_of_the_other_kind(sample: Sample, contest: Contest) -> bool:
    """Whole runs have no steps, and a model's processes are not timed whole."""
    if not contest.whole:
        return bool(sample.runs_ms)
    return sample.prepare_ms is not None or bool(sample.warm_ups_ms or sample.iterations_ms)
