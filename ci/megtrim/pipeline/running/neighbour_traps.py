"""What a run that trapped on a trimmed build lacked: a function by name, else regions."""

from __future__ import annotations

from pathlib import Path

from megtrim.config.scenarios import Scenario
from megtrim.devices import Lease
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.midout.keepset import read_keep_set
from megtrim.pipeline.building import programs
from megtrim.pipeline.filenames import KEEP_SET_FILE
from megtrim.pipeline.running.execution import RunResult, RunSpec, run_on
from megtrim.pipeline.running.neighbour_runs import Needs
from megtrim.pipeline.running.trap_diagnosis import SymbolizingLink, diagnose
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PROFILE, keep_task


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
