"""A contest as a bundle describes it: what is measured, with which programs of the bundle.

Pure. Command lines come from another machine, so they may name only the
files that are put into the run directory, by the names that these have there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from megtrim.build_spec import Variant
from megtrim.config.units import LARGEST_DURATION_S
from megtrim.evidence.fields import (
    A_LINE,
    A_NAME,
    THREADS,
    VARIABLES,
    Digest,
    Items,
    Line,
    Name,
    are_variables,
    is_bounded,
    is_line,
    is_name,
    is_threads,
    require,
    require_contest,
    require_unique,
)
from megtrim.evidence.limits import MOST_ITEMS
from megtrim.experiments.commands import StepCommand, StepFiles
from megtrim.experiments.contest import Contest, Criterion, PerformanceStatus, Side, name_files
from megtrim.load_and_run.arguments import check_reserved
from megtrim.util.value import Value

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


class BundleContest(Value):
    """One contest of a scenario, or why there is none."""

    id: str
    """``MODEL/SCENARIO@CLASS#SUBJECT``."""
    scenario: str
    cpu_class: Annotated[Name, Field(alias="class")]
    binding: Digest
    """What a result of it is bound to: the sha256 of all that it depends on but the device."""
    contest: Contest | None
    """None: no device is asked."""
    unheld: PerformanceStatus | None = None
    """How it ended without any device: skipped, or failed with its build; None: it is held."""
    reason: Line = ""
    """Of that."""
    artifact: Name
    """The program."""
    reference: Variant = Variant.PLAIN
    rival: Variant = Variant.PLAIN
    """Whose program each side runs."""
    cpu_features: Annotated[tuple[Name, ...], Field(max_length=_MOST_FEATURES)] = ()
    """What the device's CPU must have, which the job that packs does not know."""
    sizes: tuple[tuple[Variant, int], ...] = ()
    """Bytes of the artifact in each variant, where programs are compared."""

    def __post_init__(self) -> None:
        scenario = require_contest("contest", self.id, cpu_class=self.cpu_class)
        require(scenario == self.scenario, f"{self.id}: scenario", self.scenario, scenario)
        held = self.contest is not None
        fits = self.unheld in ((None,) if held else _UNHELD) and bool(self.reason) is not held
        require(fits, f"{self.id}: reason", self.reason, "a contest, or why there is none")
        require_unique(f"{self.id}: sizes", [str(variant) for variant, _ in self.sizes])
        if self.contest is not None:
            _expect_bounded(self.contest, self.id)

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
        every = {Side.REFERENCE: self.reference, Side.RIVAL: self.rival}
        return {side: every[side] for side, _ in self.contest.sides} if self.contest else {}

    def check_commands(self, inputs: dict[str, str]) -> None:
        """Expect command lines that name no other files; ``inputs``: suffix by input name."""
        for side, contestant in self.contest.sides if self.contest else ():
            files = name_files(side, inputs=inputs)
            for command in contestant.commands:
                _check_command(f"{self.id}: {contestant.name}", command, files)


class BundleTimes(Value):
    """What a bundle says where times are taken."""

    engine: Digest
    """Of the engine's sources, by which the verdict of this build is known."""
    criterion: Criterion
    inconclusive: Literal["fail", "warn"]
    base: Line = ""
    """Name of the earlier program that times are compared with; empty: with none."""
    contests: Items[BundleContest]
    """All of them, in the configuration's order."""

    def __post_init__(self) -> None:
        require_unique("contests", [each.id for each in self.contests])


def _expect_bounded(contest: Contest, where: str) -> None:
    require(is_threads(contest.threads), f"{where}: threads", contest.threads, THREADS)
    for what, time_s in (("timeout_s", contest.timeout_s), ("limit_s", contest.budget.limit_s)):
        fits = time_s is None or 0 < time_s <= LARGEST_DURATION_S
        require(fits, f"{where}: {what}", time_s, "a time that megtrim.yaml can allow")
    require(
        are_variables(contest.environment), f"{where}: environment", contest.environment, VARIABLES
    )
    found, expected = str(contest.tolerance), "one that a difference exceeds"
    require(is_bounded(contest.tolerance), f"{where}: tolerance", found, expected)
    times = 0
    for _, contestant in contest.sides:
        commands = contestant.commands
        require(is_name(contestant.name), f"{where}: contestant", contestant.name, A_NAME)
        fits = len(commands) <= _MOST_STEPS
        require(fits, f"{where}: commands", len(commands), f"at most {_MOST_STEPS}")
        for command in commands:
            fits = 1 <= command.iterations <= _MOST_ITERATIONS
            expected = f"1 to {_MOST_ITERATIONS}"
            require(fits, f"{where}: iterations", command.iterations, expected)
            fits = command.step.warmups <= _MOST_WARMUPS
            require(fits, f"{where}: warmups", command.step.warmups, f"at most {_MOST_WARMUPS}")
        last = commands[-1]  # which alone is measured
        times += contest.budget.rounds * (last.iterations + last.step.warmups + 1)
    require(times <= MOST_TIMES, f"{where}: times", times, f"at most {MOST_TIMES}")


def _check_command(where: str, command: StepCommand, files: StepFiles) -> None:
    fits = len(command.argv) <= MOST_ITEMS
    require(fits, f"{where}: arguments", len(command.argv), f"at most {MOST_ITEMS}")
    for argument in command.argv:
        require(is_line(argument), f"{where}: arguments", argument, A_LINE)
    program, model, *arguments = (*command.argv, "", "")[: max(2, len(command.argv))]
    require(program == files.program, f"{where}: program", program, files.program)
    fits = model in (files.model, files.dumped_model)
    require(fits, f"{where}: model", model, f"{files.model} or {files.dumped_model}")
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
