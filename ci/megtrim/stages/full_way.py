"""What the full way made of the same, if these results hold it: a quick look is set beside it.

Nothing is made here. A folder of results may serve several configurations, so a build counts only
if it is of these very scenarios, trimmed as this configuration says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from megtrim.midout.keepset import VERSION, bindings, read_keep_set
from megtrim.plan.graph import (
    FUNCTIONS,
    HEADER,
    REDUCED,
    Stage,
    by_function,
    from_plain,
    region_task,
)
from megtrim.recipe import Variant
from megtrim.stages import building, linking
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.store import Folder, key_of

FUNCTION = "function"
"""What the full way's program is called beside that of the quick one, which is the reduced one."""


def found(context: Context) -> Mapping[str, Folder]:
    """Return the build by regions, and that by functions as well, where the full way has them."""
    full = context.full
    if full is None or from_plain(full.config):
        return {}
    as_full = replace(context, loaded=full, quick=False, done={})
    bound = _bound(context.done[FUNCTIONS])
    region = _by_regions(as_full, bound)
    if region is None:
        return {}
    function = _by_functions(as_full, bound) if by_function(full.config) else None
    return {Variant.REGION: region} | ({} if function is None else {FUNCTION: function})


_Bound = tuple[tuple[object, ...], ...]


def _by_regions(context: Context, bound: _Bound) -> Folder | None:
    """Find the build, and leave the header that it was built with in ``done``."""
    config = context.loaded.config
    name = _name(region_task(config))
    form = {"format": str(VERSION), "layout": config.trim.layout}

    def built(header: Folder) -> Folder | None:
        inputs = building.region_inputs(replace(context, done={HEADER: header}))
        return context.store.find(Stage.REDUCE, key_of(Stage.REDUCE, name, inputs))

    def fits(header: Folder) -> bool:
        return _has(header, form) and _bound(header) == bound and built(header) is not None

    header = context.store.previous(Stage.HEADER, fits=fits)
    if header is None:
        return None
    context.done[HEADER] = header
    return built(header)


def _by_functions(context: Context, bound: _Bound) -> Folder | None:
    """Find the link of that build: by a keep set of these scenarios, whoever recorded it."""
    wanted = linking.shipped_inputs(context)

    def recorded(digest: str | None) -> Folder | None:
        def fits(keep: Folder) -> bool:
            return keep.files.get(KEEP_SET_FILE) == digest and _bound(keep) == bound

        return context.store.previous(Stage.FUNCTIONS, _name(FUNCTIONS), fits=fits)

    def fits(link: Folder) -> bool:
        return _has(link, wanted) and recorded(link.inputs.get(linking.KEEP_SET)) is not None

    return context.store.previous(Stage.REDUCE, _name(REDUCED), fits=fits)


def _name(task: str) -> str:
    return task.partition("/")[2]


def _has(folder: Folder, inputs: Mapping[str, str]) -> bool:
    return all(folder.inputs.get(label) == value for label, value in inputs.items())


def _bound(folder: Folder) -> _Bound:
    return bindings(read_keep_set(folder.file(KEEP_SET_FILE)))
