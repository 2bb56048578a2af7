"""What the stages `build`, `reduce` and `switches` share: one variant, built and recorded."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from megtrim.build_spec import BuildSpec, LinkSpec, Switch, Variant
from megtrim.config.switches import switched_off, switched_on
from megtrim.engines import switches
from megtrim.pipeline.building import programs, size_options
from megtrim.pipeline.session import Context
from megtrim.plan import staleness
from megtrim.plan.graph import HEADER

_INCLUDE = "include/"
"""Where the stage `header` leaves the generated files."""
_LISTED = 100
"""Compiled files that a result names."""


def make_spec(
    context: Context,
    variant: Variant,
    header: Mapping[str, str],
    *,
    off: Sequence[Switch] | None = None,
) -> BuildSpec:
    """Return what is to be built, by the configuration; ``off``: switches, in place of its own."""
    config = context.loaded.config
    without = switched_off(config.trim) if off is None else off
    made = context.engine.make_spec(
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
        made = size_options.apply_flags(
            context, made.with_options(switches.options(without, on)), without
        )
    return made.with_options(config.engine.cmake)


def inputs(context: Context, wanted: BuildSpec) -> dict[str, str]:
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
        **_beyond(wanted),
    }


def way_of(wanted: BuildSpec) -> str:
    """Say how a variant is built, and why so."""
    if wanted.script is None:
        return "a direct CMake call: the engine's own script is used for Android alone"
    return f"{' '.join((wanted.script.path, *wanted.script.arguments))}: {wanted.script.why}"


def _beyond(wanted: BuildSpec) -> dict[str, str]:
    """Name what only means beyond the recipe bring: other keys stay what they were."""
    told = {"engine's own link flags": " ".join(wanted.own_link_flags)}
    if wanted.source_options is not None:
        told["engine source options"] = shlex.join(wanted.source_options.words)
    return {label: value for label, value in told.items() if value}


def _applications(context: Context, variant: Variant) -> dict[str, str]:
    return {
        f"application {each.name}": " ".join(
            (each.checkout.digest, each.library.file, "lto" if each.lto else "")
        )
        for each in programs.list_specs(context, variant)
    }


def header_files(context: Context) -> dict[str, str]:
    """Return the generated files that the header stage left, name and text."""
    folder = context.done[HEADER]
    return {
        name.removeprefix(_INCLUDE): folder.file(name).read_text(encoding="utf-8")
        for name in folder.files
        if name.startswith(_INCLUDE)
    }


def header_inputs(context: Context) -> dict[str, str]:
    """Name each generated file with its digest."""
    return {
        f"header {name.removeprefix(_INCLUDE)}": digest
        for name, digest in context.done[HEADER].files.items()
        if name.startswith(_INCLUDE)
    }


def region_inputs(context: Context) -> dict[str, str]:
    """Name what enters the build by regions: what the header stage generated, among it."""
    wanted = make_spec(context, Variant.REDUCED, header_files(context))
    return inputs(context, wanted) | header_inputs(context)


def work(context: Context, wanted: BuildSpec, folder: Path, *, purpose: str = "") -> dict[str, Any]:
    """Build, and return the record for the manifest; ``purpose`` has a tree of its own."""
    what = purpose or str(wanted.variant)
    progress = context.console.progress(f"building {what}")
    way = way_of(wanted)
    context.console.say(f"  by {way}")
    with _tree(context, what) as tree:
        record = context.builder.build(
            wanted,
            work=tree,
            folder=folder,
            progress=progress,
            applications=programs.list_specs(context, wanted.variant),
        )
    identity, rebuilt = context.engine.identity(), record.rebuilt
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
        "rebuilt": {
            "predicted": None if rebuilt.predicted is None else len(rebuilt.predicted),
            "compiled": len(rebuilt.compiled),
            "cpu_s": rebuilt.cpu_s,
            "files": list(rebuilt.compiled[:_LISTED]),
        },
    }


def forecast(context: Context, wanted: BuildSpec) -> str:
    """Say which sources :func:`work` would compile; nothing is built."""
    predicted = context.builder.predict(wanted, work=_folder(context, str(wanted.variant)))
    return staleness.describe_forecast(predicted)


def link(context: Context, wanted: BuildSpec, links: tuple[LinkSpec, ...], folder: Path) -> None:
    """Make further links from the objects of a build, which is brought up to date first."""
    with _tree(context, str(wanted.variant)) as tree:
        context.builder.link(
            wanted,
            links,
            work=tree,
            folder=folder,
            progress=context.console.progress(f"linking {wanted.variant}"),
            applications=programs.list_specs(context, wanted.variant),
        )


def expect_linkable(context: Context, wanted: BuildSpec, folder: Path) -> None:
    """Raise InputError unless functions can be left out of the programs of a build."""
    with _tree(context, str(wanted.variant)) as tree:
        context.builder.expect_linkable(
            wanted,
            programs.linked_again(context),
            work=tree,
            folder=folder,
            applications=programs.list_specs(context, wanted.variant),
        )


@contextmanager
def _tree(context: Context, what: str) -> Iterator[Path]:
    """Give out the tree of an engine, target and variant: the next build compiles what changed."""
    folder = _folder(context, what)
    with context.store.lock(f"work-{folder.name}"):
        yield folder


def _folder(context: Context, what: str) -> Path:
    kind, toolchain = context.engine.identity().kind, context.toolchain
    return context.store.root / "work" / f"{kind}-{toolchain.kind}-{toolchain.machine}-{what}"
