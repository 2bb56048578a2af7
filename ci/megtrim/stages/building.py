"""What the stages `build` and `reduce` share: one variant, built and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from megtrim.recipe import BuildOrder, Variant
from megtrim.stages.context import Context


def order(context: Context, variant: Variant, header: Mapping[str, str]) -> BuildOrder:
    """Return what is to be built, by the configuration."""
    config = context.loaded.config
    targets = tuple(dict.fromkeys((config.engine.target, *config.artifacts)))
    made = context.engine.order(
        variant,
        context.toolchain,
        targets=targets,
        minimum_size=config.trim.minimum_size,
        header=header,
    )
    return made.with_options(config.engine.cmake)


def inputs(context: Context, wanted: BuildOrder) -> dict[str, str]:
    """Name what enters a build: the engine's digest, the toolchain, the options."""
    identity = context.engine.identity()
    toolchain = context.toolchain.identity()
    return {
        "engine": identity.digest,
        "targets": " ".join(wanted.targets),
        "options": " ".join(f"{name}={value}" for name, value in wanted.options),
        "engine link flags": " ".join(wanted.link_flags),
        **{f"toolchain {label}": value for label, value in toolchain.items()},
    }


def work(context: Context, wanted: BuildOrder, folder: Path) -> dict[str, Any]:
    """Build, and return the record for the manifest."""
    identity = context.engine.identity()
    # One tree for each engine, target and variant: the next build compiles what changed.
    name = f"{identity.kind}-{context.toolchain.kind}-{context.toolchain.machine}-{wanted.variant}"
    progress = context.console.progress(f"building {wanted.variant}")
    with context.store.lock(f"work-{name}"):
        record = context.builder.build(
            wanted, work=context.store.root / "work" / name, folder=folder, progress=progress
        )
    return {
        "engine": {
            "kind": identity.kind,
            "generation": identity.generation,
            "digest": identity.digest,
            "commit": identity.commit,
            "dirty": list(identity.dirty),
        },
        "toolchain": context.toolchain.identity(),
        "artifacts": {name: (folder / path).stat().st_size for name, path in record.artifacts},
        "translation units": record.translation_units,
        "translation units with the header": record.units_with_header,
        "translation units with midout.h": record.units_with_regions,
    }
