"""From a scenario to the contestants of its race, with their files.

Contestants with equal steps before the measured one share what these make: a side of a race is
such a group, so that a search for algorithms or a dumped model is made once for all who use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from megtrim.config.scenarios import Scenario
from megtrim.load_and_run.arguments import Flag, ProgramArguments, compose, render_flags
from megtrim.load_and_run.parity import Tolerance
from megtrim.perf.contest import Contestant, derive_seed, name_files
from megtrim.perf.experiments.commands import StepFiles, keep_for_experiments, make_commands
from megtrim.perf.experiments.experiment import Backend, Experiment, Step
from megtrim.perf.experiments.situation import Situation, choose_backend
from megtrim.perf.tuning.candidates import list_candidates
from megtrim.perf.tuning.fitting import FITTING
from megtrim.pipeline.building import programs
from megtrim.pipeline.running.contest_plan import look_at, loosen, own_flags
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PLAIN

_PROGRAM = "program"


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceFiles:
    """The files of a race on this machine; all contestants run one program."""

    program: Path
    model: Path
    inputs: Mapping[str, Path]
    """By the input's name."""
    cache: None = None

    def names_of(self, side: str) -> StepFiles:
        """Return the names that a side's files have in the run directory."""
        inputs = {name: path.suffix for name, path in self.inputs.items()}
        return replace(name_files(side, inputs=inputs), program=_PROGRAM)

    def list_files(self, sides: Iterable[str]) -> Mapping[str, Path]:
        """Return what the sides need, by its name in the run directory."""
        del sides  # they share everything that is put there
        names = self.names_of("")
        inputs = {file: self.inputs[name] for name, file in names.inputs}
        return {names.program: self.program, names.model: self.model, **inputs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """One who takes part."""

    experiment: Experiment
    side: str
    """Of those who share the files that steps make."""
    contestant: Contestant
    tolerance: Tolerance
    """Largest difference of its outputs from the baseline's."""


@dataclass(kw_only=True)
class Field:
    """All who take part: the baseline first. It grows by what the engine's own search chose."""

    scenario: Scenario
    situation: Situation
    kept: tuple[Flag, ...]
    """The scenario's own flags that no experiment decides."""
    files: RaceFiles
    other_load: float
    """Share of the CPUs above which other programs disturb a sample."""
    entrants: list[Entrant] = field(default_factory=list)
    _sides: dict[tuple[Step, ...], str] = field(default_factory=dict)

    def enter(self, experiment: Experiment) -> Entrant:
        """Add a contestant; one with the steps of another is that one."""
        for each in self.entrants:
            if each.experiment.steps == experiment.steps:
                return each
        preparation = experiment.steps[:-1]
        side = self._sides.setdefault(preparation, f"g{len(self._sides):02}")
        commands = make_commands(
            experiment,
            self.files.names_of(side),
            dialect=self.situation.dialect,
            backend=choose_backend(experiment, self.situation),
            architecture=self.situation.architecture,
            threads=self.scenario.settings.threads,
            extra=render_flags(self.kept, self.situation.dialect),
        )
        entrant = Entrant(
            experiment=experiment,
            side=side,
            contestant=Contestant(name=experiment.name, commands=commands),
            tolerance=loosen(self.scenario.settings.allowed, experiment.tolerance),
        )
        self.entrants.append(entrant)
        return entrant

    def find(self, name: str) -> Entrant:
        """Return the contestant of that name."""
        return next(each for each in self.entrants if each.experiment.name == name)

    @property
    def seed(self) -> int:
        """What orders the race, equal for equal scenarios."""
        return derive_seed(f"{self.scenario.id} tune")

    def make_fitting_command(self) -> tuple[str, ...] | None:
        """Return the command of the engine's own search; None if the program has none."""
        if not self.situation.dialect.knows(FITTING):
            return None
        names = self.files.names_of("")
        device = "cpu" if self.situation.backend is Backend.CPU else "cuda"
        flags = (*self.kept, Flag(device, None), Flag(FITTING, None))
        return compose(
            ProgramArguments(
                program=names.program,
                model=names.model,
                arguments=render_flags(flags, self.situation.dialect),
                inputs=names.inputs,
                threads=self.scenario.settings.threads,
            )
        )


def make_field(scenario: Scenario, session: Session) -> Field:
    """Return who takes part in the race of a scenario, with the plain program."""
    situation = look_at(scenario, session)
    inputs = scenario.settings.inputs
    made = Field(
        scenario=scenario,
        situation=situation,
        kept=keep_for_experiments(own_flags(scenario, session)),
        files=RaceFiles(
            program=programs.program(scenario, session.request, session.results.done[PLAIN]),
            model=session.request.path(scenario.model.file),
            inputs={name: session.request.path(path) for name, path in inputs.items()},
        ),
        other_load=session.request.config.perf.other_load,
    )
    for each in list_candidates(situation):
        made.enter(each)
    return made
