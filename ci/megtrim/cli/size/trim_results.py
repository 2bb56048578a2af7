"""A finished trim, as the verbs of ``megtrim size`` ask it what refers to what."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from megtrim.cli.session.setup import Options, open_session
from megtrim.errors import InputError
from megtrim.pipeline import references
from megtrim.pipeline.pricing import PricedArtifact, open_artifacts
from megtrim.pipeline.results import ReferencesResult
from megtrim.pipeline.session import Session
from megtrim.plan.graph import (
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    tasks,
    with_dependencies,
)
from megtrim.plan.staleness import TaskState
from megtrim.size.references.linked_file import LinkedFile
from megtrim.stages import runner
from megtrim.store import made_by_another

_HINT = "trim first: its results are what is asked about"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimResults:
    """A trim whose results are up to date."""

    session: Session

    def read(self, task_id: str, program: str | None) -> tuple[str, LinkedFile]:
        """Return a program's name and its graph, of the links of a task.

        They are made now if they are not there yet. ``program``: None for the first. Raises
        InputError for a program that is not one of them.
        """
        made = self.session.results.expect(task_id)
        chosen = choose_program(program, made.result_as(ReferencesResult).programs)
        self.session.services.console.note(f"reading what refers to what in {chosen}")
        return chosen, references.read_program(chosen, made)

    def open_priced(self, program: str | None) -> PricedArtifact:
        """Return the program that is priced, with the links that show what refers to what.

        Raises InputError for a program that is not one of them.
        """
        results = self.session.results
        results.expect(SHIPPED_REFERENCES)
        if PROFILE in results.done:
            results.obtain(PROFILE_REFERENCES)
        names: list[str] = []
        for each in open_artifacts(self.session):  # each is a graph of its own
            if not program or each.name == program:
                return each
            names.append(each.name)
        raise _explain_unknown(program or "", names)


def choose_program(program: str | None, names: Collection[str]) -> str:
    """Return the program that ``--program`` names, the first without it. Raises InputError."""
    chosen = program or next(iter(names), "")
    if chosen not in names:
        raise _explain_unknown(chosen, names)
    return chosen


def _explain_unknown(program: str, names: Collection[str]) -> InputError:
    return InputError(f"--program: found {program!r}, expected one of {', '.join(names)}")


def open_trim(options: Options, needs: Sequence[str] = (REDUCED,)) -> TrimResults:
    """Open the results of a trim. Raises InputError where they are not up to date."""
    session = open_session(options)
    every = tasks(session.request.config, committed=session.request.committed)
    for step in runner.plan(with_dependencies(needs, every), session):
        if step.foreign:
            raise made_by_another(options.out)
        if step.state is not TaskState.DONE:
            msg = f"{options.out}: {step.task} is not up to date: {step.why}"
            again = session.request.invocation.again("trim")
            raise InputError(msg, hint=f"{_HINT}: {again}")
    return TrimResults(session=runner.able(session))
