"""Stage `neighbours`: runs near each scenario, on plain and on every trimmed build.

What the plain build can do with a neighbour is what is expected of the others. Each neighbour is a
result of its own, so a run that was cut off goes on where it was. Nothing fails here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import (
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    Stage,
    Task,
    defers_functions,
    keep_task,
    trims_functions,
    trims_plain_build,
)
from megtrim.core.chain.session import Session, TrimRequest, scenario_inputs
from megtrim.core.config.scenarios import Scenario
from megtrim.core.functions.runtime_lines import RuntimeLine
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.own_program import find_program, read_error
from megtrim.core.proof.neighbours import (
    NeighbourLevel,
    NeighbourOutcome,
    NeighbourResult,
    NeighbourRunResult,
    NeighboursResult,
    count_working,
)
from megtrim.core.proof.trap_diagnosis import (
    SymbolizingLink,
    diagnose,
    ensure_named_program,
    find_profile,
)
from megtrim.core.proof.verification import choose_judge, compare_outputs
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.core.trim.runs.scenario_runs import cache_inputs, scenario_of
from megtrim.libs.programs.arrays import largest_value
from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import sha256_file
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import run_with_retries
from megtrim.times.neighbours import requests as neighbour_plan
from megtrim.times.neighbours.requests import Neighbour, NeighbourKind


def inputs(task: Task, session: Session) -> dict[str, str]:
    scenario = scenario_of(task)
    tried = neighbour_plan.near(scenario, session)
    named = _run_inputs(scenario, session)
    for neighbour in tried:
        named[f"neighbour {neighbour.name}"] = repr(neighbour)
    dumps = [sha256_file(session.request.path(path)) for path in scenario.own_model.also]
    named["other dumps"] = " ".join(dumps)
    return named | _profile_inputs(scenario, session)


def work(task: Task, session: Session, folder: Path) -> NeighboursResult:
    scenario = scenario_of(task)
    rows = tuple(
        _evaluate_neighbour(each, scenario, session)
        for each in neighbour_plan.near(scenario, session)
    )
    session.console.say(f"  {scenario.id}: {count_working(rows)} neighbours work")
    return NeighboursResult(scenario=scenario.id, neighbours=rows)


def _run_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    named_ = scenario_inputs(scenario, session)
    named_ |= cache_inputs(scenario, session)
    for label, task in (("plain", PLAIN), *_levels(session.request)):
        named_ |= applications.digests(scenario, session, task, label)
    return named_ | {
        # It shows what a run that trapped is missing.
        "keep set": session.done[keep_task(session.config)].files[KEEP_SET_FILE],
        "tolerance": repr(scenario.settings.allowed),
    }


def _evaluate_neighbour(
    neighbour: Neighbour, scenario: Scenario, session: Session
) -> NeighbourResult:
    model = session.request.path(neighbour.model) if neighbour.model else None
    rests_on = _run_inputs(scenario, session) | {
        "neighbour": repr(neighbour),
        "neighbour model": sha256_file(model) if model else "",
    }

    def produce(folder: Path) -> NeighbourRunResult:
        seen = _run(neighbour, scenario, session, folder)
        row = NeighbourResult(
            scenario=scenario.id,
            name=neighbour.name,
            kind=neighbour.kind,
            what=neighbour.what,
            text=seen.text,
            levels=seen.levels,
        )
        levels = ", ".join(f"{level.level} {level.outcome}" for level in row.levels)
        ended = levels or f"does not apply, on plain: {row.text}"
        session.console.say(f"    near  {neighbour.name}: {ended}")
        return NeighbourRunResult(neighbour=row)

    def ensure(named: dict[str, str]) -> tuple[NeighbourResult, bool]:
        name = f"{scenario.id}#{neighbour.name}"
        folder, made = session.services.store.ensure(
            Stage.NEIGHBOURS, name, named, produce, NeighbourRunResult
        )
        return folder.result_as(NeighbourRunResult).neighbour, made

    row, made = ensure(rests_on)
    profile = _profile_inputs(scenario, session)
    trapped = [level for level in row.levels if level.outcome is NeighbourOutcome.TRAPPED]
    if made or not profile or all(each.needs for each in trapped):
        return row
    # It was tried where no profile build was at hand to show what was missing.
    return ensure(rests_on | profile)[0]


def _profile_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    if PROFILE not in session.done:
        return {}
    return applications.digests(scenario, session, PROFILE, "profile")


def _run(
    neighbour: Neighbour, scenario: Scenario, session: Session, folder: Path
) -> RunObservation:
    plain = applications.program(scenario, session.request, session.done[PLAIN])
    wanted = Attempt(
        spec=neighbour_plan.order_of(neighbour, scenario, session, plain, folder / "inputs"),
        builds=tuple(_builds(scenario, session)),
        complains=neighbour.kind is NeighbourKind.COMPLAINT,
        searches=neighbour.searches,
        tolerance=scenario.settings.allowed,
    )

    def note(build: str, seen: RunResult) -> None:
        log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
        (folder / f"{build}.log").write_text(log, encoding="utf-8")

    seen = run_with_retries(
        session.services.device(scenario),
        lambda lease: attempt(wanted, lease, note),
        say=session.console.say,
    )
    shutil.rmtree(folder / "inputs", ignore_errors=True)  # made again whenever they are needed
    return seen


def _levels(request: TrimRequest) -> Iterator[tuple[str, str]]:
    config = request.config
    if trims_functions(config) and not trims_plain_build(config):
        yield "region", REGION
    if defers_functions(config):
        yield _ALONE, REDUCED
        yield _WITH_REST, REDUCED
    else:
        yield config.trim.level, REDUCED


def _builds(scenario: Scenario, session: Session) -> Iterator[Build]:
    for level, task in _levels(session.request):
        is_bare = level in {"function", _ALONE}
        link = ensure_named_program(scenario, session) if is_bare else None
        program = applications.program(scenario, session.request, session.done[task])
        needs = needs_of(scenario, session, link)
        yield Build(level=level, program=program, needs=needs, with_rest=level == _WITH_REST)


_ALONE = "alone"
_WITH_REST = "with rest"
"""Of a program with deferred functions: how it runs without them and with them."""


_TIMEOUTS = 20
_LEAST_S = 30.0
"""A trimmed program is as quick as the plain one: beyond this it hangs."""
_LOOSE = 1e-3
"""Of the largest value: a search may take algorithms that add up in another order."""
_LONGEST_WORDS = 160
_VARIES = re.compile(r"0x[0-9a-fA-F]+|\d+|(?<![\w.])\.{0,2}/[^\s:'\"]*")
"""Numbers, addresses and paths: they are another build's or another run's, not other words."""

Note = Callable[[str, RunResult], None]
Needs = Callable[[Lease, RunSpec, ProgramRun], tuple[str, ...]]
"""Names what a run that trapped lacked, on that machine; nothing where that is not known."""


class Build(Value):
    level: str
    program: Path
    needs: Needs
    with_rest: bool = False


class Attempt(Value):
    spec: RunSpec
    builds: tuple[Build, ...]
    complains: bool
    searches: bool
    tolerance: Tolerance


class RunObservation(Value):
    text: str
    levels: tuple[NeighbourLevel, ...]


def attempt(wanted: Attempt, lease: Lease, note: Note) -> RunObservation:
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
    how = _describe_ending(plain.run)
    said = _words(plain.run)
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
    seen = run_on(lease, replace(spec, program=build.program, with_rest=build.with_rest))
    note(build.level, seen)
    outcome, text = judge_outcome(wanted, plain, seen)
    works = outcome is NeighbourOutcome.SAME
    if wanted.complains and outcome is NeighbourOutcome.REFUSED:
        works = True
    said = RuntimeLine.find(seen.run.stderr)
    explained = build.with_rest and said is not None
    needs: tuple[str, ...] = ()
    if outcome is NeighbourOutcome.TRAPPED and not explained:
        needs = build.needs(lease, wanted.spec, seen.run)
    return NeighbourLevel(
        level=build.level,
        outcome=outcome,
        works=works,
        text=text,
        needs=needs,
        time_s=seen.run.wall_s,
    )


def judge_outcome(
    wanted: Attempt, plain: RunResult, seen: RunResult
) -> tuple[NeighbourOutcome, str]:
    run = seen.run
    said = _words(seen.run)
    how = _describe_ending(seen.run)
    match ending(run):
        case RunOutcome.TIMEOUT:
            return NeighbourOutcome.HANGS, f"it did not end within {run.wall_s:.0f} s"
        case RunOutcome.TRAP:
            line = RuntimeLine.find(run.stderr)
            if line and not line.is_missing:
                return NeighbourOutcome.TRAPPED, f"it trapped: {line.text}"
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
    if _VARIES.sub("#", said) == _VARIES.sub("#", _words(plain.run)):
        return NeighbourOutcome.SAME, f"the same words: {said}"
    return NeighbourOutcome.REFUSED, f"in other words: {said}"


def _judge_outputs(
    wanted: Attempt, plain: RunResult, seen: RunResult
) -> tuple[NeighbourOutcome, str]:
    tolerance = wanted.tolerance
    if wanted.searches and not wanted.spec.application:
        loose = max(tolerance.absolute, _LOOSE * _largest(plain))
        tolerance = replace(tolerance, absolute=loose)
    found = compare_outputs(plain.outputs, seen.outputs, tolerance, choose_judge(wanted.spec))
    # Outputs that prove little, such as a constant, are equal all the same.
    equal = all(row.equal for row in found.outputs)
    if equal and len(found.outputs) == len({*plain.outputs, *seen.outputs}):
        return NeighbourOutcome.SAME, "the same outputs"
    return NeighbourOutcome.DIFFERS, found.text


def _largest(plain: RunResult) -> float:
    """Return 0, so that all must be equal, where an output cannot be read."""
    try:
        parse_dump = find_program().parse_dump
        every = (parse_dump(data, name=name, source=name) for name, data in plain.outputs.items())
        return max((largest_value(each) for each in every), default=0.0)
    except InputError:
        return 0.0


def _describe_ending(run: ProgramRun) -> str:
    return "it did not end in time" if run.timed_out else f"it ended with {run.rc}"


def _words(run: ProgramRun) -> str:
    text = read_error(run.stderr) if run.rc else run.stdout or run.stderr
    lines: Sequence[str] = [line.strip() for line in text.split("\n") if line.strip()]
    if run.rc and not lines:
        lines = [line.strip() for line in run.stdout.split("\n") if line.strip()]
    return lines[0][:_LONGEST_WORDS] if lines else ""


def needs_of(scenario: Scenario, session: Session, link: SymbolizingLink | None) -> Needs:
    profile = find_profile(scenario, session, session.done.get(PROFILE))
    keep = read_keep_set(session.done[keep_task(session.config)].file(KEEP_SET_FILE))

    def needs(lease: Lease, spec: RunSpec, trapped: ProgramRun) -> tuple[str, ...]:
        def again(_build: str, other: RunSpec) -> RunResult:
            return run_on(lease, other)

        found = diagnose(trapped, spec, again, keep, named=link, profile=lambda: profile)
        return (found.function,) if found.function else found.missing

    return needs
