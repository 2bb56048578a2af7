"""The base as it would be with one cause of growth as the head has it: tree, keep set, settings."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.config.load import LoadedConfig
from megtrim.engines.checkout import Checkout
from megtrim.midout.keepset_folder import find_files
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import InputChanges
from megtrim.size.growth.source_kinds import SourceKind, find_kind
from megtrim.store import cannot_write

_MOVES = {
    Cause.SOURCE: (SourceKind.SOURCE, SourceKind.OTHER),
    Cause.DEPENDENCIES: (SourceKind.DEPENDENCY,),
    Cause.FLAGS: (SourceKind.BUILD,),
}
"""The files of the engine's tree that are of a cause."""
_BUILD_FILES = "build files"
_SUFFIX = ".json"


def compose_tree(
    base: Checkout, head: Checkout, cause: Cause, changes: InputChanges, folder: Path
) -> Path:
    """Write the base's tree with the files of one cause as the head has them; return the folder.

    Where build files differ by their lists of sources alone, they go with the sources.
    """
    moved = _MOVES.get(cause, ())
    lists_only = all(each.label != _BUILD_FILES for each in changes.values)
    if cause is Cause.SOURCE and lists_only:
        moved = (*moved, SourceKind.BUILD)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        for source, name in _choose_files(base, head, moved):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target, follow_symlinks=False)
    except OSError as error:
        raise cannot_write(folder, error) from None
    return folder


def compose_keep_set(base: Path, head: Path, changes: InputChanges, cause: Cause, to: Path) -> Path:
    """Write the files of a keep set; return the folder.

    The models bring those of scenarios that came, went or changed, the keep set those of others.
    """
    moved = {
        *changes.new_scenarios,
        *changes.changed_scenarios,
        *changes.lost_scenarios,
    }
    names = {*find_files(base), *find_files(head)}
    try:
        shutil.rmtree(to, ignore_errors=True)
        for name in sorted(names):
            theirs = (name.removesuffix(_SUFFIX) in moved) is (cause is Cause.MODELS)
            source = (head if theirs else base) / name
            if source.exists():
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, to / name)
    except OSError as error:
        raise cannot_write(to, error) from None
    return to


def adapt_settings(
    loaded: LoadedConfig, head: LoadedConfig, cause: Cause, keep_set: Path
) -> LoadedConfig:
    """Return the base's configuration with what is of a cause as the head has it."""
    config, theirs = loaded.config, head.config
    update: dict[str, object] = {"keep_set": keep_set.absolute()}
    if cause is Cause.FLAGS:
        engine = config.engine.model_copy(update={"cmake": theirs.engine.cmake})
        toolchain = config.toolchain.model_copy(
            update={"api": theirs.toolchain.api, "fp16": theirs.toolchain.fp16}
        )
        update |= {"trim": theirs.trim, "engine": engine, "toolchain": toolchain}
    elif cause is Cause.TOOLCHAIN:
        toolchain = theirs.toolchain.model_copy(
            update={"api": config.toolchain.api, "fp16": config.toolchain.fp16}
        )
        update["toolchain"] = toolchain
    return replace(loaded, config=config.model_copy(update=update))


def _choose_files(
    base: Checkout, head: Checkout, moved: tuple[SourceKind, ...]
) -> Iterator[tuple[Path, str]]:
    """Yield each file's tree and its path there."""
    submodules = {*base.submodules, *head.submodules}
    for name in sorted({*base.files, *head.files}):
        tree = head if find_kind(name, submodules) in moved else base
        if name in tree.files:
            yield tree.root, name
