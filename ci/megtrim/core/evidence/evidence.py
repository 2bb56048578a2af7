"""Evidence: what a device job brings back, and the set of proofs that a report hands on.

``evidence.json`` is next to ``files/<sha256>``. A proof is a verification that passed, and counts
for exactly what it is bound to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field

from megtrim.core.checks.check import DeviceIdentity, ScenarioOutcome
from megtrim.core.checks.statuses import (
    Contradiction,
    PendingReason,
    ScenarioStatus,
    expect_consistent,
)
from megtrim.core.evidence.fields import (
    A_LINE,
    A_NAME,
    Day,
    Digest,
    Items,
    Line,
    Log,
    Name,
    expecting,
    is_line,
    is_name,
    require,
    require_contest,
    require_scenario,
    require_unique,
)
from megtrim.core.keep.region import Region
from megtrim.libs.programs.parity import OutputResult, Tolerance
from megtrim.libs.util import limits
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.strict_json import load
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

VERSION = 4
EVIDENCE_FILE = "evidence.json"
LARGEST_TRACE = 4 * 1024 * 1024
LARGEST_CACHE = 16 * 1024 * 1024
LARGEST_LIST = 32 * 1024 * 1024
MOST_FOLDERS = 1000
MOST_FACTS = 100
DAY_S = 86_400

_HINT = "run the device job again; `megtrim ci evidence run` writes it"


class JobPurpose(StrEnum):
    VERIFY = "verify"
    TRACE = "trace"
    RECORD = "record"
    TIME = "time"


_NEEDED = {JobPurpose.TRACE: "trace", JobPurpose.RECORD: "functions", JobPurpose.TIME: "times"}
"""The file that a pass brings."""
_NO_PROOFS = "remove the option: devices then prove everything again"
ANOTHER = "give the evidence of this build's device jobs"
_ONE_RUN = "give the folders of one run of the device jobs"
_WHAT = {JobPurpose.TRACE: "traces of it", JobPurpose.RECORD: "lists of its functions"}


def _is_canonical(name: str) -> bool:
    try:
        return str(Region.parse(name)) == name
    except InputError:
        return False


RegionName = Annotated[str, expecting("a region in its canonical spelling", _is_canonical)]


class EvidenceResult(ScenarioOutcome):
    scenario: str
    """Its id; that of the contest where times are taken."""
    binding: Digest
    text: Line
    outputs: Items[OutputResult] = ()
    missing_regions: Items[RegionName] = ()
    log_tail: Log = ""
    crash: Log = ""
    attempts: Items[Line] = ()
    trace: Digest | None = None
    cache: Digest | None = None
    functions: Digest | None = None
    times: Digest | None = None

    def __post_init__(self) -> None:
        for output in self.outputs:
            require(is_line(output.name), f"{self.scenario}: outputs", output.name, A_LINE)


class Evidence(Value):
    version: int = VERSION
    config: Line
    purpose: JobPurpose
    cpu_class: Annotated[Name, Field(alias="class")]
    device: DeviceIdentity
    day: Day
    results: Annotated[tuple[EvidenceResult, ...], Field(max_length=limits.MOST_RESULTS)]

    def __post_init__(self) -> None:
        require(self.version == VERSION, "version", self.version, str(VERSION))
        for text in (self.device.name, self.device.kind):
            require(is_name(text), "device", text, A_NAME)
        facts = self.device.facts
        require(len(facts) <= MOST_FACTS, "device: facts", len(facts), f"at most {MOST_FACTS}")
        for label, value in facts.items():
            require(is_line(label), "device: facts", label, A_LINE)
            require(is_line(value), f"device: facts: {label}", value, A_LINE)
        require_unique("results", [result.scenario for result in self.results])
        for result in self.results:
            self._check(result)

    def _check(self, result: EvidenceResult) -> None:
        check = require_contest if self.purpose is JobPurpose.TIME else require_scenario
        check("results", result.scenario, cpu_class=self.cpu_class)
        compared = self.purpose is JobPurpose.VERIFY
        expect_consistent(result.scenario, result, compared=compared)
        if result.status is not ScenarioStatus.PASS:
            return
        if result.attempts:
            msg = f"{result.scenario}: its status is pass, but every machine failed"
            raise Contradiction(msg)
        if needed := _NEEDED.get(self.purpose):
            found = getattr(result, needed)
            require(found is not None, f"{result.scenario}: {needed}", found, "a sha256")


class EvidenceSet(Value):
    version: int = VERSION
    entries: Items[Evidence]


def parse_set(
    text: str, *, source: str, hint: str = "remove the file: devices then prove everything again"
) -> EvidenceSet:
    return load(EvidenceSet, text, source=source, version=VERSION, hint=hint)


def load_proofs(path: Path) -> EvidenceSet:
    """Read evidence.json of a report, which may hold only verifications that passed."""
    return parse_proofs(limits.read_text(path, hint=_NO_PROOFS), source=str(path))


def parse_proofs(text: str, *, source: str) -> EvidenceSet:
    found = parse_set(text, source=source, hint=_NO_PROOFS)
    for evidence in found.entries:
        for result in evidence.results:
            what = f"{evidence.purpose}, {result.status}"
            if what != "verify, pass":
                msg = f"{source}: {result.scenario}: found {what}, expected a proof: verify, pass"
                raise Contradiction(msg, hint=_NO_PROOFS)
    return found


def expect_configuration(what: str, found: str, expected: str) -> None:
    """Configurations of one repository may have equal names, even programs. Raises InputError."""
    if found != expected:
        msg = f"{what} is of the configuration {found}, expected one of {expected}"
        raise InputError(msg, hint="give the evidence of the jobs of one configuration")


def expect_evidence_of(expected: str, what: str, entries: Iterable[Evidence]) -> None:
    for entry in entries:
        expect_configuration(f"{what} by {entry.device.name}", entry.config, expected)


def read_evidence(folder: Path) -> tuple[Evidence, ...]:
    path = folder / EVIDENCE_FILE
    text = limits.read_text(path, hint=_HINT)
    return parse_set(text, source=str(path), hint=_HINT).entries


def read_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return those with evidence, and those directly in them, sorted; a missing one holds none."""
    found = []
    for folder in folders:
        try:
            inner = sorted(folder.iterdir()) if folder.is_dir() else []
        except OSError as error:
            msg = f"{folder} cannot be read: {error.strerror}"
            raise InputError(msg, hint=_HINT) from None
        candidates = (folder, *(each for each in inner if not each.is_symlink()))
        found += [candidate for candidate in candidates if (candidate / EVIDENCE_FILE).exists()]
    if len(found) > MOST_FOLDERS:
        msg = f"found {len(found)} folders of evidence, expected at most {MOST_FOLDERS}"
        raise InputError(msg, hint=_HINT)
    return tuple(found)


