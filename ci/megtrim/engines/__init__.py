"""Engines that can be trimmed: one file per kind behind :class:`Engine`, one line in ``KINDS``.

An engine says what it is and what a variant is made from; :mod:`megtrim.engines.builder`
does the building, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from megtrim.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Toolchain,
    Variant,
)
from megtrim.engines import sample
from megtrim.engines.checkout import Checkout
from megtrim.engines.cmake.options import TreeOptions
from megtrim.engines.megengine import engine
from megtrim.load_and_run.dialects import Dialect
from megtrim.midout.scoped_headers import Scopes
from megtrim.process import ProcessRunner


class Engine(Protocol):
    """A checkout of an engine."""

    checkout: Checkout
    kept: tuple[str, ...]
    """Functions that stay whatever ran, as ``trim.keep`` names them."""
    kernels: tuple[str, ...]
    """Folders of its tree that stay compiled for speed, whatever else is compiled for size."""

    def identity(self) -> EngineIdentity:
        """What it is: kind, generation of its header, digest, commit, dirty files."""

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        """Say what to build; ``header`` maps the generated files' names to their texts.

        It is empty for every variant but the reduced one.
        """

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        """Say what an application links, and what it must be told.

        Raises InputError where this engine has no such library.
        """

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        """All elementwise modes, name and value: the header must name each one."""

    def scopes(self) -> Scopes:
        """What of a keep set can stand in files of its own, by what the sources name."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """Relative path and text of the sources that may mark regions."""

    def options(self) -> TreeOptions:
        """CMake options that this tree has."""

    def dialect(self) -> Dialect:
        """How its program that runs models is called."""


KINDS: Mapping[str, Callable[[Path, ProcessRunner], Engine]] = {
    "megengine": engine.MegEngine,
    "sample": sample.SampleEngine,
}
