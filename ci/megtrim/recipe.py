"""What a build is made from and what it yields: values that engines and toolchains share.

Pure: nothing here touches a file or starts a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path


class Variant(StrEnum):
    """The three builds of one engine."""

    PLAIN = "plain"
    PROFILE = "profile"
    REDUCED = "reduced"


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
    archiver: str | None = None
    ranlib: str | None = None
    host_cxx: tuple[str, ...] = ()
    """Compiler for programs that run during the build, C++; empty: the same as ``cxx_compiler``."""
    sysroot: Path | None = None
    """Where an emulator finds the target's loader and libraries; None for static programs."""

    def identity(self) -> dict[str, str]:
        """What enters the key of a build."""
        return {
            "kind": self.kind,
            "target": self.target,
            "version": self.version,
            "compile flags": " ".join(self.compile_flags),
            "link flags": " ".join(self.link_flags),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineIdentity:
    """Which engine: the digest of what enters the build, not a path."""

    kind: str
    generation: int
    digest: str
    commit: str
    dirty: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOrder:
    """One variant to be built by CMake and Ninja in a shadow tree."""

    variant: Variant
    targets: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    """CMake cache entries, name and value."""
    link_flags: tuple[str, ...] = ()
    overrides: tuple[tuple[str, str], ...] = ()
    """Files of the shadow tree that megtrim writes: path and text."""
    include: tuple[tuple[str, str], ...] = ()
    """Files of the folder that comes first for quoted includes: name and text."""
    forced_header: str | None = None
    """Path in the shadow tree of the header that every translation unit must have seen."""

    def with_options(self, more: Mapping[str, str | bool | int]) -> BuildOrder:
        """Return the same order with further CMake options, which win over its own."""
        added = {name: _cmake_value(value) for name, value in more.items()}
        return replace(self, options=tuple((dict(self.options) | added).items()))


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


def _cmake_value(value: str | bool | int) -> str:
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return str(value)
