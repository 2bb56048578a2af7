"""Stage `neighbours`: runs near each scenario, on plain and on every trimmed build.

It measures what trimming costs: what the plain build can do with a neighbour is what is expected of
the others. Each neighbour is a result of its own, keyed by what it depends on: a run that was cut
off goes on where it was, and a new neighbour runs alone. Nothing fails here.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from megtrim.chain.filenames import CACHE_FILE, KEEP_SET_FILE
from megtrim.chain.graph import (
    PLAIN,
    PROFILE,
    REDUCED,
    REGION,
    Stage,
    Task,
    keep_task,
    search_task,
    trims_functions,
    trims_plain_build,
)
from megtrim.chain.session import Session, TrimRequest, scenario_inputs
from megtrim.config.scenarios import Scenario
from megtrim.devices.retry import run_with_retries
from megtrim.proof.neighbours import requests as neighbour_plan
from megtrim.proof.neighbours import runs as neighbour_runs
from megtrim.proof.neighbours.model import (
    NeighbourOutcome,
    NeighbourResult,
    NeighbourRunResult,
    NeighboursResult,
    working,
)
from megtrim.proof.neighbours.plan import Neighbour
from megtrim.proof.neighbours.runs import Attempt, Build, RunObservation, attempt
from megtrim.proof.symbolizing_link import ensure_named_program
from megtrim.trim.builds import programs
from megtrim.trim.runs.execution import RunResult
from megtrim.trim.runs.scenario_runs import scenario_of
from megtrim.util.files import sha256_file


def inputs(task: Task, session: Session) -> dict[str, str]:
    """Name the programs, the neighbours that are tried, and all of a run."""
    scenario = scenario_of(task)
    tried = neighbour_plan.near(scenario, session)
    return _run_inputs(scenario, session) | {
        **{f"neighbour {each.name}": repr(each) for each in tried},
        "other dumps": " ".join(sha256_file(session.request.path(p)) for p in scenario.model.also),
        **_profile_inputs(scenario, session),
    }


def result_type(_task: Task) -> type[NeighboursResult]:
    """Return the type of what :func:`work` finds."""
    return NeighboursResult


def work(task: Task, session: Session, folder: Path) -> NeighboursResult:
    """Try every neighbour."""
    scenario = scenario_of(task)
    rows = tuple(
        _evaluate_neighbour(each, scenario, session)
        for each in neighbour_plan.near(scenario, session)
    )
    session.services.console.say(f"  {scenario.id}: {working(rows)}")
    return NeighboursResult(scenario=scenario.id, neighbours=rows)


def _run_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    named_ = scenario_inputs(scenario, session)
    if scenario.searches:
        named_["algorithm cache"] = session.results.done[search_task(scenario)].files[CACHE_FILE]
    for label, task in (("plain", PLAIN), *_levels(session.request)):
        named_ |= programs.digests(scenario, session, task, label)
    return named_ | {
        # It shows what a run that trapped is missing.
        "keep set": session.results.done[keep_task(session.request.config)].files[KEEP_SET_FILE],
        "tolerance": repr(scenario.settings.allowed),
    }


def _evaluate_neighbour(
    neighbour: Neighbour, scenario: Scenario, session: Session
) -> NeighbourResult:
    """Return what came of one neighbour, from the store where up to date."""
    rests_on = _run_inputs(scenario, session) | _binding(neighbour, session.request)

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
        session.services.console.say(f"    near  {neighbour.name}: {_line(row)}")
        return NeighbourRunResult(neighbour=row)

    def ensure(named: dict[str, str]) -> tuple[NeighbourResult, bool]:
        name = f"{scenario.id}#{neighbour.name}"
        folder, made = session.services.store.ensure(
            Stage.NEIGHBOURS, name, named, produce, NeighbourRunResult
        )
        return folder.result_as(NeighbourRunResult).neighbour, made

    row, made = ensure(rests_on)
    profile = _profile_inputs(scenario, session)
    if made or not profile or not _is_unexplained(row):
        return row
    # It was tried where no profile build was at hand to show what was missing.
    return ensure(rests_on | profile)[0]


def _is_unexplained(row: NeighbourResult) -> bool:
    return any(each.outcome is NeighbourOutcome.TRAPPED and not each.needs for each in row.levels)


def _profile_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    """Name the profile build where there is one: it shows what a run that trapped is missing."""
    if PROFILE not in session.results.done:
        return {}
    return programs.digests(scenario, session, PROFILE, "profile")


def _binding(neighbour: Neighbour, request: TrimRequest) -> dict[str, str]:
    model = "" if neighbour.model is None else sha256_file(request.path(neighbour.model))
    return {"neighbour": repr(neighbour), "neighbour model": model}


def _line(row: NeighbourResult) -> str:
    if not row.levels:
        return f"does not apply, on plain: {row.text}"
    return ", ".join(f"{each.level} {each.outcome}" for each in row.levels)


def _run(
    neighbour: Neighbour, scenario: Scenario, session: Session, folder: Path
) -> RunObservation:
    plain = programs.program(scenario, session.request, session.results.done[PLAIN])
    wanted = Attempt(
        spec=neighbour_plan.order_of(neighbour, scenario, session, plain, folder / "inputs"),
        builds=tuple(_builds(scenario, session)),
        complains=neighbour_plan.complains(neighbour),
        searches=neighbour.searches,
        tolerance=scenario.settings.allowed,
    )

    def note(build: str, seen: RunResult) -> None:
        log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
        (folder / f"{build}.log").write_text(log, encoding="utf-8")

    seen = run_with_retries(
        session.services.device(scenario),
        lambda lease: attempt(wanted, lease, note),
        say=session.services.console.say,
    )
    shutil.rmtree(folder / "inputs", ignore_errors=True)  # made again whenever they are needed
    return seen


def _levels(request: TrimRequest) -> Iterator[tuple[str, str]]:
    """Yield each level of trimming and the task that built it, the shipped one last."""
    config = request.config
    if trims_functions(config) and not trims_plain_build(config):
        yield "region", REGION
    yield ("function" if trims_functions(config) else "region"), REDUCED


def _builds(scenario: Scenario, session: Session) -> Iterator[Build]:
    for level, task in _levels(session.request):
        link = ensure_named_program(scenario, session) if level == "function" else None
        program = programs.program(scenario, session.request, session.results.done[task])
        needs = neighbour_runs.needs_of(scenario, session, link)
        yield Build(level=level, program=program, needs=needs)