PENDING = {
    PendingReason.FORK: "a pull request from a fork runs no device job",
    PendingReason.NO_RUNNER: "no runner with the labels {labels} took the job "
    "within the time that was given",
    PendingReason.APPROVAL: "the device job waits for a reviewer",
    PendingReason.LATE: "the device job had not ended in time",
}


class DeviceResult(Value):
    evidence: Evidence
    result: EvidenceResult
    folder: Path = Path()

    @property
    def device(self) -> DeviceIdentity:
        return self.evidence.device

    @property
    def passed(self) -> bool:
        return self.result.status is ScenarioStatus.PASS

    def file(self, digest: str | None) -> Path | None:
        return None if digest is None else self.folder / limits.FILES / digest

    def load(self, digest: str | None, *, most: int) -> bytes | None:
        """Return one of its files, after checking digest and size. Raises InputError."""
        if digest is None:
            return None
        return limits.read_named(self.folder, digest, most=most, hint=_HINT)

    def days_until(self, today: date) -> int:
        return (today - date.fromisoformat(self.evidence.day)).days

    def describe_age(self, today: date) -> str:
        if self._is_ahead(today):
            return f"of {self.evidence.day}, a day to come"
        return f"{count(self.age_days(today), 'day')} old"

    def age_days(self, today: date) -> int:
        """Return how many days ago it was; tomorrow counts as today, because clocks differ."""
        return max(0, self.days_until(today))

    def is_young(self, today: date, max_age_s: float) -> bool:
        return not self._is_ahead(today) and self.age_days(today) * DAY_S <= max_age_s

    def is_within(self, tolerance: Tolerance) -> bool:
        found = (output.largest_difference or 0.0 for output in self.result.outputs)
        return all(tolerance.covers(difference) for difference in found)

    def clamp_day(self, today: date) -> DeviceResult:
        day = min(self.evidence.day, today.isoformat())
        return replace(self, evidence=replace(self.evidence, day=day))

    def _is_ahead(self, today: date) -> bool:
        # In the machine's time zone it may be tomorrow already, but never later.
        return self.days_until(today) < -1


