"""Proving a reduced program on a device: run plain and reduced, compare, explain a bad end.

It needs no configuration: the stage ``verify`` and a device job, which has a bundle, share it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from megtrim.core.build_spec import Link, Variant
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.marks import find_traces
from megtrim.core.own_program import find_program
from megtrim.core.proof.results import VerificationOutcome
from megtrim.core.proof.trap_diagnosis import (
    Diagnosis,
    ProfileProgram,
    SymbolizingLink,
    describe_missing,
    describe_with_rest,
    diagnose,
    diagnose_without_profile,
    why_not_kept,
)
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.libs.programs import app_outputs
from megtrim.libs.programs.app_outputs import OutputFile
from megtrim.libs.programs.arrays import Comparison, compare, refusal
from megtrim.libs.programs.exit_status import RunOutcome, ending
from megtrim.libs.programs.parity import OutputResult, Tolerance
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.limits import clean_log
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import ProgramKilled

_TAIL_LINES = 30
_RUNS_OF_KILLED = 3
"""Runs of a reduced program that is killed, each with a run of the plain program as its control."""

Note = Callable[[str, RunResult], None]


Judged = tuple[int, Comparison, str | None]
"""Size of an output, how it compares, and why it proves nothing."""


class OutputJudge(Protocol):
    verb: str
    noun: str
    builds: tuple[str, str]
    """What those are called whose outputs are compared."""

    def compare(self, name: str, plain: bytes, reduced: bytes, tolerance: Tolerance) -> Judged: ...


class DumpJudge:
    """Of tensors that the engine's own program dumps."""

    verb = "dumped"
    noun = "tensor"
    builds = ("plain", "reduced")

    def compare(self, name: str, plain: bytes, reduced: bytes, tolerance: Tolerance) -> Judged:
        parse = find_program().parse_dump
        expected = parse(plain, name=name, source=f"plain output {name}")
        actual = parse(reduced, name=name, source=f"reduced output {name}")
        found = compare(expected, actual, tolerance)
        return len(expected.data), found, refusal(expected, tolerance)


class FileJudge:
    """Of files that a command writes, and of what it prints."""

    verb = "wrote"
    noun = "output"

    def __init__(
        self, vary: tuple[str, ...] = (), builds: tuple[str, str] = ("plain", "reduced")
    ) -> None:
        self._vary = vary
        self.builds = builds

    def compare(self, name: str, plain: bytes, reduced: bytes, tolerance: Tolerance) -> Judged:
        expected = self._parse(plain, name, self.builds[0])
        actual = self._parse(reduced, name, self.builds[1])
        found = app_outputs.compare(expected, actual, tolerance)
        return len(expected.data), found, app_outputs.refusal(expected, tolerance)

    def _parse(self, data: bytes, name: str, build: str) -> OutputFile:
        source = f"{build} output {name}"
        return app_outputs.parse_written(data, name=name, source=source, vary=self._vary)


class VerificationCase(Value):
    spec: RunSpec
    """Of the plain program."""
    reduced: Path
    profile: ProfileProgram | None
    """Explains a bad end; None: it is not at hand."""
    keep: KeepSet
    tolerance: Tolerance
    vary: tuple[str, ...] = ()
    """Patterns of text in outputs that may differ."""
    rest: bool = False
    """It has one: it runs without it, and then with it."""
    named: SymbolizingLink | None = None
    committed: bool = False
    guarded: bool = False
    """What is missing may be an error of a call, which shows in outputs alone."""


class TrapBeforeFailure(InfrastructureFailure):
    """The machine failed, and a trap had been seen there: the next try might not show it."""

    def __init__(self, failure: InfrastructureFailure, outcome: VerificationOutcome) -> None:
        super().__init__(failure.message, hint=failure.hint, attempts=failure.attempts)
        self.outcome = outcome


class OutputComparison(Value):
    status: ScenarioStatus
    text: str
    outputs: tuple[OutputResult, ...]


def prove(trial: VerificationCase, lease: Lease, note: Note) -> VerificationOutcome:
    """A product failure is a result. Raises TrapBeforeFailure if the machine fails after a trap."""
    plain = run_on(lease, trial.spec)
    note(Variant.PLAIN, plain)
    if ending(plain.run) is not RunOutcome.PASSED:
        text = f"the plain build ended with {plain.run.status} ({ending(plain.run)})"
        found = Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=plain.run.stderr)
        return _record_failure(found, plain)
    reduced = _run_reduced(trial, lease)
    if isinstance(reduced, ProgramKilled):
        text = f"{reduced.message}, in each of {_RUNS_OF_KILLED} runs; the plain build lived"
        found = Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log="")
        return _record_failure(found, plain)
    note(Variant.REDUCED, reduced)
    if ending(reduced.run) is not RunOutcome.PASSED:
        found = _diagnose(trial, lease, reduced, note)
        model = trial.spec.model.name if trial.spec.model else ""
        warning = describe_unknown_graph(reduced.run.stderr, model, trial.keep)
        return _record_failure(replace(found, text=found.text + warning), reduced)
    judge = choose_judge(trial.spec, trial.vary)
    compared = compare_outputs(plain.outputs, reduced.outputs, trial.tolerance, judge)
    text = compared.text
    parity = compared.status is not ScenarioStatus.PASS
    if parity and trial.named is not None:
        text += _blame_error(trial, trial.named, lease, note)
    if trial.rest and compared.status is ScenarioStatus.PASS:
        whole = run_on(lease, replace(trial.spec.with_program(trial.reduced), with_rest=True))
        note("with rest", whole)
        if ending(whole.run) is not RunOutcome.PASSED:
            text = f"{text} without its companion file; with it, {describe_with_rest(whole.run)}"
            found = Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text=text, log=whole.run.stderr)
            return _record_failure(found, whole)
        compared = compare_outputs(plain.outputs, whole.outputs, trial.tolerance, judge)
        text = f"{compared.text}, without its companion file and with it"
        if compared.status is not ScenarioStatus.PASS:
            text = f"with its companion file: {compared.text}"
    return VerificationOutcome(
        status=compared.status,
        text=text,
        unexplained=parity and trial.guarded and trial.named is None,
        outputs=compared.outputs,
        time_s=reduced.run.wall_s,
        conditions=reduced.run.conditions,
        crash=reduced.run.crash,
    )


