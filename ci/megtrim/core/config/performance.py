"""What megtrim.yaml says of times, work and memory: ``perf``, ``work``, ``memory``. Pure."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from megtrim.core.config.value_types import (
    BranchName,
    ConfigSection,
    FilePath,
    Growth,
    Name,
    Share,
    ShareOrAny,
    SizeBytes,
    Text,
    TimeMs,
    TimeoutS,
    Whole,
)
from megtrim.core.timing.catalogue import BASELINE, list_experiments
from megtrim.core.timing.spec import FEWEST_ROUNDS, MOST_ROUNDS, ContestBudget, Criterion

_RECIPE = "recipe-"


class PerfBudgetConfig(ConfigSection):
    """Limits for the comparison of one experiment with the baseline."""

    rounds: Annotated[int, Whole(FEWEST_ROUNDS, MOST_ROUNDS)] | None = None
    """Largest number of pairs of processes. Default: 40. A clear answer ends the comparison
    earlier."""
    time_s: TimeoutS | None = Field(default=None, alias="time")
    """No pair begins after this time, such as 10 minutes. Default: no limit."""


class PerfHistoryConfig(ConfigSection):
    """Where the times of earlier runs are kept."""

    folder: FilePath | None = None
    """A folder with one file for each run."""
    branch: BranchName | None = None
    """A branch of this repository, such as perf-history, instead of a folder."""


class PerfConfig(ConfigSection):
    """Which times `megtrim perf run` measures, and what counts as a change."""

    experiments: tuple[Name, ...] | None = None
    """Experiments by name, as `megtrim perf list` prints them. Default: all, or the recipes; of a
    command only baseline, because the others set flags."""
    recipes: tuple[Literal["x86", "arm", "nvidia"], ...] = ()
    """Recipes of the engine's documentation, in addition to experiments."""
    scenarios: Annotated[tuple[Text, ...], Field(min_length=1)] = ()
    """Scenarios that are measured, as MODEL/SCENARIO, or NAME for a command. Default: all."""
    classes: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """CPU classes that are measured. Default: all."""
    trimming: StrictBool = False
    """Also compare each reduced program with the plain one, which needs a trim."""
    budget: PerfBudgetConfig = PerfBudgetConfig()
    threshold: Share = Field(default=0.01, json_schema_extra={"default": "1%"})
    """Smallest change that counts, such as 1%."""
    floor_ms: TimeMs = Field(default=0.0, alias="floor", json_schema_extra={"default": "0 ms"})
    """Smallest difference that counts, such as 0.05 ms. Default: any difference."""
    other_load: ShareOrAny = Field(default=0.5, json_schema_extra={"default": "50%"})
    """Share of all CPUs' time that other programs may take while a measured process runs; `any`: no
    limit."""
    history: PerfHistoryConfig = PerfHistoryConfig()
    inconclusive: Literal["fail", "warn"] = "fail"
    """What happens if the budget ends before an answer is clear. Neither value is a pass."""

    @property
    def names(self) -> tuple[str, ...]:
        wanted = {*(self.experiments or ()), *(f"{_RECIPE}{recipe}" for recipe in self.recipes)}
        every = self.experiments is None and not wanted
        if wanted:
            wanted.add(BASELINE)
        return tuple(each.name for each in list_experiments() if every or each.name in wanted)

    @property
    def criterion(self) -> Criterion:
        return Criterion(
            threshold=self.threshold, floor_ms=self.floor_ms, other_load=self.other_load
        )

    @property
    def contest_budget(self) -> ContestBudget:
        asked = self.budget
        rounds = ContestBudget().rounds if asked.rounds is None else asked.rounds
        return ContestBudget(rounds=rounds, limit_s=asked.time_s)


class WorkConfig(ConfigSection):
    """The instructions that each scenario executes, counted under an emulator: of a model in an
    iteration, of a command in its whole run.
    """

    growth: Share | None = None
    """Largest growth of a scenario's instructions on the reduced build since the baseline, such as
    1%. Default: no limit."""
    inconclusive: Literal["fail", "warn"] = "fail"
    """What happens if the growth is not known, because nothing was counted, or not everything, or
    the baseline was counted under other conditions. Neither value is a pass."""


class MemoryConfig(ConfigSection):
    """How much memory each scenario may use on the reduced build: its largest resident set."""

    max_bytes: SizeBytes | None = Field(default=None, alias="max")
    """Largest peak of any scenario, such as 64 MiB."""
    growth: Growth | None = None
    """Largest growth of a peak since the baseline, such as 2 MiB or 5%."""
    inconclusive: Literal["fail", "warn"] = "fail"
    """What happens if a limited peak or its growth is not known, because nothing was measured, or
    not everything, or the baseline was measured under other conditions. Neither value is a pass."""

    @property
    def is_limited(self) -> bool:
        return self.max_bytes is not None or self.growth is not None
