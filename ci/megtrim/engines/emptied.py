"""Copies of a link's inputs in which functions that never ran are emptied.

The inputs themselves are the build's own, and other links go on using them.
"""

from __future__ import annotations

import mmap
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from megtrim.functions import internal, linkmap
from megtrim.recipe import LinkOrder
from megtrim.store import cannot_write

_MAGICS = (b"\x7fELF", b"!<arch>\n")
_STATIC = frozenset({"-Bstatic", "-dn", "-non_shared", "-static"})
_DYNAMIC = frozenset({"-Bdynamic", "-dy", "-call_shared"})
_MAX_SCRIPT_BYTES = 4096
_LIBRARIES = re.compile(rb"\s*INPUT\s*\(((?:\s*-l[\w+.-]+)+)\s*\)\s*")
"""A library's name that stands for others, as the Android NDK's ``libc++.a``."""
_UNWINDERS = frozenset({"libgcc_eh.a", "libgcc_real.a"})
"""They abort where they do not find tables of their own, and a message with them."""


def copies(
    argv: Sequence[str],
    *,
    build: Path,
    order: LinkOrder,
    folder: Path,
    within: Path | None = None,
) -> tuple[str, ...]:
    """Return the link command with copies in the place of inputs that differ when emptied.

    ``argv`` names inputs by paths relative to ``build``, or by ``-l``; libraries that a compiler's
    driver adds without a word stay as they are, and so do the C library and the compiler's own.
    Each copy lies in a folder of its own below ``folder``, for linkers know archives by name.
    With ``within`` only what lies below it is copied: in an image other paths are other files.
    Raises InputError for a damaged object or archive.
    """
    names = internal.numbered(order.emptied)
    made: dict[Path, str] = {}
    words = []
    for word, path in _inputs(argv, build):
        if path is None or linkmap.is_platform(path.name) or not _is_below(path, within):
            words.append(word)
            continue
        if path not in made:
            copy = folder / str(len(made)) / path.name
            made[path] = str(copy) if _edited(path, copy, names, order) else word
        words.append(made[path])
    return tuple(words)


def _is_below(path: Path, folder: Path | None) -> bool:
    return folder is None or path.resolve().is_relative_to(folder.resolve())


def _edited(path: Path, copy: Path, names: dict[bytes, int], order: LinkOrder) -> bool:
    """Make an edited copy; say whether there was anything to edit."""
    edits = internal.edits(
        path.read_bytes(),
        names,
        source=str(path),
        named=order.named,
        unwind_tables=order.unwind_tables or path.name in _UNWINDERS,
    )
    if not edits:
        return False
    try:
        copy.parent.mkdir(parents=True)
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            for at, new in edits:
                content[at : at + len(new)] = new
    except OSError as error:
        raise cannot_write(copy, error) from None
    return True


def _inputs(argv: Sequence[str], build: Path) -> Iterator[tuple[str, Path | None]]:
    """Yield each word, and the object or archive that it names; several words for some."""
    folders = _folders(argv, build)
    static = False
    for word in argv:
        if word in _STATIC or word in _DYNAMIC:
            static = word in _STATIC
        if word.startswith("-l"):
            yield from _library(word, folders, static=static)
        else:
            path = build / word
            yield word, path if not word.startswith("-") and _is_input(path) else None


def _folders(argv: Sequence[str], build: Path) -> list[Path]:
    """Return where libraries are looked for: ``-L PATH`` and ``-LPATH``."""
    said = ((word, following) for word, following in zip(argv, (*argv[1:], ""), strict=True))
    return [build / (word[2:] or following) for word, following in said if word.startswith("-L")]


def _library(
    word: str, folders: Sequence[Path], *, static: bool
) -> Iterator[tuple[str, Path | None]]:
    """Yield what stands in the place of ``-lNAME``."""
    name = word[2:]
    endings = (".a",) if static else (".so", ".a")
    spelt = (name[1:],) if name.startswith(":") else tuple(f"lib{name}{end}" for end in endings)
    paths = (folder / each for folder in folders for each in spelt)
    path = next((each for each in paths if each.is_file()), None)
    if path is None or path.suffix == ".so":
        yield word, None
    elif _is_input(path):
        yield word, path
    elif path.stat().st_size <= _MAX_SCRIPT_BYTES and (
        listed := _LIBRARIES.fullmatch(path.read_bytes())
    ):
        for each in listed[1].decode().split():
            yield from _library(each, folders, static=static)
    else:
        yield word, None


def _is_input(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGICS[1])).startswith(_MAGICS)
