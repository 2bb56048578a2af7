"""The tasks that measure times, one for each contest, and what each leaves. Pure."""

from collections.abc import Iterator

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import (
    BASE,
    PLAIN,
    REDUCED,
    REGION,
    REPORT,
    VERDICT,
    Stage,
    Task,
    cache_task,
    task_name,
    tasks,
    trims_functions,
    trims_plain_build,
    with_dependencies,
)
from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.config.model import Config
from megtrim.core.config.performance import PerfConfig
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.core.timing.catalogue import BASELINE
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.libs.util.errors import EXIT_PASS, ProductFailure
from megtrim.times.experiments.contest import Contest, ContestResult

TRIMMING = "trimming"
"""What a person asks for to have trimmed programs compared with the plain one."""
TRIMMING_PREFIX = f"{TRIMMING}-"
"""Begins the subject of a trimmed program's contest; no experiment does."""
SINCE_PREFIX = "since-"
"""Begins the subject of a contest with the base's program."""
_SEPARATOR = "#"


def perf_tasks(
    config: Config, *, committed: bool = False, since_base: bool = False
) -> tuple[Task, ...]:
    """In an order that can run. ``since_base``: also each experiment with an earlier program's."""
    measured = tuple(_measure(config, since_base=since_base))
    builds = tasks(config, committed=committed)
    needs = {need for task in measured for need in task.needs} - {BASE}
    needed = with_dependencies(needs, builds)
    wants = tuple(task.id for task in (*needed, *measured))
    return (
        *needed,
        *measured,
        Task(stage=Stage.VERDICT, name=task_name(VERDICT), needs=(), wants=wants),
        Task(stage=Stage.REPORT, name=task_name(REPORT), needs=(VERDICT,)),
    )


def subject_of(task: Task) -> str:
    return task.name.partition(_SEPARATOR)[2]


def experiment_of(task: Task) -> str:
    return subject_of(task).removeprefix(SINCE_PREFIX)


def compares_with_base(task: Task) -> bool:
    return subject_of(task).startswith(SINCE_PREFIX)


def trimmed_variant(task: Task) -> str:
    before, found, variant = subject_of(task).partition(TRIMMING_PREFIX)
    return variant if found and not before else ""


def select_measured(config: Config) -> Iterator[Scenario]:
    perf = config.perf
    for scenario in all_scenarios(config):
        named = {*scenario.names} & {*perf.scenarios}
        if (named or not perf.scenarios) and scenario.cpu_class.name in (
            perf.classes or (scenario.cpu_class.name,)
        ):
            yield scenario


def list_trimmed(config: Config) -> tuple[tuple[str, str], ...]:
    region = trims_functions(config) and not trims_plain_build(config)
    regions = ((str(Variant.REGION), REGION),) if region else ()
    return (*regions, (str(Variant.REDUCED), REDUCED))


def _measure(config: Config, *, since_base: bool) -> Iterator[Task]:
    for each in select_measured(config):
        search = (cache_task(each, config),) if each.searches else ()
        # A command runs as it is, so with the cache that it names.
        found = search if each.settings.is_command else ()
        for name in _list_experiments(each, config.perf):
            yield _contest(each, name, (PLAIN, *found))
            if since_base:
                yield _contest(each, f"{SINCE_PREFIX}{name}", (PLAIN, *found, BASE))
        if config.perf.trimming:
            for variant, build in list_trimmed(config):
                yield _contest(each, f"{TRIMMING_PREFIX}{variant}", (PLAIN, *search, build))


def _list_experiments(scenario: Scenario, perf: PerfConfig) -> Iterator[str]:
    """Yield, of a command, the baseline and what a person named, which is skipped with a reason."""
    named = perf.experiments is not None or bool(perf.recipes)
    for name in perf.names:
        if named or name == BASELINE or not scenario.settings.is_command:
            yield name


def _contest(scenario: Scenario, subject: str, needs: tuple[str, ...]) -> Task:
    name = f"{scenario.id}{_SEPARATOR}{subject}"
    return Task(stage=Stage.PERF, name=name, needs=needs, scenario=scenario)


class PerfResult(StageResult):
    scenario: str
    subject: str
    skipped: str = ""
    device: DeviceIdentity | None = None
    emulated: bool = False
    contest: Contest | None = None
    measured: ContestResult | None = None

    @property
    def exit_code(self) -> int:
        """1 for a program that failed; what samples mean, the verdict says."""
        bad = self.measured is not None and self.measured.status is not PerformanceStatus.MEASURED
        return ProductFailure.exit_code if bad else EXIT_PASS
