from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from importlib import import_module
from typing import Any

from megtrim.core import stages
from megtrim.core.build_spec import BuildRecord
from megtrim.core.chain.graph import Stage, Task
from megtrim.core.chain.result_store import MEASURED
from megtrim.core.chain.stage_result import Result, StageResult
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import CheckKind, CheckStatus, ScenarioStatus, VerdictKind
from megtrim.core.parts import find_parts
from megtrim.core.proof.neighbours import (
    NeighbourLevel,
    NeighbourOutcome,
    NeighbourResult,
    NeighbourRunResult,
    NeighboursResult,
)
from megtrim.core.proof.results import (
    DeferralResult,
    DeferredCalls,
    FailedTest,
    SuiteResult,
    TrappedTest,
    VerificationOutcome,
    VerifyResult,
)
from megtrim.core.size.counted import MemoryUse, Use, Work
from megtrim.core.size.references.stage import ReferencesResult
from megtrim.core.size.results import SizeResult
from megtrim.core.size.rows import ArtifactSizes, BudgetRow, VariantSize
from megtrim.core.trim.results import (
    BuildResult,
    FunctionCount,
    FunctionsKeepSetResult,
    HeaderResult,
    JoinResult,
    ReachedTest,
    RecordResult,
    ReduceResult,
    SearchResult,
    SuiteRecordResult,
    SymbolizingLinkResult,
    TraceResult,
    UnfoldedLinksResult,
)
from megtrim.core.verdict.model import ReportResult, VerdictResult
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions, Reading

BUILD = BuildRecord(
    artifacts={"load_and_run": 900}, translation_units=40, rebuilt=("a.cpp", "b.cpp")
)
DEVICE = DeviceIdentity(name="board", kind="adb", facts={"model": "B"})
OUTCOME = VerificationOutcome(
    status=ScenarioStatus.PASS,
    text="outputs equal",
    outputs=(OutputResult(name="o", size_bytes=4, equal=True, largest_difference=0.0),),
    time_s=0.5,
    conditions=Conditions(before=Reading(cpu_c=40.0), after=Reading(cpu_c=41.5)),
    crash="",
)
WORK = Work(key="c" * 64, functions={"f": (3, 2)}, ran=1)
NEIGHBOUR = NeighbourResult(
    scenario="m/s@any",
    name="iter-1",
    kind="iterations",
    what="1 iteration",
    text="it runs: 1 output",
    levels=(
        NeighbourLevel(
            level="region",
            outcome=NeighbourOutcome.SAME,
            works=True,
            text="the same outputs",
            time_s=0.5,
        ),
    ),
)
BUDGET = BudgetRow(
    kind=CheckKind.SIZE,
    artifact="load_and_run",
    variant="reduced",
    used=300,
    limit=400,
    status=CheckStatus.PASS,
)


def _list_results_of_parts() -> tuple[StageResult, ...]:
    """Parts that are not here have none."""
    if "perf" not in find_parts().stages:
        return ()
    found: tuple[StageResult, ...] = import_module("unit.times.samples").list_results(DEVICE)
    return found


SAMPLES: Mapping[type[StageResult], StageResult] = {
    type(each): each
    for each in (
        BuildResult(build=BUILD),
        SearchResult(time_s=1.5),
        JoinResult(
            caches=2, answers=3, clashes=("conv: A (m/s@any) is kept, and not B (n/s@any)",)
        ),
        TraceResult(regions=2, trace_sha256="b" * 64, device=DEVICE, time_s=1.5),
        HeaderResult(regions=2, operators=1, warnings=("a warning",)),
        ReduceResult(
            build=BUILD, functions={"load_and_run": FunctionCount(held=1_900, dropped=1_300)}
        ),
        SymbolizingLinkResult(),
        ReferencesResult(programs=("load_and_run",)),
        UnfoldedLinksResult(
            links={
                name: f"link of {name}"
                for name in ("load_and_run", "classify", "other", "viewer", "libsample_engine.so")
            }
        ),
        RecordResult(functions=487, time_s=1.5),
        SuiteRecordResult(
            tests=9,
            reached=(ReachedTest(id="area@tests", name="area", file="reached/area@tests.txt"),),
        ),
        FunctionsKeepSetResult(functions=487),
        VerifyResult(
            scenario="m/s@any",
            binding="b" * 64,
            day=date(2027, 1, 20),
            device=DEVICE,
            outcome=OUTCOME,
        ),
        DeferralResult(
            programs=(
                DeferredCalls(
                    program="load_and_run", scenario="m/s@any", moved=9, called=8, outputs="equal"
                ),
            )
        ),
        SuiteResult(
            target="draw",
            tests=9,
            passing=8,
            counted=5,
            traps=(TrappedTest(name="area", function="circle"),),
            unloaded=("other",),
            failed=(FailedTest(name="area", how="it ended with 1", whole=True, said="9 != 8"),),
            deferring=True,
        ),
        NeighbourRunResult(neighbour=NEIGHBOUR),
        NeighboursResult(scenario="m/s@any", neighbours=(NEIGHBOUR,)),
        SizeResult(
            artifacts=(
                ArtifactSizes(
                    name="load_and_run",
                    sizes=(
                        VariantSize(
                            variant="plain",
                            size_bytes=900,
                            share=1.0,
                            growth_bytes=-4,
                            sections=(("code", 800), ("data", 100)),
                        ),
                    ),
                ),
            ),
            budgets=(BUDGET,),
            baseline="main",
        ),
        Use(
            work=dict.fromkeys(("plain", "reduced"), WORK),
            memory=MemoryUse(key="d" * 64, figures={"peak memory": 4096}),
            reasons={"memory": "none"},
        ),
        VerdictResult(verdict=VerdictKind.PASS),
        ReportResult(),
        *_list_results_of_parts(),
    )
}


def sample(kind: type[Result], **changes: Any) -> Result:
    found = SAMPLES[kind]
    assert isinstance(found, kind)
    return replace(found, **changes)


def type_of(task: str) -> type[StageResult]:
    stage, _, name = task.partition("/")
    return stages.result_type(Task(stage=Stage(stage), name=name, needs=()))


def found_facts(result: StageResult) -> Iterator[tuple[str, Any]]:
    for field in fields(result):
        if field.name not in MEASURED:
            yield field.name, _another(getattr(result, field.name))


def field_names(value: Any) -> Iterator[str]:
    if is_dataclass(value):
        for field in fields(value):
            yield field.name
            yield from field_names(getattr(value, field.name))
    elif isinstance(value, tuple):
        for each in value:
            yield from field_names(each)


def measured_again(value: Any) -> Any:
    """Return the same result of another run: with other times, logs and conditions, at any depth.

    ``build``'s record of what it compiled is one of them.
    """
    if isinstance(value, tuple):
        return tuple(measured_again(each) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    changes = {
        name: _another(each) if name in MEASURED else measured_again(each)
        for name, each in values.items()
    }
    return replace(value, **changes)


def _another(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case StrEnum():
            return next(each for each in type(value) if each is not value)
        case str():
            return f"{value}, another"
        case int() | float():
            return value + 1
        case date():
            return value + timedelta(days=1)
        case Mapping():
            return {key: _another(each) for key, each in value.items()}
        case tuple():
            return tuple(_another(each) for each in value[:1]) if value else ("another",)
        case _:
            changed = next(
                field.name
                for field in fields(value)
                if field.name not in MEASURED and getattr(value, field.name) is not None
            )
            return replace(value, **{changed: _another(getattr(value, changed))})
