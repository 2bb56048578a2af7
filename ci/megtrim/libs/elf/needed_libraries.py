"""Which loader and libraries a dynamic program needs on a device that has none.

They are read from the program itself and from a sysroot. No loader is run, because the program is
for another architecture and untrusted.
"""

import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from megtrim.libs.elf.layout import (
    DAMAGE,
    DYNAMIC,
    ELF_MAGIC,
    LOADED,
    LOADER,
    MACHINES,
    REBUILD,
    ElfHeader,
    ElfLayout,
    Segment,
    make_damage_error,
    refuse,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

_MOST_BYTES = 4 * 1024**3
_END = 0
_NEEDED = 1
_OWN = 14
_STRINGS = 5
_RUN_PATHS = (15, 29)
"""DT_RPATH and DT_RUNPATH: where a program looks for its libraries."""
_LONGEST_RUN_PATH = 64 * 1024
_MOST_ENTRIES = 4096
_MOST_LIBRARIES = 256
_MOST_LINKS = 40
_LONGEST_NAME_BYTES = 255
_NAME = re.compile(r"(?!-)(?!\.\.?$)[A-Za-z0-9._+@-]+")
_LOADER = re.compile(r"(/[A-Za-z0-9._+@-]+)+")
_FOLDERS = ("lib", "lib64", "usr/lib", "usr/lib64")
_TRIPLETS = {
    "i686": ("i386-linux-gnu", "i686-linux-android"),
    "aarch64": ("aarch64-linux-gnu", "aarch64-linux-android", "aarch64-linux-musl"),
    "armv7l": ("arm-linux-gnueabihf", "arm-linux-androideabi"),
    "x86_64": ("x86_64-linux-gnu", "x86_64-linux-android", "x86_64-linux-musl"),
}
_ANDROID_LOADERS = "/system/bin/"
_MUSL_LOADER = "ld-musl-"
_MUSL_ITSELF = ("libc.so", "libc.musl-")
_NONE: Mapping[str, Path] = MappingProxyType({})
SHARED_RUNTIME = "libc++_shared.so"
_ENTRY_POINTS = frozenset(
    {
        "__cxa_allocate_exception",
        "__cxa_begin_catch",
        "__cxa_end_catch",
        "__cxa_throw",
        "__gxx_personality_v0",
        "_ZdaPv",
        "_ZdlPv",
        "_Znaj",
        "_Znam",
        "_Znwj",
        "_Znwm",
    }
)


class Needs(Value):
    """What must be installed next to a program if the device has no loader for it."""

    loader: str = ""
    """Path in the program, such as ``/lib/ld-linux-aarch64.so.1``; empty: it needs none."""
    files: tuple[tuple[str, Path], ...] = ()

    @property
    def loader_name(self) -> str:
        return PurePosixPath(self.loader).name

    @property
    def of_android(self) -> bool:
        return self.loader.startswith(_ANDROID_LOADERS)


class _Links(Value):
    machine: int
    is_wide: bool
    loader: str
    needed: tuple[str, ...]
    own: str = ""
    """Its own name, by which programs need it; empty: none."""
    run_paths: tuple[str, ...] = ()


def read_own_name(library: Path) -> str:
    """Return the name by which programs load a library; empty: it says none, or is no ELF file."""
    links = _read(library)
    return "" if links is None else links.own


def read_loader(program: Path) -> str:
    """Return the loader that a program names; empty: it is static, or no ELF file."""
    links = _read(program)
    return "" if links is None else links.loader


def list_needed(file: Path) -> tuple[str, ...]:
    """Return the names of the libraries that a program or a library asks for itself."""
    links = _read(file)
    return () if links is None else links.needed


def list_found_in(file: Path, tree: Path) -> tuple[str, ...]:
    """Return which libraries a program finds below a folder, by a path that it holds.

    One that holds what no loader of a device takes, such as a path in place of a name, finds none.
    """
    with suppress(InputError, OSError):
        links = _read(file)
        return () if links is None else tuple(_iter_found(links, tree))
    return ()


def _iter_found(links: _Links, tree: Path) -> Iterator[str]:
    folders = [Path(each) for text in links.run_paths for each in text.split(":")]
    own = [each for each in folders if each.is_relative_to(tree)]
    for name in links.needed:
        if any((each / name).is_file() for each in own):
            yield name


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


class _Search(Value):
    program: Path
    links: _Links
    sysroot: Path | None
    companions: Mapping[str, Path]

    def closure(self) -> Iterator[tuple[str, Path]]:
        # A program may also load what is next to it while it runs.
        loaded = (name for name in self.companions if name.endswith(".so"))
        waiting = [(name, "") for name in (*self.links.needed, *loaded)]
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
        if self.sysroot is None:
            return None
        triplets = _TRIPLETS.get(MACHINES.get(self.links.machine, ""), ())
        named = (f"{folder}/{triplet}" for folder in _FOLDERS for triplet in ("", *triplets))
        for folder in (*first, *map(PurePosixPath, named)):
            file = _inside(self.sysroot, folder / name)
            if file is not None and self._fits(file):
                return file
        return None

    def _fits(self, file: Path) -> bool:
        # A loader skips libraries of another machine, and linker scripts.
        links = _read(file)
        wanted = (self.links.machine, self.links.is_wide)
        return links is not None and (links.machine, links.is_wide) == wanted

    def _is_loader(self, name: str) -> bool:
        loader = PurePosixPath(self.links.loader).name
        # musl's loader is its C library, under any of its names.
        return name == loader or (loader.startswith(_MUSL_LOADER) and name.startswith(_MUSL_ITSELF))


def _inside(sysroot: Path, name: PurePosixPath) -> Path | None:
    # Absolute links are relative to the sysroot, which is the device's root folder.
    path = sysroot
    waiting = list(name.parts)
    links = 0
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
    expected = "a program or library"
    return _parse(read_bytes(path, most_bytes=_MOST_BYTES, expected=expected), str(path))


def _parse(data: bytes, source: str) -> _Links | None:
    if data[: len(ELF_MAGIC)] != ELF_MAGIC:
        return None
    try:
        header = ElfHeader(data)
        loader = next((segment for segment in header.segments if segment.kind == LOADER), None)
        dynamic = next((segment for segment in header.segments if segment.kind == DYNAMIC), None)
        return _Links(
            machine=header.machine,
            is_wide=header.is_wide,
            loader=_read_loader(data, loader) if loader else "",
            needed=_read_names(data, dynamic, header, _NEEDED) if dynamic else (),
            own="".join(_read_names(data, dynamic, header, _OWN)[:1]) if dynamic else "",
            run_paths=_read_run_paths(data, dynamic, header) if dynamic else (),
        )
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=REBUILD) from None


