"""Which loader and libraries a dynamic program needs on a device that has none.

They are read from the program itself and from a sysroot. No loader is run, because the program is
for another architecture and untrusted.
"""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO, Any

from elftools.common.exceptions import ELFError
from elftools.common.utils import struct_parse
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from megtrim.errors import InputError

_MAGIC = b"\x7fELF"
_MOST_SEGMENTS = 256
_MOST_ENTRIES = 4096
_MOST_LIBRARIES = 256
_MOST_LINKS = 40
_LONGEST_NAME_BYTES = 255
_NAME = re.compile(r"(?!-)(?!\.\.?$)[A-Za-z0-9._+@-]+")
_LOADER = re.compile(r"(/[A-Za-z0-9._+@-]+)+")
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")
_TRIPLETS = {
    "EM_386": ("i386-linux-gnu", "i686-linux-android"),
    "EM_AARCH64": ("aarch64-linux-gnu", "aarch64-linux-android", "aarch64-linux-musl"),
    "EM_ARM": ("arm-linux-gnueabihf", "arm-linux-androideabi"),
    "EM_X86_64": ("x86_64-linux-gnu", "x86_64-linux-android", "x86_64-linux-musl"),
}
_ANDROID_LOADERS = "/system/bin/"
_MUSL_LOADER = "ld-musl-"
_MUSL_ITSELF = ("libc.so", "libc.musl-")
_NONE: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What must be installed next to a program if the device has no loader for it."""

    loader: str = ""
    """Path in the program, such as ``/lib/ld-linux-aarch64.so.1``; empty: it needs none."""
    files: tuple[tuple[str, Path], ...] = ()
    """Name next to the program, and file: the loader by its last name, and all libraries."""

    @property
    def loader_name(self) -> str:
        """Return the loader's name next to the program."""
        return PurePosixPath(self.loader).name

    @property
    def of_android(self) -> bool:
        """Return whether the loader is Android's: only the phone's own may be used."""
        return self.loader.startswith(_ANDROID_LOADERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Links:
    machine: str
    bits: int
    loader: str
    needed: tuple[str, ...]


def read_loader(program: Path) -> str:
    """Return the loader that a program names; empty if it is static, or not an ELF file.

    Raises InputError for a damaged program, and for one that cannot be read.
    """
    links = _read(program)
    return "" if links is None else links.loader


def read_needs(
    program: Path, sysroot: Path | None, companions: Mapping[str, Path] = _NONE
) -> Needs:
    """Return a program's loader and all libraries, those of its libraries included.

    ``companions`` are files that are already next to the program, by their names there. Raises
    InputError that names a library which is in neither. On Android, what the sysroot does not have
    is part of the phone.
    """
    links = _read(program)
    if links is None or not links.loader:
        return Needs()
    search = _Search(program=program, links=links, sysroot=sysroot, companions=companions)
    found = dict(search.closure())
    needs = Needs(loader=links.loader, files=tuple(sorted(found.items())))
    if needs.of_android:
        return needs
    if sysroot is None:
        raise _no_sysroot(program, links.loader)
    loader = search.find(needs.loader_name, (PurePosixPath(links.loader.lstrip("/")).parent,))
    if loader is None:
        raise _missing(program, needs.loader_name, "", sysroot)
    found[needs.loader_name] = loader
    return Needs(loader=links.loader, files=tuple(sorted(found.items())))


def parse_needed_names(data: bytes, *, source: str) -> tuple[str, ...]:
    """Return the libraries that a linked file itself names; none if it is not an ELF file.

    Raises InputError naming ``source`` for a damaged file.
    """
    links = _parse(io.BytesIO(data), source)
    return () if links is None else links.needed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    program: Path
    links: _Links
    sysroot: Path | None
    companions: Mapping[str, Path]

    def closure(self) -> Iterator[tuple[str, Path]]:
        """Yield name and file of every library that must be installed, each once."""
        waiting = [(name, "") for name in self.links.needed]
        seen: set[str] = set()
        while waiting:
            name, by = waiting.pop(0)
            if name in seen or self._is_loader(name):
                continue
            seen.add(name)
            if len(seen) > _MOST_LIBRARIES:
                msg = f"{self.program}: needs more than {_MOST_LIBRARIES} libraries"
                raise InputError(msg, hint="is it a complete program?")
            file = self.companions.get(name) or self.find(name)
            if file is None:
                if self.links.loader.startswith(_ANDROID_LOADERS):
                    continue
                if self.sysroot is None:
                    raise _no_sysroot(self.program, self.links.loader)
                raise _missing(self.program, name, by, self.sysroot)
            if name not in self.companions:
                yield name, file
            own = _read(file)
            waiting += ((each, name) for each in (own.needed if own else ()))

    def find(self, name: str, first: tuple[PurePosixPath, ...] = ()) -> Path | None:
        """Return the library of that name and of the program's machine in the sysroot."""
        if self.sysroot is None:
            return None
        triplets = _TRIPLETS.get(self.links.machine, ())
        named = (f"{folder}/{triplet}" for folder in _FOLDERS for triplet in ("", *triplets))
        for folder in (*first, *map(PurePosixPath, named)):
            file = _inside(self.sysroot, folder / name)
            if file is not None and self._fits(file):
                return file
        return None

    def _fits(self, file: Path) -> bool:
        # A loader skips libraries of another machine, and linker scripts.
        links = _read(file)
        return links is not None and (links.machine, links.bits) == (
            self.links.machine,
            self.links.bits,
        )

    def _is_loader(self, name: str) -> bool:
        loader = PurePosixPath(self.links.loader).name
        # musl's loader is its C library, under any of its names.
        return name == loader or (loader.startswith(_MUSL_LOADER) and name.startswith(_MUSL_ITSELF))


def _inside(sysroot: Path, name: PurePosixPath) -> Path | None:
    """Return the plain file at a path of the sysroot, following links within the sysroot."""
    # Absolute links are relative to the sysroot, which is the device's root folder.
    path, waiting, links = sysroot, list(name.parts), 0
    while waiting:
        part = waiting.pop(0)
        if part in {"/", "."}:
            path = sysroot if part == "/" else path
        elif part == "..":
            path = path if path == sysroot else path.parent
        elif (path / part).is_symlink():
            links += 1
            if links > _MOST_LINKS:
                return None
            waiting = [*PurePosixPath((path / part).readlink()).parts, *waiting]
        else:
            path /= part
    return path if path.is_file() else None


def _read(path: Path) -> _Links | None:
    """Return the loader and libraries that a file names; None if it is not an ELF file."""
    with _open_binary(path) as stream:
        return _parse(stream, str(path))


def _parse(stream: IO[bytes], source: str) -> _Links | None:
    if stream.read(len(_MAGIC)) != _MAGIC:
        return None
    try:
        return _links(ELFFile(stream))
    except (
        *(OSError, ELFError, ConstructError, UnicodeError, ValueError, OverflowError),
        *(AssertionError, AttributeError, LookupError, TypeError, MemoryError),
    ) as error:
        # The library trusts its input: its exceptions depend on what is damaged. An
        # impossible offset is an invalid argument (EINVAL) to the system.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        why = f": {error}" if type(error) is ValueError else ""
        msg = f"{source}: a damaged ELF file{why}"
        raise InputError(msg, hint="build or fetch the file again") from None


@contextmanager
def _open_binary(path: Path) -> Iterator[IO[bytes]]:
    try:
        if not path.is_file():
            msg = f"{path}: found no plain file, expected a program or library"
            raise InputError(msg, hint="build it, or name another one")
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg, hint="name a built program or library") from None