def _run_reduced(trial: VerificationCase, lease: Lease) -> RunResult | ProgramKilled:
    """Return how the program was killed if it is each time, and plain never.

    A machine that kills the plain program, too, is to blame: raises ProgramKilled.
    """
    left = _RUNS_OF_KILLED
    while True:
        try:
            return run_on(lease, trial.spec.with_program(trial.reduced))
        except ProgramKilled as killed:
            control = run_on(lease, trial.spec)
            if ending(control.run) is not RunOutcome.PASSED:
                raise
            left -= 1
            if not left:
                return killed


def _diagnose(trial: VerificationCase, lease: Lease, reduced: RunResult, note: Note) -> Diagnosis:
    def again(build: str, spec: RunSpec) -> RunResult:
        seen = run_on(lease, spec)
        note(build, seen)
        return seen

    try:
        return diagnose(
            reduced.run,
            trial.spec,
            again,
            trial.keep,
            named=trial.named,
            profile=lambda: trial.profile,
            why=why_not_kept(committed=trial.committed),
        )
    except InfrastructureFailure as failure:
        # A trap is the program's own; any other end may have been the machine's that now failed.
        if ending(reduced.run) is not RunOutcome.TRAP:
            raise
        text = f"it trapped; what it needs is not known: {failure.message}"
        found = replace(diagnose_without_profile(reduced.run), text=text, unexplained=False)
        raise TrapBeforeFailure(failure, _record_failure(found, reduced)) from failure


def _blame_error(trial: VerificationCase, named: SymbolizingLink, lease: Lease, note: Note) -> str:
    """Return what was missing in a run that lived on: a guarded call returned an error."""
    try:
        seen = run_on(lease, trial.spec.with_program(named.program))
    except InfrastructureFailure:
        return ""
    note(Link.NAMED, seen)
    name = named.missing(seen.run)
    why = why_not_kept(committed=trial.committed)
    return f"; a call returned an error: {describe_missing(name, why)}" if name else ""


def describe_unknown_graph(stderr: str, model: str, keep: KeepSet) -> str:
    """Return what the engine warns of a model that is not the one its operator JSON is of."""
    graph = find_traces().find_unknown_graph(stderr)
    if not graph:
        return ""
    needs = keep.operators
    hashes = [f"{number} of {', '.join(users)}" for number, users in needs.hashes] if needs else []
    has = f"has {'; '.join(hashes)}" if hashes else "has none"
    return (
        f"; the engine warns that the graph {graph} of {model} is not in the header, which {has}: "
        "its operator JSON may be of another dump"
    )


def _record_failure(diagnosis: Diagnosis, last: RunResult) -> VerificationOutcome:
    tail = clean_log("\n".join(diagnosis.log.splitlines()[-_TAIL_LINES:]))
    return VerificationOutcome(
        status=diagnosis.status,
        text=diagnosis.text,
        missing_regions=diagnosis.missing,
        unexplained=diagnosis.unexplained,
        log_tail=tail,
        time_s=last.run.wall_s,
        conditions=last.run.conditions,
        crash=last.run.crash,
    )


def choose_judge(spec: RunSpec, vary: tuple[str, ...] = ()) -> OutputJudge:
    return FileJudge(vary) if spec.application else DumpJudge()


def compare_outputs(
    plain: Mapping[str, bytes],
    reduced: Mapping[str, bytes],
    tolerance: Tolerance,
    judge: OutputJudge,
) -> OutputComparison:
    problems = []
    if not plain:
        problems.append(f"the {judge.builds[0]} build {judge.verb} no output")
    names = sorted({*plain, *reduced})
    rows = []
    for name in names:
        if name not in plain or name not in reduced:
            where = judge.builds[0] if name in plain else judge.builds[1]
            problems.append(f"output {name} came only from the {where} build")
            continue
        try:
            size_bytes, found, unfit = judge.compare(name, plain[name], reduced[name], tolerance)
        except InputError as error:
            problems.append(error.message)
            continue
        difference = found.largest_difference if math.isfinite(found.largest_difference) else None
        row = OutputResult(
            name=name, size_bytes=size_bytes, equal=found.equal, largest_difference=difference
        )
        rows.append(row)
        if unfit:
            problems.append(f"{unfit}: that proves nothing")
        elif not found.equal:
            problems.append(f"output {name}: {found.text}")
    total = sum(row.size_bytes for row in rows)
    exact = "equal to the last bit" if tolerance.is_exact else f"equal within {tolerance}"
    counted = count(len(rows), judge.noun)
    return OutputComparison(
        status=ScenarioStatus.PARITY if problems else ScenarioStatus.PASS,
        text="; ".join(problems) or f"outputs {exact} ({counted}, {total:,} bytes)",
        outputs=tuple(rows),
    )