def _read_loader(data: bytes, segment: Segment) -> str:
    loader = _text(data, segment.offset)
    if not _LOADER.fullmatch(loader):
        refuse(f"it names the loader {loader!r}")
    return loader


def _read_names(data: bytes, dynamic: Segment, header: ElfHeader, wanted: int) -> tuple[str, ...]:
    places = _find_texts(data, dynamic, header, (wanted,))
    names = tuple(_text(data, place) for place in places)
    for name in names:
        if not _NAME.fullmatch(name):
            refuse(f"it needs a library named {name!r}")
    return names


def _read_run_paths(data: bytes, dynamic: Segment, header: ElfHeader) -> tuple[str, ...]:
    places = _find_texts(data, dynamic, header, _RUN_PATHS)
    texts = (data[place : place + _LONGEST_RUN_PATH].partition(b"\0")[0] for place in places)
    return tuple(text.decode("utf-8", "surrogateescape") for text in texts)


def _find_texts(
    data: bytes, dynamic: Segment, header: ElfHeader, wanted: Sequence[int]
) -> tuple[int, ...]:
    """Return where in the file the texts of entries with these tags begin."""
    table = None
    offsets = []
    entry = struct.Struct("<QQ" if header.is_wide else "<II")
    for number in range(min(_MOST_ENTRIES, dynamic.size_bytes // entry.size)):
        tag, value = entry.unpack_from(data, dynamic.offset + number * entry.size)
        if tag == _END:
            break
        if tag == _STRINGS:
            table = _find_offset(value, header.segments)
        elif tag in wanted:
            offsets.append(value)
    if table is None:
        if offsets:
            refuse("it needs libraries, but has no table of their names")
        return ()
    return tuple(table + offset for offset in offsets)


def _find_offset(address: int, segments: Sequence[Segment]) -> int | None:
    for each in segments:
        if each.kind == LOADED and each.address <= address < each.address + each.size_bytes:
            return each.offset + address - each.address
    return None


def _text(data: bytes, offset: int) -> str:
    text, end, _ = data[offset : offset + _LONGEST_NAME_BYTES + 1].partition(b"\0")
    if not end:
        refuse(f"a name in it is longer than {_LONGEST_NAME_BYTES} bytes")
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


class CxxRuntime(Value):
    is_shared: bool
    """It is libc++_shared.so, that of the whole app."""
    exported: tuple[str, ...]
    """Functions of a runtime of its own, NDK's libc++, that it exports."""


def find_cxx_runtime(data: bytes, *, source: str) -> CxxRuntime:
    """Two libc++ in one process disturb each other if the functions of either can be called in
    place of the other's. Raises InputError naming ``source``.
    """
    links = _parse(data, source)
    try:
        names = {symbol.name for symbol in ElfLayout(data).dynamic_symbols()}
    except DAMAGE as error:
        raise make_damage_error(source, error, hint=REBUILD) from None
    return CxxRuntime(
        is_shared=links is not None and SHARED_RUNTIME in links.needed,
        exported=tuple(sorted(names & _ENTRY_POINTS)),
    )
