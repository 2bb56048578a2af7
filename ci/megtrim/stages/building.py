"""What the stages `build`, `reduce` and `switches` share: one variant, built and recorded."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.config.switches import switched_off, switched_on
from megtrim.engines import switches
from megtrim.plan.graph import HEADER
from megtrim.recipe import BuildOrder, Switch, Variant
from megtrim.stages import programs
from megtrim.stages.context import Context


def order(
    context: Context,
    variant: Variant,
    header: Mapping[str, str],
    *,
    off: Sequence[Switch] | None = None,
) -> BuildOrder:
    """Return what is to be built, by the configuration; ``off``: switches, in place of its own."""
    config = context.loaded.config
    without = switched_off(config.trim) if off is None else off
    made = context.engine.order(
        variant,
        context.toolchain,
        targets=programs.targets(context),
        minimum_size=switches.is_minimum_size(without),
        header=header,
    )
    lto = programs.lto_flags(context, variant)
    made = replace(
        made,
        compile_flags=(*made.compile_flags, *lto),
        link_flags=tuple(dict.fromkeys((*made.link_flags, *lto))),
    )
    if variant is Variant.REDUCED:
        on = [each for each in switched_on(config.trim) if each not in without]
        made = made.with_options(switches.options(without, on))
    return made.with_options(config.engine.cmake)


def inputs(context: Context, wanted: BuildOrder) -> dict[str, str]:
    """Name what enters a build: the engine's digest, the toolchain, the options."""
    identity = context.engine.identity()
    toolchain = context.toolchain.identity()
    return {
        "engine": identity.digest,
        "targets": " ".join(wanted.targets),
        "options": shlex.join(f"{name}={value}" for name, value in wanted.options),
        "engine compile flags": " ".join(wanted.compile_flags),
        "engine link flags": " ".join(wanted.link_flags),
        **{f"toolchain {label}": value for label, value in toolchain.items()},
        **_applications(context, wanted.variant),
    }


def way_of(wanted: BuildOrder) -> str:
    """Say how a variant is built, and why so."""
    if wanted.script is None:
        return "a direct CMake call: the engine's own script is used for Android alone"
    return f"{' '.join((wanted.script.path, *wanted.script.arguments))}: {wanted.script.why}"


def _applications(context: Context, variant: Variant) -> dict[str, str]:
    return {
        f"application {each.name}": " ".join(
            (each.checkout.digest, each.library.file, "lto" if each.lto else "")
        )
        for each in programs.orders(context, variant)
    }


def header_files(context: Context) -> dict[str, str]:
    """Return the generated files that the header stage left, name and text."""
    folder = context.done[HEADER]
    return {
        Path(name).name: folder.file(name).read_text(encoding="utf-8")
        for name in folder.files
        if name.startswith("include/")
    }


def header_inputs(context: Context) -> dict[str, str]:
    """Name each generated file with its digest."""
    return {
        f"header {name}": digest
        for name, digest in context.done[HEADER].files.items()
        if name.startswith("include/")
    }


def work(
    context: Context, wanted: BuildOrder, folder: Path, *, purpose: str = ""
) -> dict[str, Any]:
    """Build, and return the record for the manifest; ``purpose`` has a tree of its own."""
    identity = context.engine.identity()
    what = purpose or str(wanted.variant)
    # One tree for each engine, target and variant: the next build compiles what changed.
    name = f"{identity.kind}-{context.toolchain.kind}-{context.toolchain.machine}-{what}"
    progress = context.console.progress(f"building {what}")
    way = way_of(wanted)
    context.console.say(f"  by {way}")
    with context.store.lock(f"work-{name}"):
        record = context.builder.build(
            wanted,
            work=context.store.root / "work" / name,
            folder=folder,
            progress=progress,
            applications=programs.orders(context, wanted.variant),
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
        "built by": way,
        "artifacts": {name: (folder / path).stat().st_size for name, path in record.artifacts},
        "translation units": record.translation_units,
        "translation units with the header": record.units_with_header,
        "translation units with midout.h": record.units_with_regions,
    }
