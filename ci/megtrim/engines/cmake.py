"""``cmake``: any CMake project, whose programs and shared libraries are trimmed by functions."""

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
from megtrim.core.config.kinds import CMAKE
from megtrim.core.config.model import ARCHIVE_SUFFIX, SHARED_SUFFIX, EngineConfig
from megtrim.core.project import Project
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout as checkouts

GENERATION = 20220507
_SUFFIXES = {Linkage.SHARED: SHARED_SUFFIX, Linkage.STATIC: ARCHIVE_SUFFIX}
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
_LISTS = "CMakeLists.txt"
_OLD_PROJECTS = (("CMAKE_POLICY_VERSION_MINIMUM", "3.5"),)
"""CMake 4 refuses a project that asks for less, unless it is told to treat it so."""
_BESIDE_ITSELF = (("CMAKE_BUILD_WITH_INSTALL_RPATH", "ON"), ("CMAKE_INSTALL_RPATH", "$ORIGIN"))
"""A program of the project finds its library next to itself, not where the plain one was built."""


class CMakeProject(Project):
    kind = CMAKE
    title = "a CMake project"
    tree = "the folder of a CMake project"
    built_by = CMAKE
    listed = _LISTS
    """A file by which its folder is known."""
    headers = "include"
    """Where its headers usually are."""

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        self.checkout = checkouts.take(source, processes, without=without)
        self._asked = EngineConfig(kind=self.kind)

    def choose(self, asked: EngineConfig) -> None:
        """Take target and folders from a configuration. Raises InputError for wrong folders."""
        lists = (asked.folder or Path()) / _LISTS
        if lists.as_posix() not in self.checkout.files:
            msg = f"{self.checkout.root} has no {lists.as_posix()}, so it is no CMake project"
            raise InputError(msg, hint="engine.folder names the folder of it, such as build/cmake")
        for folder in asked.include:
            if not self._has_folder(folder.as_posix()):
                msg = f"{self.checkout.root} has no folder {folder}, which engine.include names"
                raise InputError(msg, hint="name a folder in engine.source that holds headers")
        self._asked = asked

    @classmethod
    def is_checkout(cls, folder: Path) -> bool:
        return (folder / cls.listed).is_file()

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(self.kind, GENERATION)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        del toolchain, minimum_size, header  # the spec is the same for all
        beside = _BESIDE_ITSELF if self._asked.target.endswith(SHARED_SUFFIX) else ()
        return BuildSpec(
            variant=variant,
            targets=targets,
            folder=(self._asked.folder or Path()).as_posix(),
            options=(("CMAKE_BUILD_TYPE", "Release"), *_OLD_PROJECTS, *beside),
            compile_flags=_SECTIONS,
            own_link_flags=("-Wl,--gc-sections",),
        )

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        del toolchain
        target = self._asked.target
        if not target.endswith(_SUFFIXES[linkage]):
            msg = f"found the target {target}, expected a library for applications: {linkage}"
            hint = f"name it by its file: engine.target: lib{target}{_SUFFIXES[linkage]}"
            raise InputError(msg, hint=hint)
        include = tuple(folder.as_posix() for folder in self._asked.include)
        usual = self.headers if self._has_folder(self.headers) else ""
        return EngineLibrary(
            linkage=linkage,
            file=target,
            include=include or (usual,),
            needs=("-pthread",),
            link_options=("-Wl,--gc-sections",),
        )

    def _has_folder(self, folder: str) -> bool:
        return any(name.startswith(f"{folder}/") for name in self.checkout.files)
