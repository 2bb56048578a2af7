"""A device job: runs what a bundle asks for on one device, and returns what was seen."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from megtrim.core.build_spec import Link, Variant
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.evidence.evidence import (
    LARGEST_CACHE,
    LARGEST_LIST,
    LARGEST_TRACE,
    MOST_FACTS,
    Evidence,
    EvidenceResult,
    EvidenceSet,
    JobPurpose,
)
from megtrim.core.functions.observables import dump_list, read_observables
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.keep.marks import find_traces
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.core.proof.results import VerificationOutcome
from megtrim.core.proof.trap_diagnosis import ProfileProgram, read_named
from megtrim.core.proof.verification import TrapBeforeFailure, VerificationCase, prove
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.core.trim.runs import tracing
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.lab.evidence.bundle import (
    DROPPED,
    OBSERVABLES,
    REST,
    Bundle,
    BundleContest,
    BundleDevice,
    BundleScenario,
)
from megtrim.lab.evidence.times import (
    LARGEST_RECORD,
    ContestRecord,
    make_contest_result,
    make_skipped_result,
)
from megtrim.libs.programs.application_arguments import STDIN, STDIN_FILE
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util import limits
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.devices.cpu import read_device_features
from megtrim.places.devices.device import Device, Lease
from megtrim.places.devices.relocation_support import UnsupportedRelocations
from megtrim.places.devices.retry import keep_first_failure, run_with_retries
from megtrim.times.experiments.commands import describe_lacking
from megtrim.times.experiments.contest import ContestResult
from megtrim.times.measuring.timing import measure
from megtrim.times.measuring.timing_runs import ContestFiles
from megtrim.times.measuring.whole_runs import CommandFiles

_TAIL_LINES = 30
_GIVEN_UP_AFTER = 2
"""Failures of the device in a row, after which the rest of the job is not tried."""

_CHUNK_BYTES = 1024 * 1024
_HINT = "the bundle was changed or cut off on its way: run the build job again"

_Asked = BundleScenario | BundleContest


class DeviceJob(Value):
    bundle: Bundle
    folder: Path
    sha256: str
    work: Path
    """An empty folder for copies of the bundle's files, under the names that programs see."""
    scenarios: tuple[BundleScenario | BundleContest, ...]
    asked: BundleDevice
    today: date


class JobResult(Value):
    evidence: EvidenceSet
    files: Mapping[str, bytes]
    """Traces, caches, lists of functions and records of contests by sha256."""
    lost: int


def run(job: DeviceJob, open_device: Callable[[], Device], console: Console) -> JobResult:
    """Raises InputError for a bundle that is not whole; everything else is in the evidence."""
    worker = _Worker(job=job, console=console)
    try:
        device = open_device()
    except InfrastructureFailure as failure:
        console.warn(f"{job.asked.name}: {limits.clean_line(failure.message)}")
        for scenario in job.scenarios:
            worker.lose(scenario, failure.message)
    else:
        worker.work(device)
    entries = []
    for name, results in sorted(worker.found.items()):
        evidence = Evidence(
            config=job.bundle.config,
            purpose=job.bundle.purpose,
            cpu_class=job.asked.cpu_class,
            device=worker.machines[name],
            day=job.today.isoformat(),
            results=tuple(results),
        )
        entries.append(evidence)
    evidence_set = EvidenceSet(entries=tuple(entries))
    return JobResult(evidence=evidence_set, files=worker.files, lost=worker.lost)


