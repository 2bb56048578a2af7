"""What a contest on a device brought, as a document of its own: ``files/<sha256>`` of evidence.

One file for each contest: what is damaged costs its own row. It says which job it is from, so that
it can be read without the ``evidence.json`` that names it. Pure; part of the evidence room.
:func:`expect_of` says whether a record can be what a contest of a bundle brings: the judge gets
samples, never a judgement, and samples that contradict their contest prove nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.content import Contradiction
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence import limits
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import Evidence, EvidenceResult
from megtrim.experiments.contest import Contest, ContestResult, Mark, PerformanceStatus, Sample
from megtrim.util.json_text import LARGEST_DOCUMENT
from megtrim.util.strict_json import dump, load
from megtrim.util.wording import count

VERSION = 2
LARGEST_RECORD = LARGEST_DOCUMENT
"""Bytes of one contest's document."""

STATUSES: Mapping[PerformanceStatus, ScenarioStatus] = {
    PerformanceStatus.MEASURED: ScenarioStatus.PASS,
    PerformanceStatus.WRONG_OUTPUTS: ScenarioStatus.PARITY,
    PerformanceStatus.FAILED: ScenarioStatus.ENGINE_ERROR,
}
"""What evidence says of how a contest ended."""

SKIPPED = ScenarioStatus.UNVERIFIED
"""What evidence says of a contest that the machine cannot hold."""

_HINT = "run the device job again; `megtrim ci evidence run` writes it"
_SPARE = 2
"""Rounds that may be run for each that counts: others are marked."""
_CLOCKS_DIFFER = 1.05
"""By how much a program's own times may add up to more than its wall time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOrigin:
    """The job that a record is from."""

    bundle: str
    """The sha256 of the bundle that asked."""
    cpu_class: Annotated[str, Field(alias="class")]
    device: DeviceIdentity
    day: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestRecord:
    """The document: whose result it is, which job it is from, and the result."""

    version: int = VERSION
    contest: str
    """Its id."""
    binding: str
    origin: RecordOrigin
    result: ContestResult

    def __post_init__(self) -> None:
        limits.check_digest("bundle", self.origin.bundle)
        limits.check_line("contest", self.contest)
        limits.check_digest("binding", self.binding)
        limits.check_line("reason", self.result.reason)
        limits.check_line("outputs", self.result.outputs)
        limits.check_count("conditions", self.result.conditions, limits.MOST_ITEMS)
        for line in self.result.conditions:
            limits.check_line("conditions", line)


def dump_record(record: ContestRecord) -> str:
    """Write the document."""
    return dump(record)


def parse_record(text: str, *, source: str) -> ContestRecord:
    """Read the document. Anything but exactly its shape is an InputError naming ``source``."""
    return load(ContestRecord, text, source=source, version=VERSION, hint=_HINT)


def make_contest_result(record: ContestRecord, digest: str) -> EvidenceResult:
    """Return what evidence says of a record, which is the file of that sha256."""
    result = record.result
    samples = count(len(result.samples), "process", "processes")
    text = f"timed: {samples}" if result.status is PerformanceStatus.MEASURED else result.reason
    return EvidenceResult(
        scenario=record.contest,
        binding=record.binding,
        status=STATUSES[result.status],
        text=text,
        time_s=result.time_s,
        times=digest,
    )


def make_evidence(record: ContestRecord, digest: str, *, config: str) -> Evidence:
    """Return the evidence of a record alone; :class:`Evidence` checks what a device wrote.

    ``config`` is that of the bundle by which the record is judged.
    """
    origin = record.origin
    return Evidence(
        config=config,
        purpose=JobPurpose.TIME,
        cpu_class=origin.cpu_class,
        device=origin.device,
        day=origin.day,
        results=(make_contest_result(record, digest),),
    )


def make_skipped_result(id_: str, binding: str, reason: str) -> EvidenceResult:
    """Return what evidence says of a contest that the machine cannot hold."""
    return EvidenceResult(
        scenario=id_, binding=binding, status=SKIPPED, text=limits.clean_line(reason), time_s=0.0
    )


def expect_of(record: ContestRecord, *, id_: str, binding: str, contest: Contest) -> None:
    """Raise Contradiction for a record that no run of this contest leaves."""
    if (record.contest, record.binding) != (id_, binding):
        msg = f"{id_}: found the samples of {record.contest}, expected its own"
        raise Contradiction(msg, hint=_HINT)
    for objection in _list_objections(record.result, contest):
        msg = f"{id_}: its status is {record.result.status}, and {objection}"
        raise Contradiction(msg, hint=_HINT)


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
    if not result.by_run_length:
        yield from _list_lengths(result.samples, contest)
    total_s = sum(map(_sum_times, result.samples)) / 1000
    if not result.by_run_length and total_s > result.program_time_s * _CLOCKS_DIFFER:
        yield f"its times add up to {total_s:.3g} s in {result.program_time_s:.3g} s of programs"


def _list_places(samples: tuple[Sample, ...], contest: Contest) -> Iterator[str]:
    """Object to samples that no turn of the contest is for."""
    names = {each.name for _, each in contest.sides}
    contestants: set[tuple[int, str]] = set()
    positions: set[tuple[int, int]] = set()
    for sample in samples:
        number = sample.round_number
        if sample.contestant not in names:
            yield "a sample is of another contestant"
        if number >= _SPARE * contest.budget.rounds or sample.position >= len(names):
            yield f"a sample is of round {number}, position {sample.position}"
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
    """Object to processes of one contest that did not make equally many iterations."""
    whole = [each for each in samples if Mark.DAMAGED_LOG not in each.marks]
    counts = sorted({len(each.iterations_ms) for each in whole})
    least = max(each.commands[-1].iterations for _, each in contest.sides)
    if len(counts) > 1:
        yield f"its samples have {counts[0]} and {counts[-1]} iterations"
    elif counts and counts[0] < least:
        yield f"its samples have {counts[0]} iterations, asked were {least}"


def _sum_times(sample: Sample) -> float:
    prepare_ms = sample.prepare_ms or 0.0
    return prepare_ms + sum(sample.warm_ups_ms) + sum(sample.iterations_ms)
