"""Which objects and archives a link's words name, and where they can be read here.

In an image other paths are other files: what a link takes from there is copied out first.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from megtrim.engines.link.invocation import ASK_TIMEOUT_S, LinkEnvironment
from megtrim.errors import InfrastructureFailure
from megtrim.store import cannot_write

Here = Callable[[Path], Path]
"""From a path as the linker has it to the same file's on this machine, where there is one."""

_MAGICS = (b"\x7fELF", b"!<arch>\n")
_STATIC = frozenset({"-Bstatic", "-dn", "-non_shared", "-static"})
_DYNAMIC = frozenset({"-Bdynamic", "-dy", "-call_shared"})
_MAX_SCRIPT_BYTES = 4096
_LIBRARIES = re.compile(rb"\s*INPUT\s*\(((?:\s*-l[\w+.-]+)+)\s*\)\s*")
"""A library's name that stands for others, as the Android NDK's ``libc++.a``."""


def resolve_argv(argv: Sequence[str], bench: LinkEnvironment) -> Iterator[tuple[str, Path | None]]:
    """Yield each word, and the object or archive that it names; several words for some.

    Paths are relative to the build folder, or ``-l`` names them; what is told can be read.
    """
    here = _from_image(argv, bench) if bench.toolchain.image else lambda path: path
    yield from _resolve_paths(argv, bench.build, here)


def _resolve_paths(
    argv: Sequence[str], build: Path, here: Here
) -> Iterator[tuple[str, Path | None]]:
    folders = _folders(argv, build)
    static = False
    for word in argv:
        if word in _STATIC or word in _DYNAMIC:
            static = word in _STATIC
        if word.startswith("-l"):
            yield from _library(word, folders, here, static=static)
        elif word.startswith("-"):
            yield word, None
        else:
            path = here(build / word)
            yield word, path if _is_input(path) else None


def _from_image(argv: Sequence[str], bench: LinkEnvironment) -> Here:
    """Copy out of the bench's image what the words name outside of the tree.

    What stands for other libraries names more of them, so it goes in rounds until all is there.
    Where ``..`` leaves a symbolic link to a folder, a file is not found: it is then not edited.
    """
    asked: set[str] = set()
    mirror = bench.scratch / "image"
    tree = bench.tree.resolve()

    def here(path: Path) -> Path:
        if path.resolve().is_relative_to(tree):
            return path
        whole = os.path.normpath(path)
        asked.add(whole)
        return mirror / whole.lstrip("/")

    copied: set[str] = set()
    while True:
        list(_resolve_paths(argv, bench.build, here))
        if asked == copied:
            return here
        _copy_out(sorted(asked - copied), mirror, bench)
        copied |= asked


def _copy_out(paths: Sequence[str], mirror: Path, bench: LinkEnvironment) -> None:
    """Copy those of the image's files that are there; each gets its folders below ``mirror``."""
    try:
        mirror.mkdir(exist_ok=True)
    except OSError as error:
        raise cannot_write(mirror, error) from None
    # It ends with 1 where one is not there.
    find = ("find", "-L", *paths, "-maxdepth", "0", "-type", "f", "-readable")
    there = _capture_stdout(find, bench, (0, 1)).split("\n")
    if copied := sorted(set(paths).intersection(there)):
        # Folders that nobody may write to would be in the way of what comes next.
        how = ("--dereference", "--parents", "--no-preserve=mode")
        _capture_stdout(("cp", *how, "--target-directory", str(mirror), "--", *copied), bench, (0,))


def _capture_stdout(
    argv: tuple[str, ...], bench: LinkEnvironment, statuses: Collection[int]
) -> str:
    # As two streams: from a container, complaints may come in the middle of what is said.
    outcome = bench.run(argv, ASK_TIMEOUT_S, merged=False)
    if outcome.timed_out or outcome.rc not in statuses:
        why = outcome.stderr.rstrip().rpartition("\n")[2] or f"{argv[0]} ended with {outcome.rc}"
        msg = f"libraries cannot be copied out of {bench.processes.where}: {why}"
        raise InfrastructureFailure(msg, hint=f"the log is {bench.log}")
    return outcome.stdout


def _folders(argv: Sequence[str], build: Path) -> list[Path]:
    """Return where libraries are looked for: ``-L PATH`` and ``-LPATH``."""
    said = ((word, following) for word, following in zip(argv, (*argv[1:], ""), strict=True))
    return [build / (word[2:] or following) for word, following in said if word.startswith("-L")]


def _library(
    word: str, folders: Sequence[Path], here: Here, *, static: bool
) -> Iterator[tuple[str, Path | None]]:
    """Yield what stands in the place of ``-lNAME``."""
    name = word[2:]
    endings = (".a",) if static else (".so", ".a")
    spelt = (name[1:],) if name.startswith(":") else tuple(f"lib{name}{end}" for end in endings)
    paths = (here(folder / each) for folder in folders for each in spelt)
    path = next((each for each in paths if each.is_file()), None)
    if path is None or path.suffix == ".so":
        yield word, None
    elif _is_input(path):
        yield word, path
    elif path.stat().st_size <= _MAX_SCRIPT_BYTES and (
        listed := _LIBRARIES.fullmatch(path.read_bytes())
    ):
        for each in listed[1].decode().split():
            yield from _library(each, folders, here, static=static)
    else:
        yield word, None


def _is_input(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGICS[1])).startswith(_MAGICS)
