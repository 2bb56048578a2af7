"""What a build is of, what it is made from and what it yields: values that rooms share.

Pure: nothing here touches a file or starts a program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path

from megtrim.util.commit_digest import COMMIT_DIGEST
from megtrim.util.errors import InputError
from megtrim.util.value import Value

UNSTRIPPED = "unstripped"
"""Folder of a build's folder for what ships as it was before it was stripped."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


class Variant(StrEnum):
    """The builds of one engine."""

    PLAIN = "plain"
    PROFILE = "profile"
    REGION = "region"
    """Trimmed by regions only; built if the reduced variant is trimmed by functions as well."""
    REDUCED = "reduced"
    BASE = "base"
    """The plain build of an earlier commit, made by another run; times are compared with it."""


class Link(StrEnum):
    """The links that are made of a build's objects if functions are trimmed."""

    UNFOLDED = "unfolded"
    """Each function has bytes of its own, so an emulator can record which ones run."""
    PROBED = "probed"
    """Like unfolded, but the program itself records which functions run."""
    SHIPPED = "shipped"
    """Without the functions that never ran."""
    NAMED = "named"
    """Names the function that a trap replaced."""
    REFERENCED = "referenced"
    """Holds the relocations that the linker applied, which show what refers to what."""


class StubForm(StrEnum):
    """What an emptied function does."""

    SHARED = "shared"
    """It traps; a linker may fold it with others."""
    NUMBERED = "numbered"
    """It traps with an instruction of its own, which is its crash id."""
    REPORTING = "reporting"
    """It prints its number before it traps."""


class Switch(StrEnum):
    """What a reduced build can leave out, each by an option of the engine."""

    RTTI = "rtti"
    LOGGING = "logging"
    EXCEPTIONS = "exceptions"
    FLATBUFFERS = "flatbuffers"


MINIMUM_SIZE = (Switch.RTTI, Switch.LOGGING, Switch.EXCEPTIONS)
"""What the engine's minimum-size option switches off; FlatBuffers stay, or no model would load."""


class Relocations(StrEnum):
    """How relative relocations are packed; an older loader kills the process without a message."""

    NONE = "none"
    ANDROID = "android"
    RELR = "relr"


LOADED_FROM: Mapping[str, int] = {Relocations.ANDROID: 23, Relocations.RELR: 30}
"""Lowest API level whose loader reads a packing. Seen: relr causes SIGSEGV on 23 and 26."""

PACKED = {each: (f"-Wl,--pack-dyn-relocs={each}",) for each in LOADED_FROM}
"""The option of lld for each packing."""

LOWEST_API: Mapping[str, int] = {"arm64-v8a": 21, "armeabi-v7a": 16}
"""Lowest API level of each Android ABI."""


class Linkage(StrEnum):
    """How an application links the engine."""

    STATIC = "static"
    SHARED = "shared"


class EngineLibrary(Value):
    """A library of an engine, and what a program needs to link it."""

    linkage: Linkage
    file: str
    """Name of the file, which is also the target that builds it."""
    include: tuple[str, ...]
    """Folders with its public headers, relative to the engine's tree."""
    copies: tuple[tuple[str, str], ...] = ()
    """Headers that others include as if they were next to them: path there, and in the tree."""
    whole: bool = False
    """Link unreferenced objects too: parts of the archive register themselves."""
    needs: tuple[str, ...] = ()
    """What must follow it on the link line, such as ``-ldl``."""
    link_options: tuple[str, ...] = ()
    """Options that the engine's own programs are linked with."""

    @property
    def is_shared(self) -> bool:
        """Whether it must be shipped next to the programs that link it."""
        return self.linkage is Linkage.SHARED


