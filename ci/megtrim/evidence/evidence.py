"""Evidence: what a device job brings back, and the set of proofs that a report hands on.

Both have one form: a set with an entry for each machine that ran something.
``evidence.json`` next to ``files/<sha256>``, which holds traces, algorithm caches, lists of
functions and records of contests. It comes from another machine, where a pull request's program
ran, so every text in it is checked for its form and size. Pure: text in, values out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.content import Contradiction, expect_consistent
from megtrim.checks.statuses import ScenarioStatus
from megtrim.evidence import limits
from megtrim.evidence.bundle import JobPurpose
from megtrim.load_and_run.parity import OutputResult
from megtrim.load_and_run.telemetry import Conditions
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump, load

VERSION = 4
EVIDENCE_FILE = "evidence.json"
LARGEST_TRACE = 4 * 1024 * 1024
LARGEST_CACHE = 16 * 1024 * 1024
LARGEST_LIST = 32 * 1024 * 1024
MOST_FOLDERS = 1000

_HINT = "run the device job again; `megtrim ci evidence run` writes it"
MOST_FACTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceResult:
    """The result of one scenario, or of one contest of it, on a device."""

    scenario: str
    """Its id; that of the contest where times are taken."""
    binding: str
    """What it is bound to, copied from the bundle."""
    status: ScenarioStatus
    text: str
    """One line: what was seen."""
    time_s: float
    outputs: tuple[OutputResult, ...] = ()
    missing_regions: tuple[str, ...] = ()
    log_tail: str = ""
    conditions: Conditions | None = None
    """Conditions under which the time was measured; None: the device does not measure them."""
    crash: str = ""
    """What the device knows about a run that a signal ended: lines, or empty."""
    trace: str | None = None
    """The sha256 of the trace."""
    cache: str | None = None
    """The sha256 of the algorithm cache that a search left."""
    functions: str | None = None
    """The sha256 of the list of functions that ran."""
    times: str | None = None
    """The sha256 of a contest's record."""
    attempts: tuple[str, ...] = ()
    """One line for each machine that failed, if there is no result in the end."""

    def __post_init__(self) -> None:
        where = self.scenario[:60]
        limits.check_digest(f"{where}: binding", self.binding)
        limits.check_line(f"{where}: text", self.text)
        limits.check_count(f"{where}: outputs", self.outputs, limits.MOST_ITEMS)
        for output in self.outputs:
            limits.check_line(f"{where}: outputs", output.name)
        limits.check_count(f"{where}: missing_regions", self.missing_regions, limits.MOST_ITEMS)
        for name in self.missing_regions:
            _check_region(f"{where}: missing_regions", name)
        limits.check_log(f"{where}: log_tail", self.log_tail)
        limits.check_log(f"{where}: crash", self.crash)
        limits.check_count(f"{where}: attempts", self.attempts, limits.MOST_ITEMS)
        for attempt in self.attempts:
            limits.check_line(f"{where}: attempts", attempt)
        for label in ("trace", "cache", "functions", "times"):
            if (digest := getattr(self, label)) is not None:
                limits.check_digest(f"{where}: {label}", digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The results of one device job, on one machine, on one day."""

    version: int = VERSION
    config: str
    """That of the bundle."""
    purpose: JobPurpose
    cpu_class: Annotated[str, Field(alias="class")]
    device: DeviceIdentity
    day: str
    """A date such as 2027-01-31."""
    results: tuple[EvidenceResult, ...]

    def __post_init__(self) -> None:
        limits.require(self.version == VERSION, "version", self.version, str(VERSION))
        limits.check_line("config", self.config)
        limits.check_name("class", self.cpu_class)
        limits.check_name("device: name", self.device.name)
        limits.check_name("device: kind", self.device.kind)
        limits.check_count("device: facts", tuple(self.device.facts), MOST_FACTS)
        for label, value in self.device.facts.items():
            limits.check_line("device: facts", label)
            limits.check_line(f"device: facts: {label}", value)
        limits.check_day("day", self.day)
        limits.check_count("results", self.results, limits.MOST_RESULTS)
        limits.check_unique("results", [result.scenario for result in self.results])
        for result in self.results:
            self._check_subject(result)
            expect_consistent(
                result.scenario,
                result.status,
                outputs=result.outputs,
                missing_regions=result.missing_regions,
                crash=result.crash,
                compared=self.purpose is JobPurpose.VERIFY,
            )
            if result.status is ScenarioStatus.PASS:
                self._check_brought(result)

    def _check_subject(self, result: EvidenceResult) -> None:
        if self.purpose is JobPurpose.TIME:
            limits.check_contest("results", result.scenario, cpu_class=self.cpu_class)
        else:
            limits.check_scenario("results", result.scenario, cpu_class=self.cpu_class)

    def _check_brought(self, result: EvidenceResult) -> None:
        if result.attempts:
            msg = f"{result.scenario}: its status is pass, and every machine failed"
            raise Contradiction(msg)
        match self.purpose:
            case JobPurpose.TRACE:
                limits.check_digest(f"{result.scenario}: trace", result.trace or "")
            case JobPurpose.RECORD:
                limits.check_digest(f"{result.scenario}: functions", result.functions or "")
            case JobPurpose.TIME:
                limits.check_digest(f"{result.scenario}: times", result.times or "")
            case JobPurpose.VERIFY:
                return


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSet:
    """Evidence of one job, or of several: the proofs that are stored with a baseline."""

    version: int = VERSION
    entries: tuple[Evidence, ...]

    def __post_init__(self) -> None:
        limits.check_count("entries", self.entries, limits.MOST_ITEMS)


def _check_region(where: str, name: str) -> None:
    try:
        canonical = str(Region.parse(name))
    except InputError:
        canonical = ""
    if canonical != name:
        raise limits.wrong(where, name, "a region in its canonical spelling")


def dump_set(entries: EvidenceSet) -> str:
    """Write evidence.json."""
    return dump(entries)


def parse_set(
    text: str, *, source: str, hint: str = "remove the file: devices then prove everything again"
) -> EvidenceSet:
    """Read evidence.json; anything else is an InputError naming ``source``."""
    return load(EvidenceSet, text, source=source, version=VERSION, hint=hint)


def load_proofs(path: Path) -> EvidenceSet:
    """Read evidence.json of a report, which may hold only verifications that passed."""
    hint = "remove the option: devices then prove everything again"
    found = parse_set(limits.read_text(path, hint=hint), source=str(path))
    for evidence in found.entries:
        for result in evidence.results:
            if (
                evidence.purpose is not JobPurpose.VERIFY
                or result.status is not ScenarioStatus.PASS
            ):
                what = f"{evidence.purpose}, {result.status}"
                msg = f"{path}: {result.scenario}: found {what}, expected proofs: verify, pass"
                raise Contradiction(msg, hint=hint)
    return found


def read_evidence(folder: Path) -> tuple[Evidence, ...]:
    """Read the evidence in a device job's folder; its files are read when they are used."""
    path = folder / EVIDENCE_FILE
    text = limits.read_text(path, hint=_HINT)
    return parse_set(text, source=str(path), hint=_HINT).entries


def load_file(folder: Path, digest: str, *, most: int) -> bytes:
    """Return a file of a folder of evidence, after checking its digest and size."""
    return limits.read_named(folder, digest, most=most, hint=_HINT)


def read_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of evidence among ``folders`` and those directly in them, sorted.

    Artifacts are downloaded either into one folder, or each into a folder of its own below it. A
    folder that does not exist holds none.
    """
    found = []
    for folder in folders:
        try:
            inner = sorted(folder.iterdir()) if folder.is_dir() else []
        except OSError as error:
            msg = f"{folder} cannot be read: {error.strerror}"
            raise InputError(msg, hint=_HINT) from None
        candidates = (folder, *(each for each in inner if not each.is_symlink()))
        found += [each for each in candidates if (each / EVIDENCE_FILE).exists()]
    if len(found) > MOST_FOLDERS:
        msg = f"found {len(found)} folders of evidence, expected at most {MOST_FOLDERS}"
        raise InputError(msg, hint=_HINT)
    return tuple(found)
