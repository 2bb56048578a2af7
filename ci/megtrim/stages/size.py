"""Stage `size`: the stripped artifacts weighed, and held to their budgets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from megtrim.plan.graph import PLAIN, PROFILE, REDUCED, Task
from megtrim.recipe import Variant
from megtrim.size.baseline import dump_sizes, load_sizes
from megtrim.size.budgets import check
from megtrim.size.elf import read_elf
from megtrim.stages.context import Context, binary, binary_digest
from megtrim.store import sha256_file

SIZES_FILE = "sizes.json"
_BUILDS = ((Variant.PLAIN, PLAIN), (Variant.PROFILE, PROFILE), (Variant.REDUCED, REDUCED))


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name every artifact, the budgets, the baseline; the day only where a waiver can end."""
    config = context.loaded.config
    named = {
        f"{variant} {artifact}": binary_digest(context.done[build], artifact)
        for artifact in config.artifacts
        for variant, build in _BUILDS
    }
    named["budgets"] = " ".join(budget.model_dump_json() for budget in config.budgets)
    if config.waivers:
        named["waivers"] = " ".join(waiver.model_dump_json() for waiver in config.waivers)
        named["today"] = context.today.isoformat()
    if config.baseline is not None:
        named["baseline"] = sha256_file(context.path(config.baseline))
    return named


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Weigh by groups of sections, judge the budgets, leave ``sizes.json`` for later runs."""
    config = context.loaded.config
    facts = {
        (artifact, variant): read_elf(binary(context.done[build], artifact))
        for artifact in config.artifacts
        for variant, build in _BUILDS
    }
    sizes = {(artifact, str(variant)): elf.size_bytes for (artifact, variant), elf in facts.items()}
    (folder / SIZES_FILE).write_text(dump_sizes(sizes), encoding="utf-8")
    baseline = load_sizes(context.path(config.baseline)) if config.baseline else None
    results = check(config.budgets, sizes, baseline, config.waivers, context.today)
    failed = any(result.status == "fail" for result in results)
    return {
        "artifacts": [
            {
                "artifact": artifact,
                "variant": variant,
                "size_bytes": elf.size_bytes,
                "groups": [[str(group), size_bytes] for group, size_bytes in elf.groups],
            }
            for (artifact, variant), elf in facts.items()
        ],
        "budgets": [dataclasses.asdict(result) for result in results],
        "exit code": 1 if failed else 0,
    }
