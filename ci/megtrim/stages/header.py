"""Stage `header`: traces and operator JSON become the keep set and the header.

The keep set that the team committed is the predecessor: a scenario that lost regions against
it fails until a person accepts that (``--accept``), and then the file is written anew. In
committed mode that file is the keep set, and nothing is traced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from megtrim.config.load import LoadedConfig
from megtrim.config.model import ModelConfig
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.engines import Engine
from megtrim.errors import InputError
from megtrim.midout.header import Layout, render
from megtrim.midout.keepset import (
    VERSION,
    KeepSet,
    ScenarioRecord,
    build_keep_set,
    dump_keep_set,
    parse_keep_set,
    read_keep_set,
    shrunken,
)
from megtrim.midout.region import Region
from megtrim.midout.trace import TraceFailure, TraceProblem, read_trace
from megtrim.models.needs import load_needs
from megtrim.models.operators import OperatorInfo, OperatorNeeds, merge
from megtrim.plan.graph import Task, trace_task
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE, TRACE_FILE
from megtrim.stages.scenarios import binding_of, record_of
from megtrim.store import Folder, sha256_file, write_atomically

_LISTED = 10


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the traces, the models and their JSON, the layout, and the engine's modes."""
    config = context.loaded.config
    named = {
        "format": str(VERSION),
        "generation": str(context.engine.identity().generation),
        "layout": config.trim.layout,
        "elementwise modes": str(context.engine.elemwise_modes()),
    }
    if context.committed:
        text = dump_keep_set(read_committed(context.loaded, context.engine))
        ids = (scenario.id for scenario in all_scenarios(config))
        return named | {
            "committed keep set": hashlib.sha256(text.encode()).hexdigest(),
            "scenarios": " ".join(ids),
        }
    for scenario in all_scenarios(config):
        # Equal traces of other arguments are another keep set: it says what each is bound to.
        named[f"scenario {scenario.id}"] = binding_of(scenario, context)
        named[f"trace {scenario.id}"] = context.done[trace_task(scenario)].files[TRACE_FILE]
    for model in config.models:
        for path in (model.file, *model.strip_info):
            named[f"model {model.name} {path.name}"] = sha256_file(context.path(path))
    return named


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Merge, and write the keep set and the header."""
    config = context.loaded.config
    keep, warnings = _committed(context) if context.committed else _traced(context)
    (folder / KEEP_SET_FILE).write_text(dump_keep_set(keep), encoding="utf-8")
    files = render(
        keep, layout=Layout(config.trim.layout), elemwise_modes=context.engine.elemwise_modes()
    )
    (folder / "include").mkdir()
    for name, content in files.files:
        (folder / "include" / name).write_text(content, encoding="utf-8")
    return {
        "regions": len(keep.regions()),
        "operators": len(keep.operators.operators) if keep.operators else 0,
        "warnings": list(warnings),
    }


def read_committed(loaded: LoadedConfig, engine: Engine) -> KeepSet:
    """Read the keep set that the team committed, for committed mode.

    Raises InputError where there is none, or one of another generation of midout's header.
    """
    shown = loaded.config.keep_set
    path = loaded.resolve(shown)
    if not path.is_file():
        msg = f"{shown}: there is no keep set, which --committed trims by"
        hint = "make it with megtrim trim or the trace-refresh workflow, and commit it"
        raise InputError(msg, hint=hint)
    keep = read_keep_set(path)
    generation = engine.identity().generation
    if keep.generation != generation:
        msg = (
            f"{shown}: found header generation {keep.generation}, "
            f"expected the engine's: {generation}"
        )
        raise InputError(msg, hint="the engine changed: trace it again with megtrim trim --accept")
    return keep


def _committed(context: Context) -> tuple[KeepSet, tuple[str, ...]]:
    keep = read_committed(context.loaded, context.engine)
    known = {scenario.id for scenario in all_scenarios(context.loaded.config)}
    warnings = (
        f"the keep set keeps regions for {record.id}, which is not configured any more"
        for record in keep.scenarios
        if record.id not in known
    )
    return keep, tuple(warnings)


def _traced(context: Context) -> tuple[KeepSet, tuple[str, ...]]:
    needs, warnings = _needs(context)
    every = all_scenarios(context.loaded.config)
    keep = build_keep_set(
        generation=context.engine.identity().generation,
        scenarios=tuple(_record(scenario, context) for scenario in every),
        operators=needs,
    )
    return keep, warnings


def _needs(context: Context) -> tuple[OperatorNeeds, tuple[str, ...]]:
    loaded = [_model_needs(model, context) for model in context.loaded.config.models]
    models = [
        (model.name, info)
        for model, (infos, _) in zip(context.loaded.config.models, loaded, strict=True)
        for info in infos
    ]
    return merge(models), tuple(warning for _, warnings in loaded for warning in warnings)


def _model_needs(
    model: ModelConfig, context: Context
) -> tuple[tuple[OperatorInfo, ...], tuple[str, ...]]:
    return load_needs(
        context.path(model.file), tuple(context.path(path) for path in model.strip_info)
    )


def _record(scenario: Scenario, context: Context) -> ScenarioRecord:
    trace = read_trace(context.done[trace_task(scenario)].file(TRACE_FILE))
    return record_of(scenario, context, trace)


def settle(context: Context, folder: Folder) -> None:
    """Hold a keep set, new or not, against the committed one.

    That file is written where there is none yet or where a person accepts the new one. In
    committed mode it is the keep set, so there is nothing to settle.
    """
    if context.committed:
        return
    text = folder.file(KEEP_SET_FILE).read_text(encoding="utf-8")
    path = context.path(context.loaded.config.keep_set)
    if not path.exists() or context.accept:
        write_atomically(path, text)
        context.console.say(f"  wrote {path}: commit it, it says what is kept and for whom")
        return
    before = read_keep_set(path)
    lost = shrunken(before, parse_keep_set(text, source=KEEP_SET_FILE))
    if lost:
        raise TraceFailure(
            TraceProblem.SHRUNKEN,
            "\n".join(["a trace shrank against the committed keep set:", *_losses(lost)]),
            hint="if that is meant, accept it: megtrim header --accept",
        )
    if dump_keep_set(before) != text:
        context.console.warn(f"{path} is not what was traced now; `megtrim header --accept`")


def _losses(lost: Iterable[tuple[str, tuple[Region, ...]]]) -> Iterator[str]:
    for scenario_id, regions in lost:
        shown = ", ".join(str(region) for region in regions[:_LISTED])
        more = f" and {len(regions) - _LISTED} more" if len(regions) > _LISTED else ""
        yield f"  {scenario_id} no longer runs {shown}{more}"
