"""Stage `size`: the stripped artifacts weighed, and held to their budgets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from megtrim.build_spec import Variant
from megtrim.elf.sections import read_elf
from megtrim.pipeline.filenames import SIZES_FILE
from megtrim.pipeline.session import Context, binary, binary_digest
from megtrim.pipeline.summary import full_trim
from megtrim.plan.graph import PLAIN, PROFILE, REDUCED, REGION, Task
from megtrim.size.baseline import dump_sizes, expect_same_kind, load_sizes
from megtrim.size.budgets import Baseline, check
from megtrim.store import StageFolder, sha256_file


def inputs(task: Task, context: Context) -> dict[str, str]:
    """Name every artifact, the budgets, the baseline; the day only where a waiver can end."""
    config, builds = context.loaded.config, _builds(task, context)
    named = {
        f"{variant} {artifact}": binary_digest(build, artifact)
        for artifact in config.artifacts
        for variant, build in builds
    }
    if context.quick:
        named["quick"] = str(context.quick)
    named["budgets"] = " ".join(budget.model_dump_json() for budget in config.budgets)
    if config.waivers:
        named["waivers"] = " ".join(waiver.model_dump_json() for waiver in config.waivers)
        named["today"] = context.today.isoformat()
    chosen = _baseline_file(context)
    if chosen is not None:
        path, shown = chosen
        named["baseline"] = sha256_file(path) if _is_there(path, context) else "not there"
        named["baseline file"] = shown
    return named


def work(task: Task, context: Context, folder: Path) -> dict[str, Any]:
    """Weigh by groups of sections, judge the budgets, leave ``sizes.json`` for later runs."""
    config, builds = context.loaded.config, _builds(task, context)
    facts = {
        (artifact, variant): read_elf(binary(build, artifact))
        for artifact in config.artifacts
        for variant, build in builds
    }
    sizes = {key: elf.size_bytes for key, elf in facts.items()}
    (folder / SIZES_FILE).write_text(dump_sizes(sizes, quick=context.quick), encoding="utf-8")
    baseline = _baseline(context)
    results = check(config.budgets, sizes, baseline, config.waivers, context.today)
    failed = any(result.status == "fail" for result in results)
    return {
        "artifacts": [
            {
                "artifact": artifact,
                "variant": variant,
                "size_bytes": elf.size_bytes,
                "growth_bytes": baseline.growth(artifact, variant, elf.size_bytes)
                if baseline
                else None,
                "groups": [[str(group), size_bytes] for group, size_bytes in elf.groups],
            }
            for (artifact, variant), elf in facts.items()
        ],
        "budgets": [dataclasses.asdict(result) for result in results],
        "baseline": baseline.source if baseline else "",
        "exit code": 1 if failed else 0,
    }


def _builds(task: Task, context: Context) -> list[tuple[str, StageFolder]]:
    """Return what is weighed, plain first, what ships last: the builds that the task needs."""
    every = (
        (Variant.PLAIN, PLAIN),
        (Variant.PROFILE, PROFILE),
        (Variant.REGION, REGION),
        (Variant.REDUCED, REDUCED),
    )
    *others, reduced = (
        (str(variant), context.done[build]) for variant, build in every if build in task.needs
    )
    full_builds = full_trim.find_builds(context) if context.quick else {}
    return [*others, *full_builds.items(), reduced]


def expect_usable_baseline(context: Context) -> None:
    """Read the baseline, if there is one, before anything is built. Raises InputError."""
    chosen = _baseline_file(context)
    if chosen is not None and chosen[0].exists():
        _load_baseline(chosen, context)


def _load_baseline(chosen: tuple[Path, str], context: Context) -> Baseline:
    path, shown = chosen
    return expect_same_kind(load_sizes(path, shown=shown), quick=context.quick, shown=shown)


def _baseline(context: Context) -> Baseline | None:
    chosen = _baseline_file(context)
    if chosen is None:
        return None
    path, shown = chosen
    if not _is_there(path, context):
        context.console.warn(f"there is no baseline {shown}, so growth is not measured")
        return Baseline(source=f"none: there is no {shown}", sizes={})
    return _load_baseline(chosen, context)


def _baseline_file(context: Context) -> tuple[Path, str] | None:
    """Return the baseline's file and what people call it; the command line's one wins.

    The configuration's is that of the full way: a quick look is not held against it.
    """
    if context.baseline is not None:
        return context.baseline, str(context.baseline)
    configured = None if context.quick else context.loaded.config.baseline
    return None if configured is None else (context.path(configured), str(configured))


def _is_there(path: Path, context: Context) -> bool:
    """Say whether to read it: a step before this one may have found none, a team names one."""
    return context.baseline is None or path.exists()