def list_results(evidence: Evidence, folder: Path = Path()) -> list[DeviceResult]:
    every = evidence.results
    return [DeviceResult(evidence=evidence, result=each, folder=folder) for each in every]


def newest(entries: Iterable[Evidence]) -> Mapping[str, DeviceResult]:
    found: dict[str, DeviceResult] = {}
    for evidence in entries:
        if evidence.purpose is not JobPurpose.VERIFY:
            continue
        for proof in filter(lambda each: each.passed, list_results(evidence)):
            before = found.setdefault(proof.result.scenario, proof)
            if _rank(proof) > _rank(before):
                found[proof.result.scenario] = proof
    return dict(sorted(found.items()))


def as_set(proofs: Iterable[DeviceResult]) -> EvidenceSet:
    jobs: dict[tuple[str, str, str], list[DeviceResult]] = {}
    for proof in proofs:
        key = (proof.evidence.cpu_class, proof.device.name, proof.evidence.day)
        jobs.setdefault(key, []).append(proof)
    entries = []
    for _, group in sorted(jobs.items()):
        results = sorted((proof.result for proof in group), key=lambda result: result.scenario)
        kept = tuple(replace(result, log_tail="", crash="") for result in results)
        entries.append(replace(group[0].evidence, results=kept))
    return EvidenceSet(entries=tuple(entries))


def _rank(proof: DeviceResult) -> tuple[str, str, str]:
    return (proof.evidence.day, proof.device.name, proof.result.binding)


def read_brought(
    folders: Sequence[Path], *, config: str
) -> dict[JobPurpose, Mapping[str, DeviceResult]]:
    """What was brought twice must be equal: chance would decide which one counts."""
    found: dict[JobPurpose, dict[str, DeviceResult]] = {purpose: {} for purpose in _WHAT}
    places = read_folders(folders)
    if not places:
        named = ", ".join(str(folder) for folder in folders)
        msg = f"{named}: found no evidence.json there or one folder below"
        raise InputError(msg, hint=_ONE_RUN)
    for folder in places:
        entries = read_evidence(folder)
        expect_evidence_of(config, f"{folder}: the evidence", entries)
        for evidence in entries:
            purpose = evidence.purpose
            if purpose not in _WHAT:
                msg = f"{folder}: found evidence of a verification, expected traces or functions"
                raise InputError(msg, hint=_ONE_RUN)
            for given in list_results(evidence, folder):
                scenario = given.result.scenario
                before = found[purpose].setdefault(scenario, given)
                if _identify(before) != _identify(given):
                    differing = f"{before.folder} and {folder} bring different {_WHAT[purpose]}"
                    msg = f"{scenario}: {differing}"
                    raise InputError(msg, hint=_ONE_RUN)
    return {purpose: dict(sorted(every.items())) for purpose, every in found.items()}


def _identify(given: DeviceResult) -> tuple[object, ...]:
    result = given.result
    return (result.binding, result.status, result.trace, result.cache, result.functions)


def find_brought(
    scenario: str, every: Mapping[str, DeviceResult], what: str
) -> DeviceResult | None:
    """Return what was brought for a scenario; None: nothing was for any, so it is made here.

    ``what``: "trace", for messages. Raises InfrastructureFailure where others have theirs: what
    is made here would be another device's.
    """
    given = every.get(scenario)
    if given is None and every:
        msg = f"{scenario}: no device job delivered a {what}"
        raise InfrastructureFailure(msg, hint="read the logs of the device jobs; run them again")
    return given


def expect_fitting(given: DeviceResult, bound_to: str, what: str) -> None:
    result = given.result
    if result.binding != bound_to:
        found = f"the {what} in {given.folder}"
        msg = f"{result.scenario}: {found} is for another program, model or input"
        raise InputError(msg, hint=ANOTHER)
    msg = f"{result.scenario}: {given.device.name}: {result.text}"
    match result.status:
        case ScenarioStatus.PASS:
            return
        case ScenarioStatus.INFRASTRUCTURE | ScenarioStatus.UNVERIFIED:
            raise InfrastructureFailure(msg, hint="run the device job again")
        case _:
            raise ProductFailure(msg)
