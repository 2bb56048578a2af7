"""How long tasks will take on this machine: by former runs here, else by the size of the engine.

Pure: what is to be done and what was done before go in, seconds come out.

A build is one of three: it compiles nothing, it takes its objects from a compiler cache, or it
compiles them. Times of one say little about another, so each is estimated from its own former
builds, and a build that compiles only a share lies between the first and one of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from megtrim.build_spec import Variant
from megtrim.config.model import Config
from megtrim.plan.graph import REDUCED, REGION, SWITCHES, Stage, tasks, trims_functions


@dataclass(frozen=True, slots=True, kw_only=True)
class _EngineCosts:
    """What builds of one kind of engine cost, as measured: seconds."""

    compile_s: Mapping[str, float]
    """By variant: a build that compiles every file with one compiler at a time."""
    cached_s: float
    """A build whose objects are all in a compiler cache: configuring, copying, linking."""
    idle_s: float
    """A build in a tree that is up to date."""


_COSTS: Mapping[str, _EngineCosts] = {
    "megengine": _EngineCosts(  # 1,178 files, clang 14 for arm64
        compile_s={Variant.PLAIN: 3000.0, Variant.PROFILE: 1500.0, Variant.REDUCED: 1950.0},
        cached_s=20.0,
        idle_s=12.0,
    ),
    "sample": _EngineCosts(  # 49 files
        compile_s={Variant.PLAIN: 40.0, Variant.PROFILE: 40.0, Variant.REDUCED: 25.0},
        cached_s=1.5,
        idle_s=0.5,
    ),
}
_OTHER_S = 2.0
"""Seconds of a task that compiles nothing."""
_CHANGED_SHARE = 0.1
"""What a build is assumed to compile in a tree of its own if that depends on other tasks."""
_WHOLE = 0.8
"""Share of the files from which a build says what compiling all of them takes."""
_ALIKE = 0.1
"""Share of the files that a build out of the compiler cache may compile."""
_HALF = 0.5
"""Share of the files from which on a build that was partly cached says nothing of a compiler."""
_MOSTLY = 0.8
"""Share of the time from which former runs say how long it takes."""
_SLOWEST = 4.0
"""How many times as long a machine takes at the most; one that took longer was busy for a while."""
_NEWEST = 5
"""Former builds that count."""
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
    """Of what entered the build, whatever the version of megtrim: equal for equal objects."""
    time_s: float
    share: float
    """Of the build's files: those that were compiled or taken from a compiler cache, 0 to 1."""
    cached: float | None
    """Of these: those that a compiler cache had, 0 to 1. Null: there was no compiler cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingTask:
    """A task that is to be done."""

    task: str
    variant: str
    """What it compiles; empty for a task that compiles nothing."""
    key: str
    """Of what enters the build; empty while that depends on other tasks."""
    share: float | None = 1.0
    """Of the build's files: what has to be compiled, 0 to 1. None: there is a tree of an earlier
    build, and what is compiled in it depends on other tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """How long tasks will take."""

    time_s: float
    measured: bool
    """Whether former runs on this machine say so."""
    at_most: bool = False
    """Whether a compiler cache may have some of what is assumed to be compiled."""

    def __str__(self) -> str:
        if self.time_s < _MINUTE_S:
            about = f"about {max(1, round(self.time_s))} s"
        else:
            minutes = round(self.time_s / _MINUTE_S)
            about = "about a minute" if minutes == 1 else f"about {minutes} minutes"
        reason = "by former runs here" if self.measured else "by the size of the engine"
        less = "; less if the compiler cache has it" if self.at_most else ""
        return f"{about}, {reason}{less}"


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
    memory = _Memory([each for each in former if each.place == setting.place], setting)
    known = [each for each in pending if each.key and each.variant]
    # What a later build compiles is known when all before it are done: likely as those do.
    again = bool(known) and all(memory.has_built(each.key) for each in known)
    found = [_estimate_task(each, memory, again=again) for each in pending]
    time_s = sum(each.time_s for each in found)
    return Estimate(
        time_s=time_s,
        measured=sum(each.time_s for each in found if each.measured) >= _MOSTLY * time_s,
        at_most=any(each.at_most for each in found),
    )


def estimate_cached(
    pending: PendingTask, former: Sequence[Duration], setting: BuildSetting
) -> float | None:
    """Return the seconds of a build that the compiler cache has; None if it is not known to."""
    memory = _Memory([each for each in former if each.place == setting.place], setting)
    if not pending.variant or not memory.has_cached(pending.key):
        return None
    return memory.estimate_cached(pending.variant).time_s


