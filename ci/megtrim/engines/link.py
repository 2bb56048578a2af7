"""``link``: a project that its own commands build; what they link is trimmed by functions."""

from collections.abc import Mapping
from pathlib import Path

from megtrim.core.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Toolchain,
    Variant,
)
from megtrim.core.config.kinds import LINK
from megtrim.core.config.model import EngineConfig, is_shared_object
from megtrim.core.project import Project
from megtrim.engines.cmake import GENERATION
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout as checkouts

_BESIDE_ITSELF = ("-Wl,-rpath,$ORIGIN",)
"""A program of the project finds its library next to itself, not where the plain one was built."""


class LinkProject(Project):
    title = "a project"
    tree = "the folder of the project"
    built_by = LINK

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        self.checkout = checkouts.take(source, processes, without=without)
        self._asked = EngineConfig(kind=LINK)

    def choose(self, asked: EngineConfig) -> None:
        """Take target and commands from a configuration."""
        self._asked = asked

    @staticmethod
    def is_checkout(folder: Path) -> bool:
        return folder.is_dir()

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
