"""Builds a team's own application, by its own CMakeLists.txt, against the engine's library."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from megtrim.core.build_spec import EngineLibrary, Linkage, Toolchain
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects import source_copy
from megtrim.places.compile.projects.checkout import Checkout, digest_of
from megtrim.places.compile.projects.cmake import driver, toolchain_file
from megtrim.places.compile.projects.cmake.driver import Job, WorkTree

FULL_LTO = ("-flto=full",)
ANDROID_RPATH = "-Wl,-rpath,$ORIGIN"
_INSTALL_RPATH = (("CMAKE_BUILD_WITH_INSTALL_RPATH", "ON"), ("CMAKE_INSTALL_RPATH", "$ORIGIN"))
_SECTIONS = ("-ffunction-sections", "-fdata-sections")
_FOLDER = "applications"


class ApplicationSpec(Value):
    name: str
    checkout: Checkout
    library: EngineLibrary
    lto: bool
    options: tuple[tuple[str, str], ...] = ()
    places: tuple[tuple[str, str], ...] = ()
    """Where each of these is, ``FILE:LINE: KEY``."""


class BuildEnvironment(Value):
    toolchain: Toolchain
    processes: ProcessRunner
    jobs: int
    env: Mapping[str, str]
    launcher: tuple[tuple[str, str], ...]
    link_flags: tuple[str, ...]
    log: Path
    progress: Callable[[int, int, str], None]


def expect_possible(toolchain: Toolchain, name: str, library: Linkage, *, lto: bool) -> None:
    """Raise InputError, before anything is built, for what a toolchain cannot build."""
    if library is Linkage.SHARED and "-static" in toolchain.link_flags:
        msg = f"application {name}: {toolchain.kind} makes static programs, without shared objects"
        hint = "use library: static, or a toolchain of kind clang-linux-arm64, ndk or host"
        raise InputError(msg, hint=hint)
    if lto and not is_clang(toolchain):
        msg = f"application {name}: lto: full needs clang, found {toolchain.version}"
        raise InputError(msg, hint="use lto: none, or a toolchain that is clang's")


def find(build: Path, name: str) -> Path | None:
    return next((path for path in sorted(build.rglob(name)) if path.is_file()), None)


def tree_of(spec: ApplicationSpec, engine: WorkTree) -> WorkTree:
    return WorkTree(root=engine.root / _FOLDER / spec.name)


def build(spec: ApplicationSpec, engine: WorkTree, build_env: BuildEnvironment) -> Path:
    """Raises ProductFailure if it does not compile, or yields no program of its name."""
    tree = tree_of(spec, engine)
    source_copy.sync(spec.checkout, tree.source, {})
    # The program finds the shared object next to itself. CMake adds no flag for it on Android.
    shared = spec.library.is_shared
    rpath = (ANDROID_RPATH,) if shared and build_env.toolchain.includes else ()
    text = toolchain_file.render(
        build_env.toolchain,
        quoted_include=False,
        link_flags=(*build_env.link_flags, *rpath),
        engine_tree=os.path.relpath(engine.root, tree.root),
    )
    source_copy.write_if_changed(tree.toolchain_file, text)
    options = [
        ("CMAKE_TOOLCHAIN_FILE", str(tree.toolchain_file)),
        ("CMAKE_BUILD_TYPE", "Release"),
        *build_env.launcher,
    ]
    if shared:
        options += _INSTALL_RPATH
    options += entries(spec, engine)
    options += spec.options
    # A link line may pass the library as a flag, whose changes Ninja does not see.
    linked = digest_of(_library(spec, engine)) or ""
    settings = (*options, ("toolchain file", text), ("engine library", linked))
    driver.drop_stale_tree(tree, build_env.toolchain, settings)
    job = Job(
        source=tree.source,
        build=tree.build,
        options=tuple(options),
        targets=(spec.name,),
        log=build_env.log,
        jobs=build_env.jobs,
        env=build_env.env,
        what=f"the application {spec.name}",
        places=dict(spec.places),
    )
    driver.run(job, build_env.processes, build_env.progress)
    program = find(tree.build, spec.name)
    if program is None:
        msg = f"the build of application {spec.name} left no file of that name"
        raise ProductFailure(msg, hint="its CMakeLists.txt must have an executable of that name")
    return program


def entries(spec: ApplicationSpec, engine: WorkTree) -> tuple[tuple[str, str], ...]:
    library = spec.library
    file = _library(spec, engine)
    whole = ("-Wl,--whole-archive", str(file), "-Wl,--no-whole-archive")
    linked = whole if library.whole else (str(file),)
    lto = FULL_LTO if spec.lto else ()
    include = [str(engine.source / folder) for folder in library.include]
    link_options = dict.fromkeys((*library.link_options, *lto))
    return (
        ("MEGTRIM_ENGINE_SOURCE", str(engine.source)),
        ("MEGTRIM_ENGINE_BUILD", str(engine.build)),
        ("MEGTRIM_ENGINE_INCLUDE", ";".join(include)),
        ("MEGTRIM_ENGINE_LIBRARIES", ";".join((*linked, *library.needs))),
        ("MEGTRIM_ENGINE_COMPILE_OPTIONS", ";".join((*_SECTIONS, *lto))),
        ("MEGTRIM_ENGINE_LINK_OPTIONS", ";".join(link_options)),
    )


def _library(spec: ApplicationSpec, engine: WorkTree) -> Path:
    file = find(engine.build, spec.library.file)
    if file is None:
        msg = f"the build left no {spec.library.file}, which {spec.name} links"
        raise ProductFailure(msg, hint="does this engine have a target of that name?")
    return file


def is_clang(toolchain: Toolchain) -> bool:
    return toolchain.kind in ("zig", "ndk") or "clang" in toolchain.version
