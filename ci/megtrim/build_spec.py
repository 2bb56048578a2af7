"""What a build is made from and what it yields: values that engines and toolchains share.

Pure: nothing here touches a file or starts a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from megtrim.errors import InputError


class Variant(StrEnum):
    """The builds of one engine."""

    PLAIN = "plain"
    PROFILE = "profile"
    REGION = "region"
    """Trimmed by regions alone, where the reduced one is trimmed by functions as well."""
    REDUCED = "reduced"


class Link(StrEnum):
    """The links that are made of a build's objects where functions are trimmed."""

    UNFOLDED = "unfolded"
    """Each function has bytes of its own; under an emulator it tells which run."""
    PROBED = "probed"
    """The same, and it tells by itself which run."""
    SHIPPED = "shipped"
    """Without those that never ran."""
    NAMED = "named"
    """Says which one of those a trap was."""


class Switch(StrEnum):
    """What a reduced build can do without, each by an option of the engine."""

    RTTI = "rtti"
    LOGGING = "logging"
    EXCEPTIONS = "exceptions"
    FLATBUFFERS = "flatbuffers"


MINIMUM_SIZE = (Switch.RTTI, Switch.LOGGING, Switch.EXCEPTIONS)
"""What the engine's minimum-size option switches off; FlatBuffers stay, or no model would load."""


class Relocations(StrEnum):
    """How relative relocations are packed; too old a loader kills the process, with no message."""

    NONE = "none"
    ANDROID = "android"
    RELR = "relr"


LOADED_FROM: Mapping[str, int] = {Relocations.ANDROID: 23, Relocations.RELR: 30}
"""Lowest API level whose loader takes a packing. Seen: relr ends with SIGSEGV on 23 and 26."""

PACKED = {each: (f"-Wl,--pack-dyn-relocs={each}",) for each in LOADED_FROM}
"""What lld is told for a packing."""

LOWEST_API: Mapping[str, int] = {"arm64-v8a": 21, "armeabi-v7a": 16}
"""Lowest API level of each Android ABI."""


