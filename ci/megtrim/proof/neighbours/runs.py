"""Trying a neighbour on a machine: what the plain build does with it, and what trimmed ones do.

It knows programs, a machine and a run, and no configuration. A neighbour that the plain build
cannot run says nothing of trimming, so nothing else is run then.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.chain.filenames import KEEP_SET_FILE
from megtrim.chain.graph import PROFILE, keep_task
from megtrim.chain.session import Session
from megtrim.config.scenarios import Scenario
from megtrim.devices import Lease
from megtrim.load_and_run.dump import largest_value, parse_dump
from megtrim.load_and_run.exit_status import ProgramRun, RunOutcome, ending, error_message
from megtrim.load_and_run.parity import Tolerance
from megtrim.proof.neighbours.model import NeighbourLevel, NeighbourOutcome
from megtrim.proof.trap_diagnosis import SymbolizingLink, diagnose
from megtrim.proof.verification import compare_outputs
from megtrim.regions.keepset import read_keep_set
from megtrim.trim.builds import programs
from megtrim.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.util.errors import InputError

_TIMEOUTS, _LEAST_S = 20, 30.0
"""A trimmed program is as quick as the plain one: beyond this it hangs."""
_LOOSE = 1e-3
"""Of the largest value: a search may take algorithms that add up in another order."""
_LONGEST_WORDS = 160
_VARIES = re.compile(r"0x[0-9a-fA-F]+|\d+|(?<![\w.])\.{0,2}/[^\s:'\"]*")
"""Numbers, addresses and paths: they are another build's or another run's, not other words."""

Note = Callable[[str, RunResult], None]
"""Called with each run and the build's name, so that its log can be kept."""
Needs = Callable[[Lease, RunSpec, ProgramRun], tuple[str, ...]]
"""Names what a run that trapped lacked, on that machine; nothing where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One trimmed build of the program."""

    level: str
    program: Path
    needs: Needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A neighbour to be tried."""

    spec: RunSpec
    """Of the plain program."""
    builds: tuple[Build, ...]
    complains: bool
    """The program is to say something; else it is to compute."""
    searches: bool
    tolerance: Tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class RunObservation:
    """What came of it."""

    text: str
    """How the plain build ended."""
    levels: tuple[NeighbourLevel, ...]


def attempt(wanted: Attempt, lease: Lease, note: Note) -> RunObservation:
    """Run it on plain, then on every trimmed build. Raises what the machine raises."""
    plain = run_on(lease, wanted.spec)
    note("plain", plain)
    text, applies = _judge_plain_run(wanted, plain)
    if not applies:
        return RunObservation(text=text, levels=())
    most_s = min(wanted.spec.timeout_s, max(_LEAST_S, _TIMEOUTS * plain.run.wall_s))
    spec = replace(wanted.spec, timeout_s=most_s)
    levels = tuple(_level(wanted, spec, build, plain, lease, note) for build in wanted.builds)
    return RunObservation(text=text, levels=levels)


def _judge_plain_run(wanted: Attempt, plain: RunResult) -> tuple[str, bool]:
    """Say how the plain build ended, and whether that is something to expect of others."""
    how, said = _describe_ending(plain.run), _words(plain.run)
    if wanted.complains:
        spoke = ending(plain.run) in (
            RunOutcome.PASSED,
            RunOutcome.FAILED,
            RunOutcome.CRASHED,
        ) and bool(said)
        return (f"{how}: {said}" if said else f"{how}, no message"), spoke
    if ending(plain.run) is not RunOutcome.PASSED:
        return f"plain cannot run this: {said or how}", False
    if not plain.outputs:
        return "it leaves no output to compare", False
    count = len(plain.outputs)
    return f"it runs: {count} output{'' if count == 1 else 's'}", True


def _level(
    wanted: Attempt, spec: RunSpec, build: Build, plain: RunResult, lease: Lease, note: Note
) -> NeighbourLevel:
    seen = run_on(lease, spec.with_program(build.program))
    note(build.level, seen)
    outcome, text = judge_outcome(wanted, plain, seen)
    return NeighbourLevel(
        level=build.level,
        outcome=outcome,
        works=outcome is NeighbourOutcome.SAME
        or (wanted.complains and outcome is NeighbourOutcome.REFUSED),
        text=text,
        needs=build.needs(lease, wanted.spec, seen.run)
        if outcome is NeighbourOutcome.TRAPPED
        else (),
        time_s=seen.run.wall_s,
    )


def judge_outcome(
    wanted: Attempt, plain: RunResult, seen: RunResult
) -> tuple[NeighbourOutcome, str]:
    """Return how a trimmed build's run ended, held against the plain build's, and one line."""
    run, said, how = seen.run, _words(seen.run), _describe_ending(seen.run)
    match ending(run):
        case RunOutcome.TIMEOUT:
            return NeighbourOutcome.HANGS, f"it did not end within {run.wall_s:.0f} s"
        case RunOutcome.TRAP:
            return NeighbourOutcome.TRAPPED, "it trapped"
        case RunOutcome.PASSED if not wanted.complains:
            return _judge_outputs(wanted, plain, seen)
        case RunOutcome.FAILED | RunOutcome.CRASHED if not said:
            return NeighbourOutcome.CRASHED, f"{how}, no message"
    if not wanted.complains:
        return NeighbourOutcome.REFUSED, f"{how}: {said}"
    if run.rc != plain.run.rc:
        outcome = (
            NeighbourOutcome.DIFFERS if 0 in (run.rc, plain.run.rc) else NeighbourOutcome.REFUSED
        )
        return outcome, f"{how}, not {plain.run.rc}: {said}"
    if not said:
        return NeighbourOutcome.DIFFERS, "it says nothing"
    same = _plain_words(said) == _plain_words(_words(plain.run))
    if same:
        return NeighbourOutcome.SAME, f"the same words: {said}"
    return NeighbourOutcome.REFUSED, f"in other words: {said}"


def _judge_outputs(
    wanted: Attempt, plain: RunResult, seen: RunResult
) -> tuple[NeighbourOutcome, str]:
    application = wanted.spec.application
    tolerance = wanted.tolerance
    if wanted.searches and not application:
        loose = max(tolerance.absolute, _LOOSE * _largest(plain))
        tolerance = replace(tolerance, absolute=loose)
    found = compare_outputs(plain, seen, tolerance, application=application)
    # Outputs that prove little, such as a constant, are equal all the same.
    equal = all(row.equal for row in found.outputs)
    if equal and len(found.outputs) == len({*plain.outputs, *seen.outputs}):
        return NeighbourOutcome.SAME, "the same outputs"
    return NeighbourOutcome.DIFFERS, found.text


def _largest(plain: RunResult) -> float:
    """Return the largest value of all outputs; 0, so that all must be equal, where one is none."""
    try:
        every = (parse_dump(data, name=name, source=name) for name, data in plain.outputs.items())
        return max((largest_value(each) for each in every), default=0.0)
    except InputError:
        return 0.0


def _describe_ending(run: ProgramRun) -> str:
    return "it did not end in time" if run.timed_out else f"it ended with {run.rc}"


def _words(run: ProgramRun) -> str:
    """Return what a run says in one line: of an error its message, else what it prints."""
    text = error_message(run.stderr) if run.rc else run.stdout or run.stderr
    lines: Sequence[str] = [line.strip() for line in text.split("\n") if line.strip()]
    if run.rc and not lines:
        lines = [line.strip() for line in run.stdout.split("\n") if line.strip()]
    return lines[0][:_LONGEST_WORDS] if lines else ""


def _plain_words(text: str) -> str:
    return _VARIES.sub("#", text)


def needs_of(scenario: Scenario, session: Session, link: SymbolizingLink | None) -> Needs:
    """Return who names what a run lacked: the named link, and the profile build if there is one."""
    made = session.results.done.get(PROFILE)
    profile = programs.program(scenario, session.request, made) if made else None
    keep = read_keep_set(
        session.results.done[keep_task(session.request.config)].file(KEEP_SET_FILE)
    )

    def needs(lease: Lease, spec: RunSpec, trapped: ProgramRun) -> tuple[str, ...]:
        def again(_build: str, program: Path) -> RunResult:
            return run_on(lease, spec.with_program(program))

        found = diagnose(trapped, again, keep, named=link, profile=lambda: profile)
        return (found.function,) if found.function else found.missing

    return needs
