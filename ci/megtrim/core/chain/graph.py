"""The tasks of a trim and what each depends on. Pure: it follows from the configuration alone."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum

from megtrim.core.build_spec import Variant
from megtrim.core.config.kinds import BLOCKS, DEFERRING_LEVELS
from megtrim.core.config.model import Config
from megtrim.core.config.scenarios import Scenario, all_scenarios, run_scenarios
from megtrim.libs.util.value import Value


class Stage(StrEnum):
    BUILD = "build"
    PROFILE = "profile"
    HEADER = "header"
    REDUCE = "reduce"
    FUNCTIONS = "functions"
    VERIFY = "verify"
    NEIGHBOURS = "neighbours"
    COUNT = "count"
    SIZE = "size"
    PERF = "perf"
    VERDICT = "verdict"
    REPORT = "report"
    REFERENCES = "references"
    """Made when something asks what refers to what."""

    @property
    def verb(self) -> str:
        return _VERBS.get(self, f"stage {self}")


_VERBS = {
    Stage.VERIFY: "verify",
    Stage.NEIGHBOURS: "verify --neighbours",
    Stage.COUNT: "size",
    Stage.SIZE: "size",
    Stage.PERF: "perf run",
    Stage.REPORT: "report",
    Stage.REFERENCES: "size why",
}
"""Of stages that are not a verb below `megtrim stage`."""


SEARCH_SUFFIX = "#search"
"""Suffix of the profile task that records a scenario's algorithm cache."""
JOINED_SUFFIX = "#joined"
"""Suffix of the profile task that joins the algorithm caches of a CPU class."""


class Task(Value):
    stage: Stage
    name: str
    needs: tuple[str, ...]
    """Ids of tasks whose results are inputs; all come earlier in the plan."""
    wants: tuple[str, ...] = ()
    """Ids of tasks whose results are inputs if they exist: a verdict also covers failures."""
    scenario: Scenario | None = None

    @property
    def id(self) -> str:
        return f"{self.stage}/{self.name}"


PLAIN = f"{Stage.BUILD}/{Variant.PLAIN}"
PROFILE = f"{Stage.BUILD}/{Variant.PROFILE}"
HEADER = f"{Stage.HEADER}/keepset"
REGION = f"{Stage.REDUCE}/{Variant.REGION}"
"""The build trimmed by regions, if functions are trimmed as well."""
LINKED = f"{Stage.FUNCTIONS}/linked"
"""The unfolded links that show which functions run."""
FUNCTIONS = f"{Stage.FUNCTIONS}/keepset"
REACHED = f"{Stage.FUNCTIONS}/tests"
"""What the project's own tests reach."""
NAMED = f"{Stage.REDUCE}/named"
"""The shipped program, linked so that a function that is not kept is named; built on a trap."""
REDUCED = f"{Stage.REDUCE}/{Variant.REDUCED}"
"""The program that ships, whatever the level."""
BASE = f"{Stage.BUILD}/{Variant.BASE}"
"""The plain build of an earlier commit, among the results; no task makes it, nor the next one."""
BASE_REDUCED = f"{Stage.REDUCE}/{Variant.BASE}"
DEFERRAL = f"{Stage.VERIFY}/deferral"
"""Functions that a scenario runs, called from the program's rest."""
TESTS = f"{Stage.VERIFY}/tests"
"""The project's own tests, with the trimmed file in the place of the plain one."""
SIZE = f"{Stage.SIZE}/artifacts"
VERDICT = f"{Stage.VERDICT}/verdict"
REPORT = f"{Stage.REPORT}/report"
SHIPPED_REFERENCES = f"{Stage.REFERENCES}/shipped"
"""The program that ships, linked with its relocations."""
PROFILE_REFERENCES = f"{Stage.REFERENCES}/{Variant.PROFILE}"
"""The profile build, linked likewise: its code names regions."""


def verb_of(task: str) -> str:
    return Stage(task.partition("/")[0]).verb


def task_name(id_: str) -> str:
    return id_.partition("/")[2]


def trace_task(scenario: Scenario) -> str:
    return f"{Stage.PROFILE}/{scenario.id}"


