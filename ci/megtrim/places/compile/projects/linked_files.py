"""Files that a build linked, and its copies of them, such as the one that its tests start."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from megtrim.libs.elf.layout import ELF_MAGIC, parse_build_id
from megtrim.libs.elf.loaded import find_difference, find_other_code
from megtrim.libs.elf.needed_libraries import list_needed
from megtrim.libs.util.errors import InputError

_SHARED = ".so"
_OBJECT = ".o"


def is_elf(path: Path) -> bool:
    """A file that cannot be read is none that anybody starts."""
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(len(ELF_MAGIC)) == ELF_MAGIC
    return False


def find_copies(linked: Path, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the other files below ``folders`` that load as ``linked`` does, sorted.

    A build may strip a copy, or change the paths by which it finds libraries; it may also be a hard
    link. Symbolic links are not followed: what they lead to is found where it is.
    """
    own = linked.read_bytes()
    found = set()
    for folder in folders:
        for path in _iter_files(folder):
            if path != linked and _is_copy(own, path):
                found.add(path)
    return tuple(sorted(found))


def join_libraries(folder: Path) -> None:
    """Put links to the libraries of a build next to the files of it that need them.

    Such files look for them in their own folder alone, as what ships does.
    """
    every = sorted(folder.rglob("*"))
    libraries: dict[str, Path] = {}
    for path in every:
        if _SHARED in path.name and is_elf(path):
            libraries.setdefault(path.name, path)
    waiting = [
        path for path in every if not path.is_symlink() and path.suffix != _OBJECT and is_elf(path)
    ]
    while waiting:
        file = waiting.pop()
        for name in _list_needed(file):
            beside = file.with_name(name)
            if name in libraries and not os.path.lexists(beside):
                beside.symlink_to(os.path.relpath(libraries[name], file.parent))
                waiting.append(beside)


def _list_needed(file: Path) -> tuple[str, ...]:
    try:
        return list_needed(file)
    except InputError:
        return ()


def _iter_files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            path = Path(place, name)
            if not path.is_symlink():
                yield path


def _is_copy(own: bytes, path: Path) -> bool:
    try:
        # What a strip or another path changes is never as much as the file itself.
        likely = is_elf(path) and path.stat().st_size <= 2 * len(own)
        other = path.read_bytes() if likely else b""
    except OSError:
        return False
    if not other:
        return False
    if not find_difference(own, other):
        return True
    build_id = parse_build_id(own)
    if not build_id or build_id != parse_build_id(other):
        return False
    return not find_other_code(own, other)
