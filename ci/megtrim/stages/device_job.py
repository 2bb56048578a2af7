"""A device job: runs what a bundle asks for on one device, and returns what was seen.

It has no engine, no compiler and no project: everything comes from the bundle, and every file
is held to its digest on the way. How a program ends is evidence; so is a device that fails.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from megtrim.console import Console
from megtrim.devices import Device
from megtrim.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.evidence import bounds
from megtrim.evidence.bundle import Bundle, BundleDevice, BundleScenario, Purpose
from megtrim.evidence.evidence import (
    LARGEST_CACHE,
    LARGEST_TRACE,
    MOST_FACTS,
    Evidence,
    EvidenceResult,
)
from megtrim.loadrun.outcome import ProgramRun
from megtrim.midout.keepset import read_keep_set
from megtrim.midout.trace import TraceFailure, TraceProblem
from megtrim.recipe import Variant
from megtrim.stages import tracing
from megtrim.stages.proving import Trial, prove
from megtrim.stages.runs import RunOrder, RunResult
from megtrim.store import cannot_write
from megtrim.verdict.model import DeviceIdentity, OutputResult, ScenarioStatus

_CHUNK_BYTES = 1024 * 1024
_TAIL_LINES = 30
_GIVEN_UP_AFTER = 2
"""Failures of the device in a row, after which the rest of the job is not tried."""
_HINT = "the bundle was changed or cut off on its way: run the build job again"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceJob:
    """What one job does."""

    bundle: Bundle
    folder: Path
    """Of the bundle."""
    work: Path
    """An empty folder for copies of the bundle's files, under the names that programs see."""
    scenarios: tuple[BundleScenario, ...]
    asked: BundleDevice
    today: date


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job brings back."""

    evidence: Evidence
    files: Mapping[str, bytes]
    """Traces and caches by sha256."""
    lost: int
    """Scenarios of which nothing is known, because the device failed."""


def run(job: DeviceJob, open_device: Callable[[], Device], console: Console) -> JobResult:
    """Run the job's scenarios one after another.

    Raises InputError for a bundle that is not whole; everything else is in the evidence.
    """
    files: dict[str, bytes] = {}
    try:
        device = open_device()
        facts = device.facts()
        identity = DeviceIdentity(name=device.name, kind=device.kind, facts=_cleaned(facts))
    except InfrastructureFailure as failure:
        console.warn(f"{job.asked.name}: {bounds.clean_line(failure.message)}")
        identity = DeviceIdentity(name=job.asked.name, kind=job.asked.kind, facts={})
        results = tuple(_lost(each, failure.message) for each in job.scenarios)
    else:
        worker = _Worker(job=job, device=device, console=console, files=files)
        results = tuple(worker.results())
    evidence = Evidence(
        purpose=job.bundle.purpose,
        cpu_class=job.asked.cpu_class,
        device=identity,
        day=job.today.isoformat(),
        results=results,
    )
    lost = sum(result.status is ScenarioStatus.INFRASTRUCTURE for result in results)
    return JobResult(evidence=evidence, files=files, lost=lost)


@dataclass(slots=True, kw_only=True)
class _Worker:
    job: DeviceJob
    device: Device
    console: Console
    files: dict[str, bytes]
    log: str = field(default="", init=False)
    """Standard error of the last run."""

    def results(self) -> list[EvidenceResult]:
        """Run all scenarios; a device that failed twice in a row is not asked again."""
        found: list[EvidenceResult] = []
        failed = 0
        for scenario in self.job.scenarios:
            if failed >= _GIVEN_UP_AFTER:
                text = f"not tried: the device failed {failed} times in a row"
                found.append(_lost(scenario, text))
                continue
            self.console.say(f"  run   {scenario.id}")
            result = self._result(scenario)
            self.console.say(f"  {result.status}  {scenario.id}: {result.text}")
            failed = failed + 1 if result.status is ScenarioStatus.INFRASTRUCTURE else 0
            found.append(result)
        return found

    def _result(self, scenario: BundleScenario) -> EvidenceResult:
        self.log = ""
        try:
            order = self._order(scenario)
            if self.job.bundle.purpose is Purpose.TRACE:
                return self._trace(scenario, order)
            return self._verify(scenario, order)
        except InfrastructureFailure as failure:
            self.console.warn(f"{scenario.id}: {bounds.clean_line(failure.message)}")
            return _lost(scenario, failure.message)

    def _verify(self, scenario: BundleScenario, order: RunOrder) -> EvidenceResult:
        bundle = self.job.bundle
        explained = bundle.program(Variant.PROFILE) is not None
        keep = read_keep_set(self._take(bundle.keep_set or "", "keepset.json"))
        trial = Trial(
            order=order,
            reduced=self._program(Variant.REDUCED),
            profile=lambda: self._program(Variant.PROFILE) if explained else None,
            keep=keep,
            tolerance=bundle.tolerance,
        )
        ended = prove(trial, self.device, lambda _variant, _seen: None)
        return _verified(scenario, ended)

    def _trace(self, scenario: BundleScenario, order: RunOrder) -> EvidenceResult:
        """Search if that is asked for, trace, and keep the files that came."""
        profile = self._program(Variant.PROFILE)
        cache_digest, time_s = None, 0.0
        try:
            if scenario.search:
                cache, ran = tracing.search(scenario.id, order, self.device, self._note)
                cache_digest = self._keep(cache, LARGEST_CACHE, "algorithm cache")
                order = order.with_cache(self._put(cache, f"{cache_digest}.cache"))
                time_s += ran.wall_s
            order = order.with_program(profile)
            trace, data, ran = tracing.trace(scenario.id, order, self.device, self._note)
            digest = self._keep(data, LARGEST_TRACE, "trace")
        except (ProductFailure, InputError) as failure:
            # What a program wrote as its trace and is none is the program's fault, too.
            return self._untraced(scenario, failure)
        return EvidenceResult(
            scenario=scenario.id,
            binding=scenario.binding,
            status=ScenarioStatus.PASS,
            text=f"traced: {len(trace.regions)} regions",
            time_s=time_s + ran.wall_s,
            trace=digest,
            cache=cache_digest,
        )

    def _untraced(self, scenario: BundleScenario, failure: MegtrimError) -> EvidenceResult:
        of_trace = isinstance(failure, TraceFailure | InputError)
        return EvidenceResult(
            scenario=scenario.id,
            binding=scenario.binding,
            status=ScenarioStatus.TRACE if of_trace else ScenarioStatus.ENGINE_ERROR,
            text=bounds.clean_line(failure.message),
            time_s=0.0,
            log_tail=bounds.clean_log("\n".join(self.log.splitlines()[-_TAIL_LINES:])),
        )

    def _note(self, seen: RunResult) -> None:
        run: ProgramRun = seen.run
        self.log = run.stderr

    def _keep(self, data: bytes, most: int, what: str) -> str:
        if len(data) > most:
            said = f"the {what} holds {len(data)} bytes, expected at most {most}"
            raise TraceFailure(TraceProblem.STALE, said, hint="is it one run's?")
        digest = hashlib.sha256(data).hexdigest()
        self.files[digest] = data
        return digest

    def _put(self, data: bytes, name: str) -> Path:
        """Write a file that the next run takes along."""
        path = self.job.work / name
        try:
            path.write_bytes(data)
        except OSError as error:
            raise cannot_write(path, error) from None
        return path

    def _order(self, scenario: BundleScenario) -> RunOrder:
        return RunOrder(
            program=self._program(Variant.PLAIN),
            model=self._take(scenario.model, "model"),
            arguments=scenario.arguments,
            inputs={
                each.name: self._take(each.file, f"input{each.suffix}") for each in scenario.inputs
            },
            threads=scenario.threads,
            timeout_s=scenario.timeout_s,
            cache=None if scenario.cache is None else self._take(scenario.cache, "cache"),
            search=scenario.search,
        )

    def _program(self, variant: Variant) -> Path:
        digest = dict(self.job.bundle.programs)[variant]
        return self._take(digest, self.job.bundle.target)

    def _take(self, digest: str, name: str) -> Path:
        """Return a copy of a file of the bundle, made while its digest was taken."""
        return take(self.job.folder, digest, self.job.work / digest / name)


def take(folder: Path, digest: str, target: Path) -> Path:
    """Copy the bundle's file of that sha256 to ``target``; what is there is that file already.

    What is run is the copy, so nothing can change between the check and the use. Raises
    InputError where the file is none, is a link, or has another digest.
    """
    if target.exists():
        return target
    source = folder / bounds.FILES / digest
    if (folder / bounds.FILES).is_symlink() or source.is_symlink() or not source.is_file():
        msg = f"{source}: found no plain file, expected one of the bundle's"
        raise InputError(msg, hint=_HINT)
    partial = target.with_name(f"{target.name}.partial")
    hasher = hashlib.sha256()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as read, partial.open("xb") as write:
            while chunk := read.read(_CHUNK_BYTES):
                hasher.update(chunk)
                write.write(chunk)
    except OSError as error:
        msg = f"{source} cannot be copied: {error.strerror}"
        raise InfrastructureFailure(msg) from None
    if hasher.hexdigest() != digest:
        msg = f"{source}: its sha256 is {hasher.hexdigest()}, expected that of its name"
        raise InputError(msg, hint=_HINT)
    return partial.rename(target)


def _verified(scenario: BundleScenario, ended: Mapping[str, Any]) -> EvidenceResult:
    rows = ended["outputs"][: bounds.MOST_ITEMS]
    outputs = (OutputResult(**row | {"name": bounds.clean_line(row["name"])}) for row in rows)
    return EvidenceResult(
        scenario=scenario.id,
        binding=scenario.binding,
        status=ScenarioStatus(ended["status"]),
        text=bounds.clean_line(ended["text"]),
        time_s=float(ended["time_s"]),
        outputs=tuple(outputs),
        missing_regions=tuple(ended["missing regions"][: bounds.MOST_ITEMS]),
        log_tail=bounds.clean_log(ended["log tail"]),
    )


def _lost(scenario: BundleScenario, text: str) -> EvidenceResult:
    return EvidenceResult(
        scenario=scenario.id,
        binding=scenario.binding,
        status=ScenarioStatus.INFRASTRUCTURE,
        text=bounds.clean_line(text),
        time_s=0.0,
    )


def _cleaned(facts: Mapping[str, str]) -> dict[str, str]:
    shown = sorted(facts.items())[:MOST_FACTS]
    return {bounds.clean_line(label): bounds.clean_line(value) for label, value in shown}
