"""What a build is of, what it is made from and what it yields: values that rooms share."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST

PACKAGE = "MegEngineTrimmed"
HEADERS = "include"
LICENCES = "licences"
"""Folders of an export, a release and an AAR."""
REST_SUFFIX = ".rest"
"""After a file's name: the file with its deferred functions."""
UNSTRIPPED = "unstripped"
"""Folder for what ships, as it was before it was stripped."""

_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


class Variant(StrEnum):
    PLAIN = "plain"
    PROFILE = "profile"
    REGION = "region"
    """Trimmed by regions only; built if the reduced variant is trimmed by functions as well."""
    REDUCED = "reduced"
    BASE = "base"
    """The plain build of an earlier commit, made by another run; times are compared with it."""


class Link(StrEnum):
    UNFOLDED = "unfolded"
    """Each function has bytes of its own, so an emulator can record which ones run."""
    PROBED = "probed"
    """The program itself records which functions run."""
    SHIPPED = "shipped"
    DEFERRING = "deferring"
    """Like the shipped one, but functions that run are deferred as well."""
    NAMED = "named"
    """Names the function that a trap replaced."""
    REFERENCED = "referenced"
    """Holds the relocations that the linker applied, which show what refers to what."""


class StubForm(StrEnum):
    SHARED = "shared"
    """It traps; a linker may fold it with others."""
    NUMBERED = "numbered"
    """It traps with an instruction of its own, which is its crash id."""
    REPORTING = "reporting"
    """It prints its number before it traps."""
    NAMED = "named"
    """It carries its name, and traps until it is led to what shall read that."""


class Switch(StrEnum):
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

LOWEST_API: Mapping[str, int] = {"arm64-v8a": 21, "armeabi-v7a": 16}
"""Lowest API level of each Android ABI."""


class Linkage(StrEnum):
    STATIC = "static"
    SHARED = "shared"


class EngineLibrary(Value):
    linkage: Linkage
    file: str
    """Also the target that builds it."""
    include: tuple[str, ...]
    """Relative to the engine's tree."""
    copies: tuple[tuple[str, str], ...] = ()
    """Headers that others include as if they were next to them: path there, and in the tree."""
    whole: bool = False
    needs: tuple[str, ...] = ()
    link_options: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        return self.linkage is Linkage.SHARED


class Toolchain(Value):
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
    """In place; None if the link strips already."""
    compiler_check: str = "content"
    first_link: str = ""
    """What it makes at its first link on a machine, which takes minutes; empty: nothing."""
    archiver: str | None = None
    ranlib: str | None = None
    archive: tuple[str, ...] = ()
    """Used if ``archiver`` is None."""
    host_cxx: tuple[str, ...] = ()
    """For programs that run during the build; empty: ``cxx_compiler``."""
    sysroot: Path | None = None
    """Folder in which an emulator finds the target's loader and libraries; None if static."""
    abi: str = ""
    """Android's name; empty outside Android."""
    api: int = 0
    """0 outside Android."""
    fp16: bool = False
    page_bytes: int = 0
    """Largest memory pages of the devices; 0 outside Android."""
    ndk: str = ""
    """Root folder, as its programs see it; empty outside Android."""
    includes: str = ""
    """CMake toolchain file; empty: none."""
    settings: tuple[tuple[str, str], ...] = ()
    files: str = ""
    """Digest of what identifies it beyond its version; empty: none."""
    image: str = ""
    """Digest or ID of the image that contains it; empty: on this machine."""

    def identity(self) -> dict[str, str]:
        """What enters the key of a build; empty values of what few toolchains have are left out."""
        settings = " ".join(f"{name}={value}" for name, value in self.settings)
        fp16 = "on" if self.fp16 else ""
        rare = {"settings": settings, "fp16": fp16, "files": self.files, "image": self.image}
        return {
            "kind": self.kind,
            "target": self.target,
            "version": self.version,
            "compile flags": " ".join(self.compile_flags),
            "link flags": " ".join(self.link_flags),
            **{label: value for label, value in rare.items() if value},
        }


class EngineIdentity(Value):
    kind: str
    generation: int
    """Of the generated header: 20190219 or 20220507."""
    digest: str
    commit: str = ""
    dirty: tuple[str, ...] = ()


class Origin(Value):
    """The date is the commit's: equal commits have equal reports. What is not known is empty."""

    project: str = ""
    """The repository's name; outside of git the name of the folder of megtrim.yaml."""
    config: str = ""
    """Path of megtrim.yaml from the top of the repository, outside of git its name."""
    commit: str = ""
    """Empty unless the commit holds the configuration."""
    committed_at: str = ""
    """In UTC, such as ``2027-01-31T12:00:00Z``."""
    changed: bool = False
    """Files of the configuration's folder, or that it names elsewhere, are not as committed."""
    pull_request: int = 0
    """0: none."""
    megtrim: str = ""

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
        confirmed = replace(
            self,
            project=known.project or self.project,
            config=known.config or self.config,
            commit=known.commit or self.commit,
            pull_request=known.pull_request or self.pull_request,
            megtrim=self.megtrim or known.megtrim,
        )
        if known.commit in ("", self.commit):
            return confirmed
        return replace(confirmed, committed_at=known.committed_at, changed=False)


