"""Stage `reduce`: the engine built again with only what the keep set names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.plan.graph import Task
from megtrim.recipe import Variant
from megtrim.stages import building
from megtrim.stages.context import Context


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name what enters the build, each generated file among it."""
    wanted = building.order(context, Variant(task.name), building.header_files(context))
    minimum = str(context.loaded.config.trim.minimum_size)
    files = building.header_inputs(context)
    return building.inputs(context, wanted) | files | {"minimum size": minimum}


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Build; the builder proves from the build's own records that the header was in it."""
    wanted = building.order(context, Variant(task.name), building.header_files(context))
    return building.work(context, wanted, folder)