@dataclass(slots=True, kw_only=True)
class _Worker:
    job: DeviceJob
    console: Console
    files: dict[str, bytes] = field(default_factory=dict)
    machines: dict[str, DeviceIdentity] = field(default_factory=dict)
    """By name: those that ran something, and the one asked for where none did."""
    found: dict[str, list[EvidenceResult]] = field(default_factory=dict)
    lost: int = 0
    log: str = ""
    crash: str = ""

    def work(self, device: Device) -> None:
        failed = 0
        for scenario in self.job.scenarios:
            if failed >= _GIVEN_UP_AFTER:
                self.lose(scenario, f"not tried: the device failed {failed} times in a row")
                continue
            self.console.say(f"  run   {scenario.id}")
            failed = 0 if self._deliver(scenario, device) else failed + 1

    def lose(self, scenario: _Asked, why: str, attempts: tuple[str, ...] = ()) -> None:
        asked = self.job.asked
        self.lost += 1
        self.machines.setdefault(
            asked.name, DeviceIdentity(name=asked.name, kind=asked.kind, facts={})
        )
        clean = tuple(map(limits.clean_line, attempts))
        lost = _make_result(scenario, ScenarioStatus.INFRASTRUCTURE, why, attempts=clean)
        self.found.setdefault(asked.name, []).append(lost)

    def _deliver(self, scenario: _Asked, device: Device) -> bool:
        seen: list[tuple[str, EvidenceResult]] = []
        work = partial(self._result, scenario, seen)
        try:
            name, result = keep_first_failure(
                seen,
                partial(run_with_retries, device, work, say=self.console.say),
                good=lambda found: found[1].status is ScenarioStatus.PASS,
            )
        except InfrastructureFailure as failure:
            self.console.warn(f"{scenario.id}: {limits.clean_line(failure.message)}")
            self.lose(scenario, failure.message, failure.attempts)
            return False
        self.found.setdefault(name, []).append(result)
        self.console.say(f"  {result.status}  {scenario.id}: {result.text}")
        return True

    def _result(
        self, scenario: _Asked, seen: list[tuple[str, EvidenceResult]], lease: Lease
    ) -> tuple[str, EvidenceResult]:
        self.log = self.crash = ""
        if lease.name not in self.machines or not self.machines[lease.name].facts:
            shown = sorted(lease.facts().items())[:MOST_FACTS]
            facts = {limits.clean_line(label): limits.clean_line(value) for label, value in shown}
            self.machines[lease.name] = DeviceIdentity(
                name=lease.name, kind=lease.kind, facts=facts
            )
        try:
            return lease.name, self._run_asked(scenario, lease)
        except (ProductFailure, UnsupportedRelocations) as failure:
            return lease.name, self._make_failure_result(scenario, failure)
        except TrapBeforeFailure as trap:
            seen.append((lease.name, _make_verify_result(scenario, trap.outcome)))
            raise

    def _run_asked(self, asked: _Asked, lease: Lease) -> EvidenceResult:
        if isinstance(asked, BundleContest):
            return self._time(asked, lease)
        match self.job.bundle.purpose:
            case JobPurpose.VERIFY:
                return self._verify(asked, self._make_spec(asked, Variant.PLAIN), lease)
            case JobPurpose.TRACE:
                return self._trace(asked, self._make_spec(asked, Variant.PLAIN), lease)
            case _:
                loaded = self.job.bundle.companion_files(Link.PROBED, asked.application)
                link = tracing.link_for(lease, shared=bool(loaded))
                if self.job.bundle.program(link, asked.application) is None:
                    msg = f"{lease.name} ({lease.kind}): the bundle contains no {link} program"
                    raise InputError(msg, hint="name the device in megtrim.yaml, and pack again")
                return self._record(asked, self._make_spec(asked, link), lease)

    def _verify(self, scenario: BundleScenario, spec: RunSpec, lease: Lease) -> EvidenceResult:
        bundle = self.job.bundle
        explained = bundle.program(Variant.PROFILE, scenario.application) is not None
        listed = bundle.program(DROPPED, scenario.application)
        dropped = self._take(listed, "dropped.txt") if listed else None
        reduced = self._program(Variant.REDUCED, scenario)
        rest = self._take_rest(spec.with_program(reduced), scenario)
        profile = None
        if explained:
            program = self._program(Variant.PROFILE, scenario)
            profile = ProfileProgram(program=program, traces=find_traces())
        keep = read_keep_set(self._take(bundle.keep_set or "", "keepset.json"))
        named = None
        if dropped:
            named = read_named(self._program(Link.NAMED, scenario), dropped)
        trial = VerificationCase(
            spec=spec,
            reduced=reduced,
            rest=rest,
            profile=profile,
            keep=keep,
            tolerance=scenario.tolerance,
            vary=scenario.judgement.vary,
            named=named,
        )
        outcome = prove(trial, lease, lambda _variant, _seen: None)
        return _make_verify_result(scenario, outcome)

    def _trace(self, scenario: BundleScenario, spec: RunSpec, lease: Lease) -> EvidenceResult:
        profile = self._program(Variant.PROFILE, scenario)
        cache_digest = None
        time_s = 0.0
        try:
            if scenario.search:
                cache, ran = tracing.search(scenario.id, spec, lease, self._note)
                cache_digest = self._keep(cache, LARGEST_CACHE, "algorithm cache")
                path = self.job.work / f"{cache_digest}.cache"
                with guard_write(path):
                    path.write_bytes(cache)
                spec = spec.with_cache(path)
                time_s += ran.wall_s
            spec = spec.with_program(profile)
            trace, data, ran = tracing.trace(scenario.id, spec, find_traces(), lease, self._note)
            digest = self._keep(data, LARGEST_TRACE, "trace")
        except InputError as failure:
            # What a program wrote as its trace and is none is the program's fault, too.
            return self._make_failure_result(scenario, failure)
        text = f"traced: {count(len(trace.regions), 'region')}"
        time_s += ran.wall_s
        files = {"trace": digest, "cache": cache_digest}
        return _make_result(scenario, ScenarioStatus.PASS, text, time_s=time_s, **files)

    def _record(self, scenario: BundleScenario, spec: RunSpec, lease: Lease) -> EvidenceResult:
        listed = self.job.bundle.program(OBSERVABLES, scenario.application) or ""
        observables = read_observables(self._take(listed, "observables.txt"))
        try:
            recorded = tracing.ran(
                scenario.id,
                spec,
                lease,
                self._note,
                observables=observables,
                speaks=self.job.bundle.speaks,
            )
            digest = self._keep(
                dump_list(recorded.functions).encode(), LARGEST_LIST, "list of functions"
            )
        except InputError as failure:
            # As for a trace.
            return self._make_failure_result(scenario, failure)
        text = f"recorded: {count(len(recorded.functions.names), 'function')}"
        return _make_result(
            scenario, ScenarioStatus.PASS, text, time_s=recorded.run.wall_s, functions=digest
        )

    def _time(self, contest: BundleContest, lease: Lease) -> EvidenceResult:
        bundle = self.job.bundle
        machine = self.machines[lease.name]
        features = read_device_features(machine.kind, bundle.machine, machine.facts)
        if lacking := describe_lacking(contest.cpu_features, features):
            return make_skipped_result(contest, lacking)
        scenario = bundle.scenario(contest.scenario)
        try:
            files = self._take_files(contest, scenario)
            result = measure(contest.held, files, lease, say=self.console.say)
        except (ProductFailure, UnsupportedRelocations) as failure:
            result = ContestResult(status=PerformanceStatus.FAILED, reason=failure.message)
        clean = replace(
            result,
            reason=limits.clean_line(result.reason),
            outputs=limits.clean_line(result.outputs),
            conditions=tuple(map(limits.clean_line, result.conditions)),
        )
        record = ContestRecord(
            bundle=self.job.sha256, contest=contest.id, binding=contest.binding, result=clean
        )
        digest = self._keep(dump(record).encode(), LARGEST_RECORD, "record of times")
        return make_contest_result(record, digest)

    def _take_files(
        self, contest: BundleContest, scenario: BundleScenario
    ) -> ContestFiles | CommandFiles:
        if scenario.is_command:
            specs = {}
            for side, variant in contest.variants.items():
                spec = self._make_spec(scenario, variant)
                if variant is Variant.REDUCED:
                    self._take_rest(spec, scenario)
                specs[side] = spec.with_own_rest()
            return CommandFiles(specs=specs, vary=scenario.judgement.vary)
        return ContestFiles(
            programs={
                side: self._program(variant, scenario) for side, variant in contest.variants.items()
            },
            model=self._take_model(scenario),
            inputs=self._take_inputs(scenario),
            cache=self._take_cache(scenario),
        )

    def _make_failure_result(self, scenario: _Asked, failure: MegtrimError) -> EvidenceResult:
        of_machine = isinstance(failure, UnsupportedRelocations)
        of_trace = isinstance(failure, TraceFailure | InputError) and not of_machine
        return _make_result(
            scenario,
            ScenarioStatus.TRACE if of_trace else ScenarioStatus.ENGINE_ERROR,
            failure.message,
            log_tail=limits.clean_log("\n".join(self.log.splitlines()[-_TAIL_LINES:])),
            crash=limits.clean_log(self.crash),
        )

    def _note(self, seen: RunResult) -> None:
        run: ProgramRun = seen.run
        self.log = run.stderr
        self.crash = run.crash

    def _keep(self, data: bytes, most: int, what: str) -> str:
        if len(data) > most:
            said = f"the {what} contains {len(data)} bytes, expected at most {most}"
            raise TraceFailure(TraceProblem.STALE, said, hint="is it from a single run?")
        digest = hashlib.sha256(data).hexdigest()
        self.files[digest] = data
        return digest

    def _make_spec(self, scenario: BundleScenario, variant: Variant | Link) -> RunSpec:
        companions = self.job.bundle.companion_files(variant, scenario.application)
        return RunSpec(
            program=self._program(variant, scenario),
            model=None if scenario.model is None else self._take_model(scenario),
            arguments=scenario.arguments,
            inputs=self._take_inputs(scenario),
            threads=scenario.threads,
            timeout_s=scenario.timeout_s,
            cache=self._take_cache(scenario),
            search=scenario.search,
            application=scenario.is_command,
            status=scenario.judgement.status,
            printed=scenario.judgement.printed,
            said=scenario.judgement.said,
            environment=dict(scenario.environment),
            companions=tuple(companions),
        )

    def _program(self, variant: Variant | Link, scenario: BundleScenario) -> Path:
        job = self.job
        application = scenario.application
        digest = job.bundle.program(variant, application) or ""
        # Two variants of a program may be the same file, with other libraries next to it.
        place = job.work / f"{variant}-{digest}"
        for name, own in job.bundle.companion_files(variant, application).items():
            take(job.folder, own, place / name)
        return take(job.folder, digest, place / (application or job.bundle.target))

    def _take_rest(self, spec: RunSpec, scenario: BundleScenario) -> bool:
        """Put the companion file next to the trimmed one, and tell whether there is any."""
        rest = self.job.bundle.program(REST, scenario.application)
        if rest is not None:
            take(self.job.folder, rest, spec.rest)
        return rest is not None

    def _take_inputs(self, scenario: BundleScenario) -> dict[str, Path]:
        taken = {
            each.name: self._take(each.file, f"input{each.suffix}") for each in scenario.inputs
        }
        if scenario.stdin is not None:
            taken[STDIN] = self._take(scenario.stdin, STDIN_FILE)
        return taken

    def _take_model(self, scenario: BundleScenario) -> Path:
        return self._take(scenario.model or "", "model")

    def _take_cache(self, scenario: BundleScenario) -> Path | None:
        return None if scenario.cache is None else self._take(scenario.cache, "cache")

    def _take(self, digest: str, name: str) -> Path:
        return take(self.job.folder, digest, self.job.work / digest / name)