def search_task(scenario: Scenario) -> str:
    return f"{Stage.PROFILE}/{scenario.id}{SEARCH_SUFFIX}"


def cache_task(scenario: Scenario, config: Config) -> str:
    """Return what makes the cache with which a scenario that searches is run."""
    if config.trim.caches == "joined":
        return f"{Stage.PROFILE}/{scenario.cpu_class.name}{JOINED_SUFFIX}"
    return search_task(scenario)


def verify_task(scenario: Scenario) -> str:
    return f"{Stage.VERIFY}/{scenario.id}"


def tasks(config: Config, *, committed: bool = False, neighbours: bool = False) -> tuple[Task, ...]:
    every = tuple(run_scenarios(config))
    measured = any(budget.variant is Variant.PROFILE for budget in config.budgets)
    profiled = measured or (traces_regions(config) and not committed)
    builds = (PLAIN, PROFILE) if profiled else (PLAIN,)
    region = (REGION,) if trims_functions(config) and not trims_plain_build(config) else ()
    counts: tuple[Task, ...] = ()
    if config.work is not None or config.memory is not None:
        counts = tuple(_count(scenario, config) for scenario in every)
    wanted = tuple(task.id for task in counts)
    size_needs = (*builds, *region, REDUCED)
    ordered = [Task(stage=Stage.BUILD, name=task_name(build), needs=()) for build in builds]
    if not committed:
        ordered += _traces(config)
    ordered += _regions(config, committed=committed)
    if trims_functions(config):
        ordered += _functions(config, committed=committed)
    ordered += [_verify(scenario, config) for scenario in every]
    if defers_functions(config):
        ordered.append(_deferral(config))
    if config.tests is not None:
        name = task_name(TESTS)
        kept = (FUNCTIONS,) if keeps_tests(config) else ()
        needs = (base_task(config), *kept, REDUCED)
        ordered.append(Task(stage=Stage.VERIFY, name=name, needs=needs))
    if neighbours:
        ordered += [_neighbours(each, config) for each in every if each.model is not None]
    ordered += counts
    ordered.append(Task(stage=Stage.SIZE, name="artifacts", needs=size_needs, wants=wanted))
    wants = tuple(task.id for task in ordered)
    ordered.append(Task(stage=Stage.VERDICT, name="verdict", needs=(), wants=wants))
    ordered.append(Task(stage=Stage.REPORT, name="report", needs=(VERDICT,)))
    return tuple(ordered)


def trims_functions(config: Config) -> bool:
    return config.trim.trims_functions


def defers_functions(config: Config) -> bool:
    """Into a second file, the program's rest."""
    return config.trim.level in DEFERRING_LEVELS


def splits_functions(config: Config) -> bool:
    """Of a function that ran, blocks that did not are deferred as well."""
    return config.trim.level == BLOCKS


def keeps_tests(config: Config) -> bool:
    """Whether what the project's own tests reach is kept."""
    return config.tests is not None and config.tests.keep


def trims_plain_build(config: Config) -> bool:
    return trims_functions(config) and config.trim.base == "plain"


def traces_regions(config: Config) -> bool:
    return not (config.trim.keeps_kernels or trims_plain_build(config))


def base_task(config: Config) -> str:
    return PLAIN if trims_plain_build(config) else REGION


def keep_task(config: Config) -> str:
    return FUNCTIONS if trims_functions(config) else HEADER


def functions_task(scenario: Scenario) -> str:
    return f"{Stage.FUNCTIONS}/{scenario.id}"


def _traces(config: Config) -> Iterator[Task]:
    joined = config.trim.caches == "joined"
    if joined:
        yield from _join_searches(config)
    for scenario in all_scenarios(config):
        if scenario.searches and not joined:
            yield _search(scenario)
        if traces_regions(config):
            needs = (PROFILE, *_cache_needs(scenario, config))
            yield Task(stage=Stage.PROFILE, name=scenario.id, needs=needs, scenario=scenario)


def _join_searches(config: Config) -> Iterator[Task]:
    searching = [scenario for scenario in all_scenarios(config) if scenario.searches]
    yield from (_search(scenario) for scenario in searching)
    by_task: dict[str, list[str]] = {}
    for scenario in searching:
        by_task.setdefault(cache_task(scenario, config), []).append(search_task(scenario))
    for task, needs in by_task.items():
        yield Task(stage=Stage.PROFILE, name=task_name(task), needs=tuple(needs))