class Linkage(StrEnum):
    """How an application takes the engine in."""

    STATIC = "static"
    SHARED = "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLibrary:
    """A library of an engine, and what a program that links it must be told."""

    linkage: Linkage
    file: str
    """Name of the file, which is also the target that builds it."""
    include: tuple[str, ...]
    """Folders of the engine's tree with its public headers."""
    whole: bool = False
    """Link what nothing refers to as well: parts of the archive register themselves."""
    needs: tuple[str, ...] = ()
    """What must stand behind it on the link line, such as ``-ldl``."""
    link_options: tuple[str, ...] = ()
    """With which the engine's own programs are linked."""

    @property
    def is_shared(self) -> bool:
        """Whether it must lie beside the programs that link it."""
        return self.linkage is Linkage.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolchainSpec:
    """What a configuration asks of a toolchain."""

    kind: str
    ndk: str = ""
    """Release of the Android NDK that is expected, such as ``r21e``; empty: any."""
    abi: str = ""
    """Android's name of the architecture; empty: the toolchain's first."""
    api: int | None = None
    """Android API level of the oldest phone; None: the lowest that the ABI has."""
    fp16: bool = False
    """Use the half-precision instructions of Armv8.2."""
    clang: int | None = None
    """Release of clang and lld that is expected; None: the first that is known to do."""
    relocations: Relocations = Relocations.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """A compiler that was found, and everything a build must be told about it."""

    kind: str
    target: str
    machine: str
    """Architecture as ``uname -m`` says it: ``aarch64``, ``x86_64``."""
    version: str
    c_compiler: tuple[str, ...]
    cxx_compiler: tuple[str, ...]
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    strip: tuple[str, ...] | None = None
    """Command that strips a file in place; None where the link strips already."""
    compiler_check: str = "content"
    """How ccache tells this compiler from another: its setting ``compiler_check``."""
    archiver: str | None = None
    ranlib: str | None = None
    archive: tuple[str, ...] = ()
    """Command that makes archives as ``ar`` does, where ``archiver`` is not said."""
    host_cxx: tuple[str, ...] = ()
    """Compiler for programs that run during the build, C++; empty: the same as ``cxx_compiler``."""
    sysroot: Path | None = None
    """Where an emulator finds the target's loader and libraries; None for static programs."""
    abi: str = ""
    """Android's name of the architecture; empty outside Android."""
    api: int = 0
    """Android API level; 0 outside Android."""
    fp16: bool = False
    ndk: str = ""
    """Root folder of the NDK, where its programs run; empty outside Android."""
    includes: str = ""
    """CMake toolchain file that the one which megtrim writes includes; empty: none."""
    settings: tuple[tuple[str, str], ...] = ()
    """CMake variables that the included file reads, name and value."""
    files: str = ""
    """Digest of the files that say what a toolchain is, beyond its version; empty: it has none."""
    image: str = ""
    """Digest or ID of the image that it lies in; empty: on this machine."""

    def identity(self) -> dict[str, str]:
        """What enters the key of a build."""
        return {
            "kind": self.kind,
            "target": self.target,
            "version": self.version,
            "compile flags": " ".join(self.compile_flags),
            "link flags": " ".join(self.link_flags),
            **{label: value for label, value in self._if_any().items() if value},
        }

    def _if_any(self) -> dict[str, str]:
        """Return what only some toolchains have: it is left out of the key where it is empty."""
        settings = " ".join(f"{name}={value}" for name, value in self.settings)
        fp16 = "on" if self.fp16 else ""
        return {"settings": settings, "fp16": fp16, "files": self.files, "image": self.image}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """Which engine: the digest of what enters the build, not a path."""

    kind: str
    generation: int
    """Of midout's header: 20190219 or 20220507."""
    digest: str
    commit: str = ""
    dirty: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildScript:
    """The engine's own build script, which is run in place of a direct CMake call."""

    path: str
    """In the tree."""
    arguments: tuple[str, ...]
    build: str
    """Folder of the tree that it builds in."""
    why: str
    """Why it is used, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Compile options, behind all others, for C and C++ sources but those in some folders."""

    options: tuple[str, ...]
    fast: tuple[str, ...]
    """Further ones where the engine compiles with ``-Ofast``, which ``options`` undo."""
    outside: tuple[str, ...]
    """Folders of the tree whose sources get neither."""

    @property
    def words(self) -> tuple[str, ...]:
        """What enters the key of a build."""
        return (*self.options, "behind -Ofast", *self.fast, "outside", *self.outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildSpec:
    """One variant to be built by CMake and Ninja in a shadow tree."""

    variant: Variant
    targets: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    """CMake cache entries, name and value."""
    link_flags: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()
    """Flags that come behind the engine's own."""
    own_link_flags: tuple[str, ...] = ()
    """For the engine's own links alone: an application beside it is linked without them."""
    source_options: SourceOptions | None = None
    script: BuildScript | None = None
    """None: CMake is called directly."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Files of the shadow tree that megtrim writes: path and text."""
    include: tuple[tuple[str, str], ...] = ()
    """Files of the folder that comes first for quoted includes: name and text."""
    forced_header: str | None = None
    """Path in the shadow tree of the header that every translation unit must have seen."""
    header_option: str = ""
    """CMake entry that is told the forced header's absolute path; empty: the tree knows it."""

    def header_entry(self, tree: Path) -> tuple[tuple[str, str], ...]:
        """Return the CMake entry that says where the header lies, for the shadow ``tree``.

        Raises InputError for a path with blanks, which the engine would paste into its flags.
        """
        if self.forced_header is None or not self.header_option:
            return ()
        path = str(tree / self.forced_header)
        if len(path.split()) != 1:
            msg = f"the header's path {path!r} has blanks, and this engine takes it apart there"
            raise InputError(msg, hint="name a folder of results without blanks: --out PATH")
        return ((self.header_option, path),)

    def with_options(self, more: Mapping[str, str | bool | int]) -> BuildSpec:
        """Return the same order with further CMake options, which win over its own."""
        added = {name: _cmake_value(value) for name, value in more.items()}
        return replace(self, options=tuple((dict(self.options) | added).items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpec:
    """One more link of a built target, beside the target itself."""

    target: str
    """Built file, such as ``load_and_run``."""
    label: str
    """Folder of the result that it goes to."""
    unfolded: bool = False
    """No function shares its bytes with another, and none is inlined at the link."""
    flags: tuple[str, ...] = ()
    """Behind the target's own."""
    sources: tuple[tuple[str, str], ...] = ()
    """Further sources, C or assembler: file name and text."""
    script: str = ""
    """Text of a linker script with assignments; empty: none."""
    emptied: tuple[str, ...] = ()
    """Functions that the script cannot reach, for they are internal: emptied in copies of what is
    linked, each in a section of its own."""
    unwind_tables: bool = True
    """Keep what serves exceptions, and debuggers where there are none."""
    named: bool = False
    """An emptied function says its place in ``emptied`` before it traps."""
    strip: bool = True
    """Leave a stripped copy, too."""
    map: bool = False
    """Leave the linker's map beside the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltSources:
    """What one build compiled in a tree where there may have been one before it."""

    predicted: tuple[str, ...] | None
    """Sources that rest on what changed, as the build before recorded it; None: it left nothing
    that tells, so all of them."""
    compiled: tuple[str, ...]
    """Sources that were compiled, as this build recorded it."""
    cpu_s: float | None
    """CPU seconds of the build's whole command; None where they are not ours to read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """What a build left: artifacts in the stage folder, and what its own records prove."""

    artifacts: tuple[tuple[str, str], ...]
    """Artifact name and path relative to the stage folder."""
    translation_units: int
    units_with_header: int
    """Translation units whose compile command forces the header in."""
    units_with_regions: int
    """Translation units whose recorded dependencies hold the ``midout.h`` that was generated."""
    rebuilt: RebuiltSources


def _cmake_value(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)