def _make_verify_result(scenario: _Asked, outcome: VerificationOutcome) -> EvidenceResult:
    outputs = [
        replace(output, name=limits.clean_line(output.name))
        for output in outcome.outputs[: limits.MOST_ITEMS]
    ]
    clean = {
        "text": limits.clean_line(outcome.text),
        "outputs": tuple(outputs),
        "missing_regions": outcome.missing_regions[: limits.MOST_ITEMS],
        "log_tail": limits.clean_log(outcome.log_tail),
        "crash": limits.clean_log(outcome.crash),
    }
    said = {**outcome.list_fields(), **clean}
    return EvidenceResult(scenario=scenario.id, binding=scenario.binding, **said)


def _make_result(
    scenario: _Asked, status: ScenarioStatus, text: str, *, time_s: float = 0.0, **more: Any
) -> EvidenceResult:
    return EvidenceResult(
        scenario=scenario.id,
        binding=scenario.binding,
        status=status,
        text=limits.clean_line(text),
        time_s=time_s,
        **more,
    )


def take(folder: Path, digest: str, target: Path) -> Path:
    """Copy the bundle's file of that sha256 to ``target``; what is there is that file already.

    What is run is the copy, so nothing can change between the check and the use. Raises
    InputError where the file is none, is a link, or has another digest.
    """
    if target.exists():
        return target
    source = folder / limits.FILES / digest
    if (folder / limits.FILES).is_symlink() or source.is_symlink() or not source.is_file():
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
