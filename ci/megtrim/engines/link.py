"""``link``: a project that its own commands build; what they link is trimmed by functions."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.config.model import LINK, EngineConfig, is_shared_object
from megtrim.engines.cmake import GENERATION
from megtrim.engines.megengine.load_and_run import dialects
from megtrim.engines.megengine.load_and_run.dialects import Dialect
from megtrim.engines.megengine.regions.header import Scopes
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout as checkouts

_BESIDE_ITSELF = ("-Wl,-rpath,$ORIGIN",)
"""A program of the project finds its library next to itself, not where the plain one was built."""


class LinkProject:
    kept: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    switches: tuple[Switch, ...] = ()

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        self.checkout = checkouts.take(source, processes, without=without)
        self._asked = EngineConfig(kind=LINK)

    def choose(self, asked: EngineConfig) -> None:
        """Take target and commands from a configuration."""
        self._asked = asked

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(LINK, GENERATION)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        del toolchain, minimum_size, header  # the commands are the same for all
        return BuildSpec(
            variant=variant,
            targets=targets,
            options=(),
            commands=self._asked.build,
            own_link_flags=_BESIDE_ITSELF if is_shared_object(self._asked.target) else (),
        )

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        del toolchain
        target = self._asked.target
        if linkage is not Linkage.SHARED or not is_shared_object(target):
            msg = f"found the target {target}, expected a shared object that applications load"
            raise InputError(msg, hint="name it as they load it: engine.target: libz.so.1")
        return EngineLibrary(linkage=linkage, file=target, include=())

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        return ()

    def scopes(self) -> Scopes:
        return Scopes()

    def texts(self) -> Iterator[tuple[str, str]]:
        return iter(())

    def formats(self) -> tuple[str, ...]:
        return ()

    def dialect(self) -> Dialect:
        return replace(dialects.LITE, name="a project", closed=False)
