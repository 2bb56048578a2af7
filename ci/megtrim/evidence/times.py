"""Which result of a contest counts, of all that device jobs brought; or why none does.

Pure: reads folders of evidence into values. What a device brought counts for exactly the contest
that it is bound to, from a device that was asked, on its day. A contest for which nothing counts
is lost, as it would be if the device had failed here: an InfrastructureFailure, never a pass, and
no other contest is lost with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from megtrim.checks.check import DeviceIdentity
from megtrim.evidence import limits
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.configuration import expect_evidence_of
from megtrim.evidence.contest_record import (
    LARGEST_RECORD,
    SKIPPED,
    STATUSES,
    ContestRecord,
    expect_of,
    make_evidence,
    parse_record,
)
from megtrim.evidence.device import BundleDevice
from megtrim.evidence.evidence import (
    Evidence,
    EvidenceResult,
    load_file,
    read_evidence,
    read_folders,
)
from megtrim.experiments.contest import Contest, ContestResult, PerformanceStatus
from megtrim.jobs.evidence_checks import PENDING, PendingReason
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.input_files import decode

MOST_DAYS = 1
"""By how much the day of a device may differ: a night has two, and clocks differ."""

_MEASURED = 1
_HINT = "look at the device job, and run it again"
_CLOCK_HINT = "set the clock of the device's host, and run the device job again"
_NO_RESULT = "no device job brought a result of it"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedContest:
    """A contest that devices were asked for."""

    id: str
    cpu_class: str
    binding: str
    contest: Contest
    cpu_features: tuple[str, ...] = ()
    """Without which a machine cannot hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedContest:
    """The result that counts, and the machine that it is from; or why that cannot hold it."""

    device: DeviceIdentity
    entry: str
    """Name of the configured device that the machine is."""
    result: ContestResult | None
    """None: the machine cannot hold the contest."""
    skipped: str = ""
    """Why it cannot; empty where there is a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesBrought:
    """All that device jobs brought of contests."""

    found: Mapping[str, tuple[BroughtResult, ...]]
    """By the contest's id."""
    problems: tuple[str, ...]
    """Evidence that cannot be used, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtResult:
    """What one machine brought of one contest."""

    evidence: Evidence
    result: EvidenceResult
    folder: Path
    """Of the evidence."""


def read_times(folders: Sequence[Path], *, config: str) -> TimesBrought:
    """Return the results of contests in folders of evidence; damaged ones are problems.

    Where ``evidence.json`` cannot be read, the records next to it count by themselves. Raises
    InputError for evidence of another configuration than ``config``.
    """
    found: dict[str, list[BroughtResult]] = {}
    problems = []
    for folder in read_folders(folders):
        try:
            entries = read_evidence(folder)
        except InputError as error:
            problems.append(limits.clean_line(f"evidence that cannot be used: {error.message}"))
            entries = tuple(_read_records(folder, config))
        expect_evidence_of(config, f"{folder}: the evidence", entries)
        for evidence in entries:
            if evidence.purpose is not JobPurpose.TIME:
                what = f"{folder} is to {evidence.purpose}, expected one to time"
                problems.append(limits.clean_line(f"evidence that cannot be used: {what}"))
                continue
            for result in evidence.results:
                brought = BroughtResult(evidence=evidence, result=result, folder=folder)
                found.setdefault(result.scenario, []).append(brought)
    return TimesBrought(
        found={id_: tuple(every) for id_, every in sorted(found.items())}, problems=tuple(problems)
    )


def _read_records(folder: Path, config: str) -> Iterator[Evidence]:
    """Yield the evidence of each whole record in a folder, whatever else it holds."""
    files = folder / limits.FILES
    try:
        names = sorted(each.name for each in files.iterdir())
    except OSError:
        return
    for digest in names[: limits.MOST_RESULTS]:
        try:
            yield make_evidence(_read_record(folder, digest), digest, config=config)
        except (InputError, ValueError):
            continue  # damaged itself, or no record


def _read_record(folder: Path, digest: str) -> ContestRecord:
    """Read a record, after checking its digest. Raises InputError."""
    data = load_file(folder, digest, most=LARGEST_RECORD)
    source = str(folder / limits.FILES / digest)
    return parse_record(decode(data, shown=source), source=source)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimesJudge:
    """Says which result counts."""

    brought: TimesBrought
    devices: tuple[BundleDevice, ...]
    """Those that were asked."""
    pending: PendingReason | None
    """Why results may be missing; None if the device jobs ended."""
    today: date
    bundle: str = ""
    """The sha256 of the bundle that asked; empty: contests come from the project itself."""

    def choose(self, asked: AskedContest) -> TimedContest:
        """Return the result of a contest. Raises InfrastructureFailure where none counts."""
        usable: list[TimedContest] = []
        why: list[InfrastructureFailure] = []
        for each in self._list_fitting(asked):
            try:
                usable.append(self._read(each, asked))
            except InfrastructureFailure as failure:
                why.append(failure)
        if not usable:
            raise why[0]
        # A wrong output is not outvoted by other runs, and what was measured could be.
        worst = min(map(_rank, usable))
        counting = [each for each in usable if _rank(each) == worst]
        if worst == _MEASURED and any(each != counting[0] for each in counting):
            names = " and ".join(sorted({each.device.name for each in counting}))
            msg = f"two results of it differ, from {names}: it is not known which is right"
            raise InfrastructureFailure(msg, hint="give the evidence of one run of the device jobs")
        return min(counting, key=lambda each: each.device.name)

    def _list_fitting(self, asked: AskedContest) -> Sequence[BroughtResult]:
        """Return what was brought for this very contest. Raises InfrastructureFailure for none."""
        found = self.brought.found.get(asked.id, ())
        fitting = [each for each in found if each.result.binding == asked.binding]
        if self.pending is PendingReason.FORK:
            # Forks run no device jobs, so what comes from one is not genuine.
            fitting = []
        if fitting:
            return fitting
        if self.pending is not None:
            why = PENDING[self.pending].format(cpu_class=asked.cpu_class)
        elif found:
            why = "what device jobs brought is of another program, model, input or setting"
        else:
            why = _NO_RESULT
        raise InfrastructureFailure(why, hint=_HINT)

    def _read(self, brought: BroughtResult, asked: AskedContest) -> TimedContest:
        """Return one result. Raises InfrastructureFailure where it does not count."""
        evidence, result, name = brought.evidence, brought.result, brought.evidence.device.name
        entry = _find_entry(evidence, self.devices)
        if entry is None:
            msg = f"{name} ({evidence.device.kind}) is no device that was asked"
            raise InfrastructureFailure(msg, hint=_HINT)
        days = (self.today - date.fromisoformat(evidence.day)).days
        if abs(days) > MOST_DAYS:
            when = "before" if days > 0 else "after"
            msg = f"{name} brought it on {evidence.day}, which is {when} this run"
            raise InfrastructureFailure(msg, hint=_HINT if days > 0 else _CLOCK_HINT)
        if result.status is SKIPPED and asked.cpu_features and result.times is None:
            text = limits.clean_line(f"{name}: {result.text}")
            return TimedContest(device=evidence.device, entry=entry, result=None, skipped=text)
        if result.times is None:
            msg = f"{name}: {result.text}"
            raise InfrastructureFailure(msg, hint=_HINT, attempts=result.attempts)
        try:
            found = self._load(brought, asked)
        except InputError as error:
            msg = limits.clean_line(f"{name}: {error.message}")
            raise InfrastructureFailure(msg, hint=_HINT) from None
        return TimedContest(device=evidence.device, entry=entry, result=found)

    def _load(self, brought: BroughtResult, asked: AskedContest) -> ContestResult:
        """Return the samples, after checking them against all that they must be of.

        Raises InputError.
        """
        evidence, digest = brought.evidence, brought.result.times or ""
        record = _read_record(brought.folder, digest)
        expect_of(record, id_=asked.id, binding=asked.binding, contest=asked.contest)
        if STATUSES[record.result.status] is not brought.result.status:
            msg = f"its samples say {record.result.status}, its evidence {brought.result.status}"
            raise InputError(msg)
        origin = record.origin
        if (origin.device.name, origin.day) != (evidence.device.name, evidence.day):
            msg = f"its samples are from {origin.device.name} on {origin.day}, not of this job"
            raise InputError(msg)
        if self.bundle not in ("", origin.bundle):
            msg = (
                f"the bundle {origin.bundle[:12]} asked for it, and this one is {self.bundle[:12]}"
            )
            raise InputError(msg)
        return record.result


def _rank(found: TimedContest) -> int:
    """Return what counts first: a failure, then times, then that there can be none."""
    if found.result is None:
        return _MEASURED + 1
    return _MEASURED if found.result.status is PerformanceStatus.MEASURED else _MEASURED - 1


def _find_entry(evidence: Evidence, devices: Iterable[BundleDevice]) -> str | None:
    """Return the name of the device on a runner that a machine is; None: it was not asked."""
    fitting = (each for each in devices if each.is_machine(evidence.cpu_class, evidence.device))
    return next((each.name for each in fitting if each.runner), None)
