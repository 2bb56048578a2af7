"""Stage `build`: the plain and the profile variant of the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.build_spec import Variant
from megtrim.errors import ProductFailure
from megtrim.midout.region import Region
from megtrim.midout.trace import regions_in_binary
from megtrim.pipeline.building import programs, variants
from megtrim.pipeline.filenames import REGIONS_FILE
from megtrim.pipeline.session import Context
from megtrim.plan.graph import Task, trims_functions


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name what enters the build."""
    return variants.inputs(context, variants.make_spec(context, Variant(task.name), {}))


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Build the variant; of the profile variant, list the regions that it holds."""
    wanted = variants.make_spec(context, Variant(task.name), {})
    result = variants.work(context, wanted, folder)
    if wanted.variant is Variant.PLAIN and trims_functions(context.loaded.config):
        # All builds are linked alike: said now, it spares the others.
        variants.expect_linkable(context, wanted, folder)
    if wanted.variant is Variant.PROFILE:
        result["regions held"] = _list_regions(context, folder)
    return result


def _list_regions(context: Context, folder: Path) -> int:
    found: set[Region] = set()
    for name in programs.holders(context):
        regions = regions_in_binary((folder / "bin" / name).read_bytes())
        if not regions:
            msg = f"the profile build of {name} holds no midout regions"
            raise ProductFailure(msg, hint="is it linked statically against the engine?")
        found |= set(regions)
    text = "".join(f"{region}\n" for region in sorted(found))
    (folder / REGIONS_FILE).write_text(text, encoding="utf-8")
    return len(found)
