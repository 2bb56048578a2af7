"""How long tasks will take on this machine: by former runs here, else by the size of the engine.

Pure: what is to be done and what was done before go in, seconds come out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from megtrim.build_spec import Variant
from megtrim.config.model import Config
from megtrim.plan.graph import REDUCED, REGION, SWITCHES, Stage, tasks, trims_functions

_BUILDS_CPU_S: Mapping[str, Mapping[str, float]] = {
    "megengine": {
        Variant.PLAIN: 3700.0,
        Variant.PROFILE: 3100.0,
        Variant.REDUCED: 2200.0,
    },
    "sample": {Variant.PLAIN: 40.0, Variant.PROFILE: 40.0, Variant.REDUCED: 25.0},
}
"""CPU seconds of one build of each engine, as measured: 1,206 files of MegEngine, 49 of the other.
"""
_OTHER_S = 2.0
"""Seconds of a task that compiles nothing."""
_FROM_CACHE = 0.3
"""Share of a build's time that it takes when a compiler cache has its objects."""
_MINUTE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSetting:
    """What the time of a build depends on, its sources aside."""

    engine: str
    """Its kind."""
    toolchain: str
    jobs: int
    cached: bool
    """Whether there is a compiler cache."""

    @property
    def place(self) -> str:
        """Name of the setting: times of another one are others."""
        return f"{self.engine} {self.toolchain} {self.jobs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """How long a task took."""

    task: str
    """Its id."""
    variant: str
    """What it compiled; empty for a task that compiles nothing."""
    place: str
    key: str
    """The key of its result: equal for equal inputs."""
    time_s: float
    repeated: bool
    """Whether a compiler cache had its objects: the same was built on this machine before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTask:
    """A task that is to be done."""

    task: str
    variant: str
    """What it compiles; empty for a task that compiles nothing."""
    key: str
    """Of the result that it will have; empty while that depends on other tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long tasks will take."""

    time_s: float
    measured: bool
    """Whether former runs on this machine say so."""

    def __str__(self) -> str:
        if self.time_s < _MINUTE_S:
            about = f"about {max(1, round(self.time_s))} s"
        else:
            minutes = round(self.time_s / _MINUTE_S)
            about = "about a minute" if minutes == 1 else f"about {minutes} minutes"
        reason = "as former runs here took" if self.measured else "by the size of the engine alone"
        return f"{about}, {reason}"


def compiled_variant(task: str, *, functions: bool) -> str:
    """Return the variant that a task compiles; empty for one that compiles nothing.

    ``functions``: they are trimmed, so the reduced program is only linked, after the build by
    regions.
    """
    stage, _, name = task.partition("/")
    if stage == Stage.BUILD:
        return name
    if stage == Stage.SWITCHES:
        return Variant.REDUCED if task != SWITCHES else ""
    return Variant.REDUCED if task == (REGION if functions else REDUCED) else ""


def estimate(
    pending: Sequence[PendingTask], former: Sequence[Duration], setting: BuildSetting
) -> Estimate:
    """Return how long the tasks take, one after the other; ``former``: the oldest first."""
    here = [each for each in former if each.place == setting.place]
    built = {each.key for each in here}
    known = [each.key for each in pending if each.key and each.variant]
    # What a later build compiles is known when all before it are done: likely as those do.
    likely = bool(known) and all(key in built for key in known)
    speed = _speed(here, setting)
    total, measured = 0.0, True
    for each in pending:
        repeated = setting.cached and (each.key in built if each.key else likely)
        found = _former_s(each, here, repeated=repeated)
        measured = measured and (found is not None or not each.variant)
        total += _default_s(each.variant, setting) * speed if found is None else found
    return Estimate(time_s=total, measured=measured)


def estimate_first_trim(config: Config, jobs: int) -> Estimate:
    """Return how long a whole trim takes, by the size of the engine alone."""
    functions = trims_functions(config)
    pending = [
        PendingTask(task=each.id, variant=compiled_variant(each.id, functions=functions), key="")
        for each in tasks(config)
    ]
    setting = BuildSetting(engine=config.engine.kind, toolchain="", jobs=jobs, cached=False)
    return estimate(pending, (), setting)


def _former_s(pending: PendingTask, here: Sequence[Duration], *, repeated: bool) -> float | None:
    """Return the seconds that a task took last, or one like it; None if there is none."""
    same = [each for each in here if each.task == pending.task]
    if not pending.variant:
        stage = pending.task.partition("/")[0]
        like = same or [each for each in here if each.task.partition("/")[0] == stage]
        return like[-1].time_s if like else None
    fitting = [each.time_s for each in same if each.repeated == repeated]
    if fitting or not same:
        return fitting[-1] if fitting else None
    return same[-1].time_s * (_FROM_CACHE if repeated else 1 / _FROM_CACHE)


def _default_s(variant: str, setting: BuildSetting) -> float:
    builds = _BUILDS_CPU_S.get(setting.engine, _BUILDS_CPU_S["sample"])
    return builds[variant] / setting.jobs if variant else _OTHER_S


def _speed(here: Sequence[Duration], setting: BuildSetting) -> float:
    """Return how much longer builds take here than the defaults say, by the last that was made."""
    builds = [each for each in here if each.variant and not each.repeated]
    return builds[-1].time_s / _default_s(builds[-1].variant, setting) if builds else 1.0