def estimate_first_trim(config: Config, jobs: int) -> Estimate:
    """Return how long a whole trim takes, by the size of the engine alone."""
    functions = trims_functions(config)
    pending = [
        PendingTask(task=each.id, variant=compiled_variant(each.id, functions=functions), key="")
        for each in tasks(config)
    ]
    setting = BuildSetting(engine=config.engine.kind, toolchain="", jobs=jobs, cached=False)
    return estimate(pending, (), setting)


def _estimate_task(pending: PendingTask, memory: _Memory, *, again: bool) -> Estimate:
    """``again``: what this task compiles is likely what an earlier run compiled."""
    if not pending.variant:
        return memory.estimate_other(pending.task)
    in_cache = memory.has_cached(pending.key) if pending.key else memory.setting.cached and again
    share = pending.share
    if share is None:
        share = 0.0 if again else memory.find_changed_share(pending.task)
    idle = memory.estimate_idle(pending.variant)
    if not share:
        return idle
    whole = (
        memory.estimate_cached(pending.variant)
        if in_cache
        else memory.estimate_fresh(pending.variant)
    )
    return Estimate(
        time_s=idle.time_s + share * max(0.0, whole.time_s - idle.time_s),
        measured=whole.measured,
        at_most=memory.setting.cached and not in_cache,
    )


class _Memory:
    """What former runs in one setting took."""

    def __init__(self, here: Sequence[Duration], setting: BuildSetting) -> None:
        self.setting = setting
        self._here = here
        self._costs = _COSTS.get(setting.engine, _COSTS["sample"])

    def has_built(self, key: str) -> bool:
        """Return whether the same was built here before."""
        return any(each.variant and each.key == key for each in self._here)

    def has_cached(self, key: str) -> bool:
        """Return whether the compiler cache has the objects of that: it was there then and now."""
        then = (each.key for each in self._here if each.variant and each.cached is not None)
        return self.setting.cached and key in then

    def estimate_other(self, task: str) -> Estimate:
        """Return what a task that compiles nothing took last, or one of its stage."""
        stage = task.partition("/")[0]
        same = [each for each in self._here if each.task == task]
        like = same or [each for each in self._here if each.task.partition("/")[0] == stage]
        return Estimate(time_s=like[-1].time_s if like else _OTHER_S, measured=bool(like))

    def estimate_idle(self, variant: str) -> Estimate:
        """Return how long a build takes that compiles nothing."""
        return self._estimate_alike(variant, _is_idle, self._costs.idle_s)

    def estimate_cached(self, variant: str) -> Estimate:
        """Return how long a build takes whose objects are all in a compiler cache."""
        return self._estimate_alike(variant, _is_cached, self._costs.cached_s)

    def estimate_fresh(self, variant: str) -> Estimate:
        """Return how long a build takes that compiles every file.

        One former build of a variant says how fast this machine is for the others, too. The
        middle one counts: the first may have made the compiler's own libraries as well.
        """
        builds = [each for each in self._here if _is_fresh(each)]
        own = [each for each in builds if each.variant == variant]
        slowness = self._measure_slowness(own if len(own) > 1 else builds)
        return Estimate(time_s=slowness * self._expected_s(variant), measured=bool(builds))

    def find_changed_share(self, task: str) -> float:
        """Return the share that the task compiled last in a tree where there was a build."""
        some = [each.share for each in self._here if each.task == task and 0 < each.share < _WHOLE]
        return some[-1] if some else _CHANGED_SHARE

    def _estimate_alike(
        self, variant: str, fits: Callable[[Duration], bool], default_s: float
    ) -> Estimate:
        fitting = [each for each in self._here if fits(each)]
        own = [each.time_s for each in fitting if each.variant == variant]
        times = own or [each.time_s for each in fitting]
        if times:
            return Estimate(time_s=median(times[-_NEWEST:]), measured=True)
        builds = [each for each in self._here if _is_fresh(each)]
        slowness = min(self._measure_slowness(builds), _SLOWEST)
        return Estimate(time_s=default_s * slowness, measured=bool(builds))

    def _measure_slowness(self, builds: Sequence[Duration]) -> float:
        """Return how many times as long builds take here as on the machine of the table."""
        rates = []
        for each in builds:
            cached = each.cached or 0.0
            compiled_s = (1 - cached) * self._expected_s(each.variant)
            expected_s = each.share * (compiled_s + cached * self._costs.cached_s)
            rates.append(each.time_s / expected_s)
        return median(rates[-_NEWEST:]) if rates else 1.0

    def _expected_s(self, variant: str) -> float:
        return self._costs.compile_s[variant] / self.setting.jobs


def _is_idle(build: Duration) -> bool:
    return bool(build.variant) and build.share == 0


def _is_cached(build: Duration) -> bool:
    return bool(build.variant) and build.share >= _WHOLE and (build.cached or 0.0) >= 1 - _ALIKE


def _is_fresh(build: Duration) -> bool:
    return bool(build.variant) and build.share >= _WHOLE and (build.cached or 0.0) < _HALF
