"""A contest as a bundle describes it: what is measured, with which programs of the bundle.

Pure; part of the evidence room. Command lines come from another machine, so they may name only the
files that are put into the run directory, by the names that these have there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from megtrim.build_spec import Variant
from megtrim.config.units import LARGEST_DURATION_S
from megtrim.evidence import limits
from megtrim.experiments.commands import StepCommand, StepFiles
from megtrim.experiments.contest import (
    Contest,
    Contestant,
    Criterion,
    PerformanceStatus,
    Side,
    name_files,
)
from megtrim.load_and_run.arguments import check_reserved

MOST_TIMES = 1_000_000
"""Times that one contest may bring."""
_UNHELD = (
    PerformanceStatus.SKIPPED,
    PerformanceStatus.FAILED,
    PerformanceStatus.INFRASTRUCTURE,
)
_MOST_STEPS = 10
_MOST_FEATURES = 100
_MOST_ITERATIONS = 100_000
_MOST_WARMUPS = 1000
_MOST_THREADS = 256
_LARGEST_TOLERANCE = 2.0**62


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleContest:
    """One contest of a scenario, or why there is none."""

    id: str
    """``MODEL/SCENARIO@CLASS#SUBJECT``."""
    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    binding: str
    """What a result of it is bound to: the sha256 of all that it depends on but the device."""
    contest: Contest | None
    """None: no device is asked."""
    unheld: PerformanceStatus | None = None
    """How it ended without any device: skipped, or failed with its build; None: it is held."""
    reason: str = ""
    """Of that, one line."""
    artifact: str
    """The program."""
    reference: Variant = Variant.PLAIN
    rival: Variant = Variant.PLAIN
    """Whose program each side runs."""
    cpu_features: tuple[str, ...] = ()
    """What the device's CPU must have, which the job that packs does not know."""
    sizes: tuple[tuple[Variant, int], ...] = ()
    """Bytes of the artifact in each variant, where programs are compared."""

    def __post_init__(self) -> None:
        limits.check_name("contest: class", self.cpu_class)
        scenario = limits.check_contest("contest", self.id, cpu_class=self.cpu_class)
        limits.require(scenario == self.scenario, f"{self.id}: scenario", self.scenario, scenario)
        limits.check_digest(f"{self.id}: binding", self.binding)
        limits.check_name(f"{self.id}: artifact", self.artifact)
        limits.check_line(f"{self.id}: reason", self.reason)
        held = self.contest is not None
        fits = self.unheld in ((None,) if held else _UNHELD) and bool(self.reason) is not held
        limits.require(fits, f"{self.id}: reason", self.reason, "a contest, or why there is none")
        limits.check_count(f"{self.id}: cpu_features", self.cpu_features, _MOST_FEATURES)
        for feature in self.cpu_features:
            limits.check_name(f"{self.id}: cpu_features", feature)
        limits.check_unique(f"{self.id}: sizes", [str(variant) for variant, _ in self.sizes])
        if self.contest is not None:
            _check_effort(self.contest, self.id)
            for _, contestant in self.contest.sides:
                limits.check_name(f"{self.id}: contestant", contestant.name)
                limits.check_count(f"{self.id}: commands", contestant.commands, _MOST_STEPS)

    @property
    def held(self) -> Contest:
        """The contest of one that devices are asked for."""
        if self.contest is None:
            msg = f"{self.id} is not held"
            raise TypeError(msg)
        return self.contest

    @property
    def subject(self) -> str:
        """The part of its id after the scenario's."""
        return self.id.removeprefix(f"{self.scenario}#")

    @property
    def variants(self) -> dict[Side, Variant]:
        """Whose program each side runs."""
        every = {Side.REFERENCE: self.reference, Side.RIVAL: self.rival}
        return {side: every[side] for side, _ in self.contest.sides} if self.contest else {}

    def check_commands(self, inputs: dict[str, str]) -> None:
        """Expect command lines that name no other files; ``inputs``: suffix by input name."""
        for side, contestant in self.contest.sides if self.contest else ():
            files = name_files(side, inputs=inputs)
            for command in contestant.commands:
                _check_command(f"{self.id}: {contestant.name}", command, files)


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleTimes:
    """What a bundle says where times are taken."""

    engine: str
    """Digest of the engine's sources, by which the verdict of this build is known."""
    criterion: Criterion
    inconclusive: Literal["fail", "warn"]
    base: str = ""
    """Name of the earlier program that times are compared with; empty: with none."""
    contests: tuple[BundleContest, ...]
    """All of them, in the configuration's order."""

    def __post_init__(self) -> None:
        limits.check_digest("times: engine", self.engine)
        limits.check_line("times: base", self.base)
        limits.check_count("contests", self.contests, limits.MOST_ITEMS)
        limits.check_unique("contests", [each.id for each in self.contests])