def _regions(config: Config, *, committed: bool) -> Iterator[Task]:
    if trims_plain_build(config):
        return
    runs = () if committed else tuple(_traces(config))
    yield Task(stage=Stage.HEADER, name="keepset", needs=tuple(task.id for task in runs))
    name = Variant.REGION if trims_functions(config) else Variant.REDUCED
    yield Task(stage=Stage.REDUCE, name=name, needs=(HEADER,))


def _functions(config: Config, *, committed: bool) -> Iterator[Task]:
    every = () if committed else tuple(all_scenarios(config))
    base = base_task(config)
    header = () if trims_plain_build(config) else (HEADER,)
    yield Task(stage=Stage.FUNCTIONS, name="linked", needs=(base, *header))
    for each in every:
        needs = (LINKED, *_cache_needs(each, config))
        yield Task(stage=Stage.FUNCTIONS, name=each.id, needs=needs, scenario=each)
    ran = tuple(functions_task(each) for each in every)
    if keeps_tests(config) and not committed:
        yield Task(stage=Stage.FUNCTIONS, name=task_name(REACHED), needs=(base, LINKED))
        ran = (*ran, REACHED)
    yield Task(stage=Stage.FUNCTIONS, name="keepset", needs=(*header, LINKED, *ran))
    yield Task(stage=Stage.REDUCE, name=Variant.REDUCED, needs=(base, *header, LINKED, FUNCTIONS))


def on_demand(config: Config) -> tuple[Task, ...]:
    linked = next(task for task in tasks(config) if task.id == REDUCED)
    named = (replace(linked, name=task_name(NAMED)),) if trims_functions(config) else ()
    before = LINKED if trims_functions(config) else PLAIN
    needs = (*linked.needs, before, REDUCED)
    return (
        *named,
        Task(stage=Stage.REFERENCES, name=task_name(SHIPPED_REFERENCES), needs=needs),
        Task(stage=Stage.REFERENCES, name=task_name(PROFILE_REFERENCES), needs=(PROFILE,)),
    )


def tasks_up_to(stage: Stage, all_tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    return with_dependencies({task.id for task in all_tasks if task.stage is stage}, all_tasks)


def with_dependencies(ids: Iterable[str], all_tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    wanted = set(ids)
    for task in reversed(all_tasks):
        if task.id in wanted:
            wanted |= {*task.needs, *task.wants}
    return tuple(task for task in all_tasks if task.id in wanted)


def _search(scenario: Scenario) -> Task:
    name = task_name(search_task(scenario))
    return Task(stage=Stage.PROFILE, name=name, needs=(PLAIN,), scenario=scenario)


def _cache_needs(scenario: Scenario, config: Config) -> tuple[str, ...]:
    return (cache_task(scenario, config),) if scenario.searches else ()


def _deferral(config: Config) -> Task:
    needs = (base_task(config), LINKED, FUNCTIONS, REDUCED)
    wants = tuple(verify_task(scenario) for scenario in all_scenarios(config))
    return Task(stage=Stage.VERIFY, name=task_name(DEFERRAL), needs=needs, wants=wants)


def _neighbours(scenario: Scenario, config: Config) -> Task:
    region = (REGION,) if trims_functions(config) and not trims_plain_build(config) else ()
    needs = (*_verify(scenario, config).needs, *region, verify_task(scenario))
    return Task(stage=Stage.NEIGHBOURS, name=scenario.id, needs=needs, scenario=scenario)


def _count(scenario: Scenario, config: Config) -> Task:
    needs = (PLAIN, *_cache_needs(scenario, config), REDUCED)
    return Task(stage=Stage.COUNT, name=scenario.id, needs=needs, scenario=scenario)


def _verify(scenario: Scenario, config: Config) -> Task:
    needs = (PLAIN, *_cache_needs(scenario, config), keep_task(config), REDUCED)
    return Task(stage=Stage.VERIFY, name=scenario.id, needs=needs, scenario=scenario)