class Toolchain(Value):
    """A compiler that was found, and everything a build needs to know about it."""

    kind: str
    target: str
    machine: str
    """Architecture as ``uname -m`` prints it: ``aarch64``, ``x86_64``."""
    version: str
    c_compiler: tuple[str, ...]
    cxx_compiler: tuple[str, ...]
    compile_flags: tuple[str, ...] = ()
    link_flags: tuple[str, ...] = ()
    strip: tuple[str, ...] | None = None
    """Command that strips a file in place; None if the link strips already."""
    compiler_check: str = "content"
    """How ccache identifies this compiler: its setting ``compiler_check``."""
    archiver: str | None = None
    ranlib: str | None = None
    archive: tuple[str, ...] = ()
    """Command that makes archives as ``ar`` does, used if ``archiver`` is None."""
    host_cxx: tuple[str, ...] = ()
    """C++ compiler for programs that run during the build; empty: ``cxx_compiler``."""
    sysroot: Path | None = None
    """Folder in which an emulator finds the target's loader and libraries; None if static."""
    abi: str = ""
    """Android's name of the architecture; empty outside Android."""
    api: int = 0
    """Android API level; 0 outside Android."""
    fp16: bool = False
    ndk: str = ""
    """Root folder of the NDK, as its programs see it; empty outside Android."""
    includes: str = ""
    """CMake toolchain file that megtrim's own file includes; empty: none."""
    settings: tuple[tuple[str, str], ...] = ()
    """CMake variables that the included file reads, name and value."""
    files: str = ""
    """Digest of files that identify the toolchain beyond its version; empty: none."""
    image: str = ""
    """Digest or ID of the image that contains it; empty: on this machine."""

    def identity(self) -> dict[str, str]:
        """Return what enters the key of a build."""
        return {
            "kind": self.kind,
            "target": self.target,
            "version": self.version,
            "compile flags": " ".join(self.compile_flags),
            "link flags": " ".join(self.link_flags),
            **{label: value for label, value in self._if_any().items() if value},
        }

    def _if_any(self) -> dict[str, str]:
        """Return what only some toolchains have; empty values are left out of the key."""
        settings = " ".join(f"{name}={value}" for name, value in self.settings)
        fp16 = "on" if self.fp16 else ""
        return {"settings": settings, "fp16": fp16, "files": self.files, "image": self.image}


class EngineIdentity(Value):
    """Identifies an engine by the digest of what enters the build, not by a path."""

    kind: str
    generation: int
    """Of midout's header: 20190219 or 20220507."""
    digest: str
    commit: str = ""
    dirty: tuple[str, ...] = ()


class Origin(Value):
    """What a report is of: a project, its commit and pull request, and the megtrim that made it.

    The date is the commit's, so that equal commits have equal reports. What is not known is empty.
    """

    project: str = ""
    """The repository's name; outside of git the name of the folder of megtrim.yaml."""
    config: str = ""
    """Path of megtrim.yaml from the top of the repository, outside of git its name."""
    commit: str = ""
    """Empty unless the commit holds the configuration."""
    committed_at: str = ""
    """When the commit was made, in UTC, such as ``2027-01-31T12:00:00Z``."""
    changed: bool = False
    """Files of the configuration's folder, or that it names elsewhere, are not as committed."""
    pull_request: int = 0
    """Its number; 0: none."""
    megtrim: str = ""
    """The version of megtrim."""

    def __post_init__(self) -> None:
        for name, shape, expected in (
            ("commit", COMMIT_DIGEST, "a commit"),
            ("committed_at", _TIME, "a time in UTC such as 2027-01-31T12:00:00Z"),
        ):
            text = getattr(self, name)
            if text and not shape.fullmatch(text):
                msg = f"{name}: found {text[:60]!r}, expected {expected}"
                raise ValueError(msg)

    def confirm(self, known: Origin) -> Origin:
        """Return it with what a job knows by itself, which outweighs what a build says."""
        same = known.commit in ("", self.commit)
        return Origin(
            project=known.project or self.project,
            config=known.config or self.config,
            commit=known.commit or self.commit,
            committed_at=self.committed_at if same else known.committed_at,
            changed=self.changed and same,
            pull_request=known.pull_request or self.pull_request,
            megtrim=self.megtrim or known.megtrim,
        )


class BuildScript(Value):
    """The engine's own build script, which is run instead of CMake."""

    path: str
    """Relative to the tree."""
    arguments: tuple[str, ...]
    build: str
    """Build folder, relative to the tree."""
    why: str
    """Why it is used, for messages."""