class BuildScript(Value):
    path: str
    """Relative to the tree."""
    arguments: tuple[str, ...]
    build: str
    why: str
    entries_variable: str = ""
    """Variable in which it takes CMake's entries, as a shell's words; empty: it takes none."""
    environment: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def variables(self, entries: Sequence[str]) -> dict[str, str]:
        """``entries`` (CMake's) override the script's own."""
        words = (*entries, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
        taken = {self.entries_variable: shlex.join(words)} if self.entries_variable else {}
        return {**dict(self.environment), **taken}


class HostProgram(Value):
    """A program that a build runs: it is made first, for this machine."""

    source: str
    """Folder of its CMake project in the tree."""
    target: str
    place: str
    """Where the build looks for it in the tree."""
    options: tuple[tuple[str, str], ...] = ()


class SourceOptions(Value):
    """Compile options that follow all others, for C and C++ sources outside some folders."""

    options: tuple[str, ...]
    fast: tuple[str, ...]
    """Further options where the engine compiles with ``-Ofast``, which ``options`` undo."""
    outside: tuple[str, ...]

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.options, "behind -Ofast", *self.fast, "outside", *self.outside)


class BuildSpec(Value):
    variant: Variant
    targets: tuple[str, ...]
    folder: str | None = None
    """Of its CMakeLists.txt in the tree, which is a project of any kind; None: an engine's own."""
    options: tuple[tuple[str, str], ...]
    places: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)
    """Entries that a person asks for, and where, ``FILE:LINE: KEY``: CMake must use them."""
    link_flags: tuple[str, ...] = ()
    compile_flags: tuple[str, ...] = ()
    own_link_flags: tuple[str, ...] = ()
    """For the engine's own links only; applications are linked without them."""
    source_options: SourceOptions | None = None
    script: BuildScript | None = None
    commands: tuple[tuple[str, ...], ...] = ()
    """The project's own, in place of CMake; empty: CMake builds."""
    overrides: tuple[tuple[str, str], ...] = ()
    """In the shadow tree: path and text."""
    include: tuple[tuple[str, str], ...] = ()
    """In a folder that is searched first for quoted includes: name and text."""
    forced_header: str | None = None
    """In the shadow tree; every translation unit must include it."""
    header_option: str = ""
    """CMake entry for the forced header's absolute path; empty: the tree knows the path."""
    marks_header: str = ""
    """The one of ``include`` that no translation unit may open elsewhere; empty: none."""
    host_programs: tuple[HostProgram, ...] = ()
    """Not for a script, which makes its own."""

    def header_entry(self, tree: Path) -> tuple[tuple[str, str], ...]:
        """Raises InputError for a path with blanks: the engine would paste it into its flags."""
        if self.forced_header is None or not self.header_option:
            return ()
        path = str(tree / self.forced_header)
        if len(path.split()) != 1:
            msg = f"the header's path {path!r} contains blanks, where this engine splits it"
            raise InputError(msg, hint="choose a folder whose path has no blanks: --out PATH")
        return ((self.header_option, path),)

    def with_options(
        self, more: Mapping[str, str | bool | int], places: Mapping[str, str] | None = None
    ) -> BuildSpec:
        added = {name: cmake_value(value) for name, value in more.items()}
        return replace(
            self,
            options=tuple((dict(self.options) | added).items()),
            places=(*self.places, *(places or {}).items()),
        )


class LinkSpec(Value):
    target: str
    label: str
    unfolded: bool = False
    """The linker neither merges identical functions nor inlines any."""
    flags: tuple[str, ...] = ()
    sources: tuple[tuple[str, str], ...] = ()
    """File name and text."""
    hidden: tuple[str, ...] = ()
    """Names that the file no longer exports."""
    script: str = ""
    left_out: tuple[tuple[str, ...], ...] = ()
    """Functions, each with all its names, that the script leads to one stub, but for those whose
    addresses code takes: these have one each. The link finds them, and completes ``sources`` and
    ``script``."""
    emptied: tuple[str, ...] = ()
    """Local functions, which the script cannot reach: they are emptied in copies of the objects,
    each in a section of its own."""
    deferred: tuple[str, ...] = ()
    """Functions whose sections get other names in copies of the objects."""
    blocks: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Functions that are compiled once more, cut in two, and the blocks of each that stay."""
    objects: tuple[str, ...] = ()
    """Digests of those whose blocks were recorded: functions of no other one are cut."""
    holders: tuple[str, ...] = ()
    """Names of the objects from which the program has them: several may have a copy."""
    near: tuple[str, ...] = ()
    """What only the linked file itself has by these names, where functions are deferred."""
    layout: str = ""
    """A linker script that places sections; all others lie where the linker puts them."""
    unwind_tables: bool = True
    """Exceptions and debuggers need them."""
    form: StubForm = StubForm.SHARED
    """Its number is its index in ``emptied``."""
    strip: bool = True
    map: bool = False
    digests: bool = False
    """Of the objects that it links, next to the linked file."""


class BuildRecord(Value):
    artifacts: Mapping[str, int]
    """Bytes of each stripped file, by its name."""
    translation_units: int
    """That the generated header was compiled into, by the build's own records."""
    rebuilt: tuple[str, ...]
    """Sources that were compiled: the tree may hold an earlier build."""


def cmake_value(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)
