"""What the full way made of the same, if these results hold it: a quick look is set beside it.

Nothing is made here. A folder of results may serve several configurations, so a build counts only
if it is of these very scenarios, trimmed as this configuration says.
"""

from __future__ import annotations

from dataclasses import replace

from megtrim.midout.keepset import VERSION, bindings, read_keep_set
from megtrim.plan.graph import FUNCTIONS, HEADER, Stage, from_plain, region_task
from megtrim.stages import building
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.store import Folder, key_of


def by_regions(context: Context) -> Folder | None:
    """Return the build by regions; None where there is none, or where none is configured."""
    full = context.full
    if full is None or from_plain(full.config):
        return None
    name = region_task(full.config).partition("/")[2]
    form = {"format": str(VERSION), "layout": full.config.trim.layout}
    bound = _bound(context.done[FUNCTIONS])

    def built(header: Folder) -> Folder | None:
        as_full = replace(context, loaded=full, quick=False, done={HEADER: header})
        key = key_of(Stage.REDUCE, name, building.region_inputs(as_full))
        return context.store.find(Stage.REDUCE, key)

    def fits(header: Folder) -> bool:
        alike = all(header.inputs.get(label) == value for label, value in form.items())
        return alike and _bound(header) == bound and built(header) is not None

    header = context.store.previous(Stage.HEADER, fits=fits)
    return None if header is None else built(header)


def _bound(folder: Folder) -> tuple[tuple[object, ...], ...]:
    return bindings(read_keep_set(folder.file(KEEP_SET_FILE)))
