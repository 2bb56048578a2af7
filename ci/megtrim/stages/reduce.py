"""Stage `reduce`: the engine built again with only what the keep set names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.plan.graph import HEADER, Task
from megtrim.recipe import Variant
from megtrim.stages import building
from megtrim.stages.context import Context


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name what enters the build, each generated file among it."""
    folder = context.done[HEADER]
    files = {
        f"header {name}": digest
        for name, digest in folder.files.items()
        if name.startswith("include/")
    }
    wanted = building.order(context, Variant(task.name), _header(context))
    minimum = str(context.loaded.config.trim.minimum_size)
    return building.inputs(context, wanted) | files | {"minimum size": minimum}


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Build; the builder proves from the build's own records that the header was in it."""
    return building.work(
        context, building.order(context, Variant(task.name), _header(context)), folder
    )


def _header(context: Context) -> dict[str, str]:
    folder = context.done[HEADER]
    return {
        Path(name).name: folder.file(name).read_text(encoding="utf-8")
        for name in folder.files
        if name.startswith("include/")
    }
