"""Engines that can be trimmed: one file per kind behind :class:`Engine`, one line in ``KINDS``."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from megtrim.core.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.engines import cmake, link, sample
from megtrim.engines.megengine import engine, generations
from megtrim.engines.megengine.load_and_run.dialects import Dialect
from megtrim.engines.megengine.regions.header import Scopes
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout


class Engine(Protocol):
    checkout: Checkout
    kept: tuple[str, ...]
    """Patterns of functions that always stay, as in ``trim.keep``."""
    kernels: tuple[str, ...]
    """Folders of its tree that are always compiled for speed, even if the rest is for size."""
    switches: tuple[Switch, ...]
    """Switches that its releases have options for."""

    def identity(self) -> EngineIdentity: ...

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        """Return what to build; ``header``: generated files' texts by name, for reduced alone."""

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        """Raises InputError if this engine has no such library."""

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        """Name and value of all of them: the header must name each one."""

    def scopes(self) -> Scopes:
        """The parts of a keep set that can have files of their own, by the sources."""

    def texts(self) -> Iterator[tuple[str, str]]:
        """Relative path and text of the sources that may mark regions."""

    def formats(self) -> tuple[str, ...]:
        """Return the formats that its program reads; empty if none or an unknown one is named."""

    def dialect(self) -> Dialect: ...


KINDS: Mapping[str, Callable[[Path, ProcessRunner, Path], Engine]] = {
    "megengine": engine.MegEngine,
    "sample": sample.SampleEngine,
    "cmake": cmake.CMakeProject,
    "link": link.LinkProject,
}
SUBMODULES: Mapping[str, Callable[[Collection[str], Collection[str]], tuple[str, ...]]] = {
    "megengine": generations.needed_submodules
}
"""By kind, from a tree's files and the paths of its submodules to those that a build needs."""