class SourceOptions(Value):
    """Compile options that follow all others, for C and C++ sources outside some folders."""

    options: tuple[str, ...]
    fast: tuple[str, ...]
    """Further options where the engine compiles with ``-Ofast``, which ``options`` undo."""
    outside: tuple[str, ...]
    """Folders of the tree whose sources get none of these options."""

    @property
    def words(self) -> tuple[str, ...]:
        """What enters the key of a build."""
        return (*self.options, "behind -Ofast", *self.fast, "outside", *self.outside)


class BuildSpec(Value):
    """One variant to build with CMake and Ninja in a shadow tree."""

    variant: Variant
    targets: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    """CMake cache entries, name and value."""
    places: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Entries that a person asks for, and where, ``FILE:LINE: KEY``: CMake must use them."""
    link_flags: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()
    """Flags that follow the engine's own."""
    own_link_flags: tuple[str, ...] = ()
    """For the engine's own links only; applications are linked without them."""
    source_options: SourceOptions | None = None
    script: BuildScript | None = None
    """None: CMake is called directly."""
    overrides: tuple[tuple[str, str], ...] = ()
    """Files of the shadow tree that megtrim writes: path and text."""
    include: tuple[tuple[str, str], ...] = ()
    """Files of a folder that is searched first for quoted includes: name and text."""
    forced_header: str | None = None
    """Path in the shadow tree of the header that every translation unit must include."""
    header_option: str = ""
    """CMake entry for the forced header's absolute path; empty: the tree knows the path."""

    def header_entry(self, tree: Path) -> tuple[tuple[str, str], ...]:
        """Return the CMake entry with the header's path in the shadow ``tree``, if there is one.

        Raises InputError for a path with blanks: the engine would paste it into its flags.
        """
        if self.forced_header is None or not self.header_option:
            return ()
        path = str(tree / self.forced_header)
        if len(path.split()) != 1:
            msg = f"the header's path {path!r} has blanks, and this engine splits it there"
            raise InputError(msg, hint="name a folder of results without blanks: --out PATH")
        return ((self.header_option, path),)

    def with_options(
        self, more: Mapping[str, str | bool | int], places: Mapping[str, str] | None = None
    ) -> BuildSpec:
        """Return this spec with further CMake options, which override its own."""
        added = {name: cmake_value(value) for name, value in more.items()}
        return replace(
            self,
            options=tuple((dict(self.options) | added).items()),
            places=(*self.places, *(places or {}).items()),
        )


class LinkSpec(Value):
    """One more link of a built target, in addition to the target itself."""

    target: str
    """Built file, such as ``load_and_run``."""
    label: str
    """Folder of the result for its files."""
    unfolded: bool = False
    """The linker neither merges identical functions nor inlines any."""
    flags: tuple[str, ...] = ()
    """Follow the target's own flags."""
    sources: tuple[tuple[str, str], ...] = ()
    """Further sources, C or assembler: file name and text."""
    script: str = ""
    """Text of a linker script with assignments; empty: none."""
    emptied: tuple[str, ...] = ()
    """Local functions, which the script cannot reach: they are emptied in copies of the objects,
    each in a section of its own."""
    unwind_tables: bool = True
    """Keep the tables that exceptions and debuggers need."""
    form: StubForm = StubForm.SHARED
    """What an emptied function does; its number is its index in ``emptied``."""
    strip: bool = True
    """Write a stripped copy, too."""
    map: bool = False
    """Write the linker's map next to the file."""


class RebuiltSources(Value):
    """What one build compiled in a tree that may hold an earlier build."""

    compiled: int
    files: tuple[str, ...]
    """The first sources that were compiled, by the build's records."""
    from_cache: int | None
    """Compilations that a compiler cache answered; None: there is none, or it does not count."""
    cpu_s: float | None
    """CPU seconds of the whole build command; None if they cannot be measured."""


class BuildRecord(Value):
    """Result of a build: artifacts in the stage folder, and what the build's records prove."""

    artifacts: tuple[tuple[str, str], ...]
    """Artifact name and path relative to the stage folder."""
    translation_units: int
    units_with_header: int
    """Translation units whose compile command includes the header by force."""
    units_with_regions: int
    """Translation units whose recorded dependencies include the generated ``midout.h``."""
    rebuilt: RebuiltSources


def cmake_value(value: str | bool | int) -> str:
    """Return a value as CMake takes it."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)