def _check_effort(contest: Contest, where: str) -> None:
    fits = 1 <= contest.threads <= _MOST_THREADS
    limits.require(fits, f"{where}: threads", contest.threads, f"1 to {_MOST_THREADS}")
    for what, time_s in (("timeout_s", contest.timeout_s), ("limit_s", contest.budget.limit_s)):
        fits = time_s is None or 0 < time_s <= LARGEST_DURATION_S
        limits.require(fits, f"{where}: {what}", time_s, "a time that megtrim.yaml can allow")
    limits.check_variables(f"{where}: environment", contest.environment)
    allowed = contest.tolerance
    fits = allowed.absolute <= _LARGEST_TOLERANCE and allowed.relative < 1
    limits.require(fits, f"{where}: tolerance", str(allowed), "one that a difference exceeds")
    times = sum(
        contest.budget.rounds * (command.iterations + command.step.warmups + 1)
        for _, contestant in contest.sides
        for command in _list_measured(contestant, where)
    )
    limits.require(times <= MOST_TIMES, f"{where}: times", times, f"at most {MOST_TIMES}")


def _list_measured(contestant: Contestant, where: str) -> Iterator[StepCommand]:
    for command in contestant.commands:
        fits = 1 <= command.iterations <= _MOST_ITERATIONS
        expected = f"1 to {_MOST_ITERATIONS}"
        limits.require(fits, f"{where}: iterations", command.iterations, expected)
        fits = command.step.warmups <= _MOST_WARMUPS
        expected = f"at most {_MOST_WARMUPS}"
        limits.require(fits, f"{where}: warmups", command.step.warmups, expected)
        if command.step.measured:
            yield command


def _check_command(where: str, command: StepCommand, files: StepFiles) -> None:
    limits.check_count(f"{where}: arguments", command.argv, limits.MOST_ITEMS)
    for argument in command.argv:
        limits.check_line(f"{where}: arguments", argument)
    program, model, *arguments = (*command.argv, "", "")[: max(2, len(command.argv))]
    limits.require(program == files.program, f"{where}: program", program, files.program)
    fits = model in (files.model, files.dumped_model)
    limits.require(fits, f"{where}: model", model, f"{files.model} or {files.dumped_model}")
    # For example, a flag that reads further flags from a file must be refused here, too.
    check_reserved(_list_others(arguments, files), source=where)


def _list_others(arguments: list[str], files: StepFiles) -> Iterator[str]:
    """Yield the arguments besides those that megtrim adds with names of the run directory."""
    own = {
        "--fast-run-algo-policy": files.algo_cache,
        "--layout-transform-dump": files.dumped_model,
        "--input": ";".join(f"{name}:{path}" for name, path in files.inputs),
    }
    rest = list(reversed(arguments))
    while rest:
        argument = rest.pop()
        if argument in own and rest and rest[-1] == own[argument]:
            rest.pop()
        elif argument != "--fast-run":  # an experiment, where a search is what is measured
            yield argument
