"""Makes a folder of a keep set that is one file, as megtrim wrote it at first."""

from __future__ import annotations

from pathlib import Path

from megtrim.config.load import LoadedConfig, load_config
from megtrim.config.templates.workflows import REFRESH
from megtrim.errors import InputError
from megtrim.input_files import read_text
from megtrim.midout.keepset import read_keep_set
from megtrim.pipeline.committed_keepset import write_committed
from megtrim.store import write_atomically

_SUFFIX = ".json"
_LARGEST_TEXT_BYTES = 1024 * 1024


def convert_keep_set(config: Path) -> str:
    """Write the folder, name it where the file was named, remove the file; return what was done.

    Raises InputError before anything is written.
    """
    loaded = load_config(config)
    old = _find_file(loaded)
    new = old.removesuffix(_SUFFIX)
    if loaded.resolve(Path(new)).exists():
        msg = f"{new} exists already"
        raise InputError(msg, hint=f"remove it, or {old}")
    keep = read_keep_set(loaded.resolve(Path(old)), shown=old)
    edited = dict(_rename(loaded, old, new))
    write_committed(loaded.resolve(Path(new)), keep)
    for path, text in edited.items():
        if text:
            write_atomically(path, text)
        else:
            path.unlink()
    loaded.resolve(Path(old)).unlink()
    also = "".join(f", {path.name}" for path in edited)
    return f"{old} is now {new}/, a file for each scenario: commit that{also}"


def _find_file(loaded: LoadedConfig) -> str:
    """Return the file's path as the configuration names it, or would have named it."""
    named = str(loaded.config.keep_set)
    for path in (named, named + _SUFFIX):
        if loaded.resolve(Path(path)).is_file():
            if path.endswith(_SUFFIX):
                return path
            msg = f"{path}: found a name without {_SUFFIX}, which the folder cannot have, too"
            raise InputError(msg, hint=f"rename it to {path}{_SUFFIX}, here and in {loaded.path}")
    msg = f"{named}: found no keep set in one file"
    raise InputError(msg, hint="there is nothing to convert")


def _rename(loaded: LoadedConfig, old: str, new: str) -> list[tuple[Path, str]]:
    """Return what other files say then: the configuration, .gitattributes, and the refresh."""
    line = loaded.line("keep_set") - 1
    lines = _read(loaded.path).splitlines(keepends=True)
    edited = []
    if str(loaded.config.keep_set) == old:
        if lines[line].count(old) != 1:
            msg = f"{loaded.where('keep_set')}: found no {old} on this line"
            raise InputError(msg, hint=f"write keep_set: {old} on a line of its own")
        lines[line] = lines[line].replace(old, new)
        edited.append((loaded.path, "".join(lines)))
    for top in (loaded.folder, *loaded.folder.parents):
        if (top / ".git").exists():
            return [*edited, *_rename_in(top, loaded.folder.relative_to(top) / old)]
    return edited


def _rename_in(top: Path, old: Path) -> list[tuple[Path, str]]:
    merging = f"{old.as_posix()} merge=union"
    texts = []
    for path in (top / ".gitattributes", top / REFRESH):
        text = _read(path) if path.is_file() else ""
        lines = [each for each in text.splitlines(keepends=True) if each.strip() != merging]
        new = "".join(lines).replace(
            f"keep-set: {old.as_posix()}", f"keep-set: {old.with_suffix('').as_posix()}"
        )
        if new != text:
            texts.append((path, new))
    return texts


def _read(path: Path) -> str:
    return read_text(path, most_bytes=_LARGEST_TEXT_BYTES, expected="a short text")
