"""Stage `functions`: which functions of the base build run, and the keep set with them.

The base build is linked once more so that each function has bytes of its own. Each scenario runs
on that link: an emulator tells what it translated, elsewhere the probed twin records it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.config.switches import switched_off
from megtrim.devices import Seat
from megtrim.devices.attempts import deliver
from megtrim.functions import blocks, linkmap, probes
from megtrim.functions.listing import dump_list, function_list, read_list
from megtrim.functions.table import parse_table, read_linked, read_table
from megtrim.midout.keepset import (
    KeepSet,
    ScenarioRecord,
    build_keep_set,
    dump_keep_set,
    read_keep_set,
)
from megtrim.midout.trace import Trace
from megtrim.plan.graph import HEADER, LINKED, Task, from_plain, functions_task, search_task
from megtrim.recipe import LinkOrder, Switch
from megtrim.stages import building, linking, programs, tracing
from megtrim.stages.committed import read_committed
from megtrim.stages.context import Context, scenario_inputs
from megtrim.stages.files import CACHE_FILE, FUNCTIONS_FILE, KEEP_SET_FILE
from megtrim.stages.linking import PROBED, UNFOLDED
from megtrim.stages.runs import RunOrder
from megtrim.stages.scenarios import binding_of, cache_of, order_for, record_of, unfit
from megtrim.store import sha256_file

_LINKED = LINKED.partition("/")[2]
_EMULATED = "qemu"
"""Kind of the devices whose emulator tells what it translated."""
_LOGGED: Mapping[str, Any] = {"recorded": blocks.LOG_FILE, "env": blocks.ENVIRONMENT}
_PROBED: Mapping[str, Any] = {"recorded": probes.RECORD_FILE, "env": probes.ENVIRONMENT}
_UNKNOWN_FLAG = "--no-such-flag"
_LONG = "a-name-that-no-short-string-holds-"
_FORM = "1"
"""Of what a list rests on besides its inputs: how links are made and what else runs."""


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name the base build; for a scenario its unfolded program too; for the keep set the lists."""
    if task.scenario is not None:
        return _scenario_inputs(task.scenario, context)
    if task.name == _LINKED:
        kinds = {device.kind == _EMULATED for device in context.devices.values()}
        return linking.base_inputs(context) | {
            "programs": " ".join(programs.linked_again(context)),
            "probed": str(False in kinds and not context.committed),
            "form": _FORM,
        }
    return _keep_inputs(context)


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Link, run, or merge."""
    if task.scenario is not None:
        return _record(task.scenario, context, folder)
    if task.name == _LINKED:
        return _link(inputs(task, context)["probed"] == "True", context, folder)
    return _keep(context, folder)


def _link(probed: bool, context: Context, folder: Path) -> dict[str, Any]:
    targets = programs.linked_again(context)
    orders = [
        LinkOrder(target=target, label=UNFOLDED, unfolded=True, map=True) for target in targets
    ]
    if probed:
        orders += [
            LinkOrder(
                target=target,
                label=PROBED,
                unfolded=True,
                flags=probes.FLAGS,
                sources=probes.SOURCES,
                strip=False,
                map=True,
            )
            for target in targets
        ]
    building.link(context, linking.base_order(context), tuple(orders), folder)
    for target in targets if probed else ():
        _probe(linking.linked(folder, PROBED, target))
    return {
        "links": {
            target: sha256_file(linking.stripped(folder, UNFOLDED, target)) for target in targets
        }
    }


def _probe(program: Path) -> None:
    """Put the traps in."""
    data = read_linked(program)
    table = parse_table(data, source=str(program))
    origins = linkmap.read_map(program.with_name(f"{program.name}.map"))
    platform = linkmap.platform_names(origins, table)
    program.write_bytes(probes.patch(data, table, platform))


def _scenario_inputs(scenario: Scenario, context: Context) -> dict[str, str]:
    named = scenario_inputs(scenario, context)
    if scenario.searches:
        named["algorithm cache"] = context.done[search_task(scenario)].files[CACHE_FILE]
    name = programs.name_of(scenario, context)
    return named | {
        "form": _FORM,
        **{
            f"program {file}": sha256
            for file, sha256 in context.done[LINKED].files.items()
            if file.startswith("links/") and file.endswith(f"/{name}")
        },
    }


def _record(scenario: Scenario, context: Context, folder: Path) -> dict[str, Any]:
    """Run the scenario on the link that tells its functions, and leave their list."""
    name = programs.name_of(scenario, context)
    identity = linking.identities(context).get(name)
    if identity is None:
        # Its engine is in a shared object, which is linked as it is.
        return {"functions": 0}

    def attempt(seat: Seat) -> tuple[tuple[str, ...], float]:
        emulated = seat.kind == _EMULATED
        program = linking.linked(context.done[LINKED].path, UNFOLDED if emulated else PROBED, name)
        order = order_for(scenario, context, program, cache=cache_of(scenario, context))
        told = replace(order, **(_LOGGED if emulated else _PROBED))
        read = blocks.ran_in_log if emulated else probes.parse_record
        table = read_table(program)
        data, run = tracing.functions(scenario.id, told, seat)
        names = {*read(data, table, source=f"{told.recorded} of {scenario.id}")}
        more = [tracing.functions(scenario.id, _long_names(told), seat)[0]]
        complaints = _complaints(told) if _speaks(context) else ()
        more += [tracing.record(scenario.id, each, seat) for each in complaints]
        for each in more:
            names.update(read(each, table, source=f"{told.recorded} of {scenario.id}"))
        return tuple(sorted(names)), run.wall_s

    names, time_s = deliver(context.device(scenario), attempt, say=context.console.say)
    found = function_list(identity, names)
    (folder / FUNCTIONS_FILE).write_text(dump_list(found), encoding="utf-8")
    return {"functions": len(found.names), "time_s": time_s}


def _long_names(order: RunOrder) -> RunOrder:
    """Return the same run with longer names, as users have them.

    A string copies those by other functions than names that fit into the string itself.
    """
    return replace(order, prefix=_LONG)


def _speaks(context: Context) -> bool:
    """Say whether the base build has words for what goes wrong."""
    if from_plain(context.loaded.config):
        return True
    return not {Switch.LOGGING, Switch.EXCEPTIONS} <= {*switched_off(context.loaded.config.trim)}


def _complaints(order: RunOrder) -> Iterator[RunOrder]:
    """Yield what goes wrong most often, so that a trimmed program still says it in words."""
    if order.application:
        return  # its words are its own: a scenario of its own keeps them
    yield replace(order, lacks_model=True)
    yield replace(order, arguments=(*order.arguments, _UNKNOWN_FLAG))


def _keep_inputs(context: Context) -> dict[str, str]:
    links = linking.identities(context)
    named = {f"link {target}": sha256 for target, sha256 in links.items()}
    if HEADER in context.done:
        named["regions"] = context.done[HEADER].files[KEEP_SET_FILE]
    if context.committed:
        text = dump_keep_set(read_committed(context.loaded, context.engine))
        return named | {"committed": hashlib.sha256(text.encode()).hexdigest()}
    for scenario in all_scenarios(context.loaded.config):
        files = context.done[functions_task(scenario)].files
        # Equal lists of other arguments are another keep set: it says what each is bound to.
        named[f"scenario {scenario.id}"] = binding_of(scenario, context)
        named[f"functions {scenario.id}"] = files.get(FUNCTIONS_FILE, "none")
    return named


def _keep(context: Context, folder: Path) -> dict[str, Any]:
    """Leave the keep set with the functions in it: as they ran, or as the team committed them."""
    if context.committed:
        keep = read_committed(context.loaded, context.engine)
        _expect_fitting(keep, context)
    else:
        keep = _merged(context)
    (folder / KEEP_SET_FILE).write_text(dump_keep_set(keep), encoding="utf-8")
    return {"functions": len(keep.functions())}


def _expect_fitting(keep: KeepSet, context: Context) -> None:
    """Refuse functions that were recorded on another link: its functions are other functions."""
    links = linking.identities(context)
    by_id = {record.id: record for record in keep.scenarios}
    for scenario in all_scenarios(context.loaded.config):
        wanted = links.get(programs.name_of(scenario, context))
        record = by_id.get(scenario.id)
        if wanted is None or record is None:
            continue  # nothing to fit, or told where the scenario is verified
        if not record.functions:
            msg = f"{scenario.id}: the committed keep set lists no functions for it"
            raise unfit(msg, context, hint="record them: megtrim trim --accept")
        if record.link_sha256 != wanted:
            msg = (
                f"{scenario.id}: its functions were recorded on another link "
                f"({str(record.link_sha256)[:12]}), this one is {wanted[:12]}"
            )
            raise unfit(msg, context, hint="record them again: megtrim trim --accept")


def _merged(context: Context) -> KeepSet:
    before = _regions(context)
    records = [
        _with_functions(scenario, before.get(scenario.id), context)
        for scenario in all_scenarios(context.loaded.config)
    ]
    operators = None
    if HEADER in context.done:
        operators = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE)).operators
    return build_keep_set(context.engine.identity().generation, records, operators)


def _regions(context: Context) -> Mapping[str, ScenarioRecord]:
    if from_plain(context.loaded.config):
        return {}
    keep = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE))
    return {record.id: record for record in keep.scenarios}


def _with_functions(
    scenario: Scenario, record: ScenarioRecord | None, context: Context
) -> ScenarioRecord:
    folder = context.done[functions_task(scenario)]
    if record is None:
        # No regions were traced: the list of functions is all that there is of it.
        sha256 = folder.files.get(FUNCTIONS_FILE, hashlib.sha256().hexdigest())
        record = record_of(scenario, context, Trace(regions=(), sha256=sha256))
    if FUNCTIONS_FILE not in folder.files:
        return record
    found = read_list(folder.file(FUNCTIONS_FILE))
    return replace(record, functions=found.names, link_sha256=found.link_sha256)
