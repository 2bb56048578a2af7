"""The winner of `perf tune`: a search for a scenario's fastest experiment, by successive halving.

Each experiment is compared with the baseline in a contest, as ``perf run`` compares it. The faster
half goes on, with more pairs of processes, until one is left; it meets the baseline once more, in
pairs of their own: the times that chose it flatter it.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from megtrim.core.chain.session import Session
from megtrim.core.config.document import (
    LARGEST_FILE_BYTES,
    append_item,
    parse_document,
    render_yaml,
)
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.problems import KeyPath
from megtrim.core.config.scenarios import Scenario
from megtrim.core.timing.spec import LOOKS, PerformanceStatus
from megtrim.core.timing.times import Answer, RatioResult, Reference
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.engines.megengine.experiment import CacheUse, Experiment, ModelFile, Step
from megtrim.engines.megengine.experiments import EXPERIMENTS
from megtrim.engines.megengine.load_and_run.arguments import Flag, render_flags, without
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value
from megtrim.times.experiments.commands import (
    Situation,
    choose_backend,
    keep_for_experiments,
    list_flags,
    why_not,
)
from megtrim.times.experiments.contest import Side
from megtrim.times.measuring.contest_plan import look_at, measure_task, plan_contest
from megtrim.times.measuring.timing_runs import ContestRuns
from megtrim.times.outcomes import ContestOutcome, read_outcome
from megtrim.times.plan import PerfResult, make_experiment_task


class Heat(PerformanceRow):
    rounds: int

    @property
    def ratio(self) -> RatioResult | None:
        return next(iter(self.ratios), None)


class Search(Value):
    heats: tuple[Heat, ...]
    skipped: tuple[str, ...] = ()

    @property
    def winner(self) -> str:
        last = self.heats[-1]
        faster = last.ratio and last.ratio.different is Answer.YES and last.ratio.ratio < 1
        return last.experiment if faster else ""


MadeFiles: TypeAlias = tuple[bytes | None, bytes | None]
"""A dumped model and an algorithm cache."""


def list_candidates(situation: Situation) -> tuple[Experiment, ...]:
    """What can run there and may shorten an iteration.

    What searches in each process has a twin that reads a cache or a dumped model, and computes the
    same. fake-first changes the first warm-up alone.
    """
    known: set[tuple[Step, ...]] = set()
    found = []
    for each in EXPERIMENTS:
        steps = tuple(
            replace(step, flags=without(step.flags, "fake_first"), warmups=1) for step in each.steps
        )
        if steps not in known and not each.measured.searches and not why_not(each, situation):
            found.append(each)
        known.add(steps)
    return tuple(found[1:])


def tune(scenario: Scenario, session: Session, *, budget_s: float) -> tuple[Search, MadeFiles]:
    """No contest but the last begins after the budget.

    Raises what the machine raises, ProductFailure if nothing runs, InputError if the budget is too
    short to compare anything, and InfrastructureFailure if no times count.
    """
    ends_s = time.monotonic() + budget_s
    say = session.services.console.say
    made: MadeFiles = None, None

    def keep(runs: ContestRuns) -> None:
        nonlocal made
        made = runs.read_made(Side.RIVAL)

    def hold(name: str, rounds: int | None) -> Heat:
        task = make_experiment_task(scenario, name)
        contest = plan_contest(task, session)
        if isinstance(contest, str):
            msg = f"{name}: {contest}"
            raise ProductFailure(msg)
        budget = contest.budget if rounds is None else replace(contest.budget, rounds=rounds)
        contest = replace(contest, budget=budget, seed=contest.seed + budget.rounds)
        last = keep if rounds is None else lambda _: None
        device, measured = measure_task(task, session, contest, keep=last)
        result = PerfResult(scenario=scenario.id, subject=name, device=device)
        if isinstance(measured, str):
            result = replace(result, skipped=measured)
        else:
            result = replace(result, contest=contest, measured=measured)
        outcome = ContestOutcome(
            scenario=scenario.id,
            cpu_class=scenario.cpu_class.name,
            subject=name,
            artifact="",
            result=result,
        )
        heat = Heat(**vars(read_outcome(outcome, {}, Reference.BASELINE)), rounds=budget.rounds)
        seen = f"ratio {heat.ratio.ratio:.3f}" if heat.ratio else heat.reason
        say(f"    tune  {name}: {seen}")
        return heat

    names = [candidate.name for candidate in list_candidates(look_at(scenario, session))]
    search = find_fastest(names, hold, goes_on=lambda: time.monotonic() < ends_s)
    return search, made


def find_fastest(
    names: Sequence[str], hold: Callable[[str, int | None], Heat], *, goes_on: Callable[[], bool]
) -> Search:
    heats: list[Heat] = []
    ratios: dict[str, float] = {}
    left = list(names)
    skipped = set[str]()
    for rounds in LOOKS[:-1]:
        for name in left:
            if not goes_on():
                skipped = {*names} - {heat.experiment for heat in heats}
                break
            heats.append(hold(name, rounds))
            ratios.pop(name, None)
            if (ratio := heats[-1].ratio) is not None:
                ratios[name] = ratio.ratio
        known = [each for each in left if each in ratios]
        left = sorted(known, key=lambda each: ratios[each])[: (len(known) + 1) // 2]
        if len(left) <= 1 or not goes_on():
            break
    if not left:
        raise _describe_nothing(heats)
    last = hold(left[0], None)
    if last.ratio is None:
        raise _describe_nothing([last])
    return Search(heats=(*heats, last), skipped=tuple(sorted(skipped)))


def _describe_nothing(heats: Sequence[Heat]) -> MegtrimError:
    if not heats:
        msg = "the budget ended before any comparison"
        return InputError(msg, hint="give more time with --budget")
    worst = min(heats, key=lambda each: each.status is PerformanceStatus.INFRASTRUCTURE)
    msg = f"no winner: {worst.experiment}: {worst.reason}"
    if worst.status is PerformanceStatus.INFRASTRUCTURE:
        hint = "let the machine rest, look at its temperature and battery, and run this again"
        return InfrastructureFailure(msg, hint=hint)
    return ProductFailure(msg, hint="`megtrim perf run` shows what each experiment does")


FOLDER = PurePosixPath("megtrim/tuned")
"""Of models and caches, next to the configuration; several toolchains have a folder each in it."""
_REPLACED = ("name", "args", "fast_run", "algo_cache", "toolchains")
_COUNTS = ("iter", "warmup_iter")


class TunedScenario(Value):
    sibling: KeyPath
    item: Mapping[str, object]
    dumped_model: PurePosixPath | None = None
    algo_cache: PurePosixPath | None = None


def make_tuned(
    winner: Experiment,
    scenario: Scenario,
    situation: Situation,
    own: tuple[Flag, ...],
    loaded: LoadedConfig,
    name: str,
    *,
    toolchain: str = "",
) -> TunedScenario:
    """``own``: the scenario's flags. Another ``toolchain``'s program has other fastest flags."""
    before = _find(loaded, scenario.path)
    stem = f"{scenario.model.name}-{name}"
    measured = winner.measured
    dumped = measured.model is ModelFile.DUMPED
    cached = measured.cache is not CacheUse.NONE
    folder = FOLDER / toolchain
    model = folder / f"{stem}{Path(scenario.model.file).suffix}" if dumped else None
    cache = folder / f"{stem}.algo.cache" if cached else None
    flags = list_flags(
        measured,
        situation.dialect,
        choose_backend(winner, situation),
        situation.architecture,
        threads=scenario.settings.threads,
    )
    # It changes the first warm-up alone, and the engine cannot dump outputs with it.
    flags = without(flags, "fake_first")
    kept = (*keep_for_experiments(own), *(each for each in own if each.name in _COUNTS))
    item: dict[str, object] = {
        "name": name,
        "args": list(render_flags((*flags, *kept), situation.dialect)),
        **({"fast_run": True, "algo_cache": str(cache)} if cache else {}),
        **{key: value for key, value in before.items() if key not in _REPLACED},
        **({"toolchains": [toolchain]} if toolchain else {}),
    }
    if "threads" in item:  # there may be a list, of which this is one
        item["threads"] = scenario.settings.threads
    sibling = scenario.path
    if model is not None:
        # Its operators are read from the file itself.
        item = {"name": stem, "file": str(model), "scenarios": [item]}
        sibling = scenario.path[:2]
    return TunedScenario(sibling=sibling, item=item, dumped_model=model, algo_cache=cache)


def add(loaded: LoadedConfig, tuned: TunedScenario) -> tuple[Path, bytes]:
    """Return the file that gets the entry, and its content then. Raises InputError."""
    file, within = loaded.source(*tuned.sibling)
    if loaded.is_shared(*tuned.sibling):
        msg = f"{file}: other configurations may use this file, too, so nothing is added next to it"
        raise InputError(msg, hint="leave out --write, and add by hand what is printed")
    if not within:
        file = file.with_name(f"{tuned.item['name']}.yaml")
        if file.exists():
            msg = f"{file} exists already"
            raise InputError(msg, hint="choose another name with --name, or remove that file")
        return file, render_yaml(tuned.item).encode()
    file, path = loaded.source(*tuned.sibling[:-1])
    return file, append_item(_read(file), path, tuned.item, file=str(file))


def expect_free(loaded: LoadedConfig, scenario: Scenario, name: str) -> None:
    """Raise InputError if the name is taken, before anything is measured."""
    if name in {each.name for each in scenario.model.scenarios}:
        msg = f"{loaded.path}: the model {scenario.model.name} has a scenario {name} already"
        raise InputError(msg, hint="choose another with --name, or remove that one")
    # A rehearsal: better now than after an hour of measuring.
    add(loaded, TunedScenario(sibling=scenario.path, item={"name": name}))


def _find(loaded: LoadedConfig, path: KeyPath) -> Mapping[str, object]:
    file, within = loaded.source(*path)
    found: Any = parse_document(_read(file), file=str(file)).data
    for key in within:
        found = found[key]
    return dict(found)


def _read(file: Path) -> bytes:
    return read_bytes(file, most_bytes=LARGEST_FILE_BYTES, expected="a part of megtrim.yaml")