def _links(elf: Any) -> _Links:
    if elf.num_segments() > _MOST_SEGMENTS:
        msg = f"it has {elf.num_segments()} segments"
        raise ValueError(msg)
    headers = [elf.get_segment(number).header for number in range(elf.num_segments())]
    loader, needed = "", tuple[str, ...]()
    for header in headers:
        if header["p_type"] == "PT_INTERP":
            loader = _text(elf.stream, header["p_offset"])
            if not _LOADER.fullmatch(loader):
                msg = f"it names the loader {loader!r}"
                raise ValueError(msg)
        elif header["p_type"] == "PT_DYNAMIC":
            needed = _read_needed_names(elf, header, headers)
    return _Links(
        machine=str(elf["e_machine"]), bits=int(elf.elfclass), loader=loader, needed=needed
    )


def _read_needed_names(elf: Any, dynamic: Any, headers: list[Any]) -> tuple[str, ...]:
    """Return the names of the libraries that a dynamic segment lists."""
    table, offsets = None, []
    entry_bytes = elf.structs.Elf_Dyn.sizeof()
    for number in range(min(_MOST_ENTRIES, dynamic["p_filesz"] // entry_bytes)):
        place = dynamic["p_offset"] + number * entry_bytes
        entry = struct_parse(elf.structs.Elf_Dyn, elf.stream, stream_pos=place)
        if entry["d_tag"] == "DT_NULL":
            break
        if entry["d_tag"] == "DT_STRTAB":
            table = _offset(entry["d_val"], headers)
        elif entry["d_tag"] == "DT_NEEDED":
            offsets.append(entry["d_val"])
    if table is None:
        if offsets:
            msg = "it needs libraries, but has no table of their names"
            raise ValueError(msg)
        return ()
    names = tuple(_text(elf.stream, table + offset) for offset in offsets)
    for name in names:
        if not _NAME.fullmatch(name):
            msg = f"it needs a library named {name!r}"
            raise ValueError(msg)
    return names


def _offset(address: int, headers: list[Any]) -> int | None:
    """Return the file offset of an address of the running program."""
    for header in headers:
        start = header["p_vaddr"]
        if header["p_type"] == "PT_LOAD" and start <= address < start + header["p_filesz"]:
            return int(header["p_offset"] + address - start)
    return None


def _text(stream: IO[bytes], offset: int) -> str:
    stream.seek(offset)
    text, end, _ = stream.read(_LONGEST_NAME_BYTES + 1).partition(b"\0")
    if not end:
        msg = f"a name in it is longer than {_LONGEST_NAME_BYTES} bytes"
        raise ValueError(msg)
    return text.decode("ascii", "backslashreplace")


def _no_sysroot(program: Path, loader: str) -> InputError:
    msg = f"{program.name} needs the loader {loader}, which the device does not have"
    hint = "link it statically, or name the target's system files as `sysroot` of the device"
    return InputError(msg, hint=hint)


def _missing(program: Path, name: str, by: str, sysroot: Path) -> InputError:
    through = f" (through {by})" if by else ""
    msg = f"{program.name} needs {name}{through}, which is not in the sysroot {sysroot}"
    hint = "link it statically, or name a sysroot that has it as `sysroot` of the device"
    return InputError(msg, hint=hint)
