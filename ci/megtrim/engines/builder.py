"""Building one variant: shadow tree, host tools, CMake, Ninja, proof, stripped artifacts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.engines import android_script, application, cmake, proof, shadow, toolchain_file
from megtrim.engines.application import ApplicationOrder, Workshop
from megtrim.engines.checkout import Checkout
from megtrim.engines.cmake import Job, WorkTree
from megtrim.engines.compiler_cache import CompilerCache
from megtrim.errors import ProductFailure
from megtrim.process import Processes
from megtrim.recipe import BuildOrder, BuildRecord, BuildScript, Toolchain
from megtrim.store import cannot_write

_FLATBUFFERS = "third_party/flatbuffers"
_FLATC = "build_dir/host_flatc/install/bin/flatc"
_DEPS_TIMEOUT_S = 300.0

Progress = Callable[[int, int, str], None]


class Builder:
    """Builds variants of one checkout with one toolchain."""

    def __init__(
        self,
        checkout: Checkout,
        toolchain: Toolchain,
        processes: Processes,
        *,
        jobs: int,
        cache: CompilerCache,
    ) -> None:
        self._cache = cache
        self._checkout = checkout
        self._toolchain = toolchain
        self._processes = processes
        self._jobs = jobs

    def build(
        self,
        order: BuildOrder,
        *,
        work: Path,
        folder: Path,
        progress: Progress,
        applications: tuple[ApplicationOrder, ...] = (),
    ) -> BuildRecord:
        """Build in ``work``, leave the log, the records and ``bin/`` in ``folder``."""
        tree = WorkTree(root=work, inside=order.script.build if order.script else "")
        shadow.sync(self._checkout, tree.source, dict(order.overrides))
        told = toolchain_file.render(
            self._toolchain,
            quoted_include=bool(order.include),
            compile_flags=order.compile_flags,
            link_flags=order.link_flags,
        )
        shadow.write_if_changed(tree.toolchain_file, told)
        self._write_include(tree, order)
        log = folder / "build.log"
        options = (*order.options, *order.header_entry(tree.source), *self._options(tree))
        cmake.start_anew(tree, self._toolchain, (*options, ("toolchain file", told)))
        job = Job(
            source=tree.source,
            build=tree.build,
            options=options,
            targets=order.targets,
            log=log,
            jobs=self._jobs,
            env=self._env(tree),
        )
        if order.script is None:
            self._host_tools(tree, log, progress)
            cmake.run(job, self._processes, progress)
        else:
            self._run_script(order.script, job, progress)
        found = self._prove(order, tree)
        return BuildRecord(
            artifacts=(
                *self._collect(order, tree, folder, applications),
                *self._applications(order, tree, folder, applications, progress),
            ),
            translation_units=found.units,
            units_with_header=found.with_header,
            units_with_regions=found.with_regions,
        )

    def _run_script(self, script: BuildScript, job: Job, progress: Progress) -> None:
        android_script.expect_plain(self._toolchain.ndk, "the NDK's folder")
        android_script.expect_plain(job.source, "the folder of results")
        told = android_script.environment(self._toolchain.ndk, job.options)
        # The script makes flatc with this machine's compiler, from sources of older CMake days.
        host = {"CXX": self._toolchain.host_cxx[0]} if self._toolchain.host_cxx else {}
        env = {**job.env, **host, **told, "CMAKE_POLICY_VERSION_MINIMUM": "3.5"}
        cmake.run_script(script, replace(job, env=env), self._processes, progress)

    def _options(self, tree: WorkTree) -> tuple[tuple[str, str], ...]:
        return (("CMAKE_TOOLCHAIN_FILE", str(tree.toolchain_file)), *self._launcher())

    def _launcher(self) -> tuple[tuple[str, str], ...]:
        ccache = self._processes.which("ccache")
        return (("CMAKE_CXX_COMPILER_LAUNCHER", ccache),) if ccache else ()

    def _env(self, tree: WorkTree) -> Mapping[str, str]:
        # Equal sources in another folder are the same compilation. The compiler is known by its
        # content, for a package update keeps its path and may keep its date.
        compiler = self._toolchain.cxx_compiler
        return {
            **self._cache.variables(self._processes, compiler, tree.root),
            "CCACHE_BASEDIR": str(tree.root),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_COMPILERCHECK": "content",
        }

    def _write_include(self, tree: WorkTree, order: BuildOrder) -> None:
        try:
            tree.include.mkdir(parents=True, exist_ok=True)
            for stale in set(tree.include.iterdir()) - {tree.include / n for n, _ in order.include}:
                stale.unlink()
        except OSError as error:
            raise cannot_write(tree.include, error) from None
        for name, text in order.include:
            shadow.write_if_changed(tree.include / name, text)

    def _host_tools(self, tree: WorkTree, log: Path, progress: Progress) -> None:
        """Build ``flatc`` for this machine, where the engine looks for it in a cross build."""
        flatbuffers = tree.source / _FLATBUFFERS
        if not flatbuffers.is_dir():
            return
        build = tree.root / "host_flatc"
        compiler = self._toolchain.host_cxx or self._toolchain.cxx_compiler
        job = Job(
            source=flatbuffers,
            build=build,
            options=(
                ("CMAKE_BUILD_TYPE", "Release"),
                ("CMAKE_CXX_COMPILER", compiler[0]),
                ("FLATBUFFERS_BUILD_TESTS", "OFF"),
                ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"),
                *self._launcher(),
            ),
            targets=("flatc",),
            log=log,
            jobs=self._jobs,
            env=self._env(tree),
        )
        cmake.run(job, self._processes, lambda done, total, _: progress(done, total, "flatc"))
        target = tree.source / _FLATC
        if target.exists() and target.read_bytes() == (build / "flatc").read_bytes():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        # A link there would be followed, and may lead out of the tree.
        target.unlink(missing_ok=True)
        shutil.copy2(build / "flatc", target)

    def _prove(self, order: BuildOrder, tree: WorkTree) -> proof.Proof:
        """Check that the generated header was compiled in; nothing to prove without one."""
        if order.forced_header is None:
            return proof.Proof(units=0, with_header=0, with_regions=0)
        deps = self._processes.capture(
            self._processes.build_tool("ninja"),
            "-C",
            str(tree.build),
            "-t",
            "deps",
            timeout_s=_DEPS_TIMEOUT_S,
        )
        found = proof.prove(
            (tree.build / "compile_commands.json").read_text(encoding="utf-8"),
            deps,
            header=tree.source / order.forced_header,
            midout=tree.include / "midout.h" if order.include else None,
            build=tree.build,
        )
        for name, text in (*order.overrides, *order.include):
            base = tree.include if (name, text) in order.include else tree.source
            if (base / name).read_text(encoding="utf-8") != text:
                msg = f"{base / name} changed while it was compiled"
                raise ProductFailure(msg, hint="does the engine's build write that file itself?")
        return found

    def _collect(
        self,
        order: BuildOrder,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationOrder, ...],
    ) -> tuple[tuple[str, str], ...]:
        """Keep what is run and weighed; an archive is neither."""
        archives = {each.library.file for each in applications if not each.library.is_shared}
        artifacts = []
        for target in order.targets:
            if target in archives:
                continue
            built = [path for path in sorted(tree.build.rglob(target)) if _is_elf(path)]
            if not built:
                msg = f"the build of {order.variant} left no file called {target}"
                raise ProductFailure(msg, hint="is it the name of a target of this engine?")
            artifacts.append(self._kept(built[0], target, folder))
        return tuple(artifacts)

    def _applications(
        self,
        order: BuildOrder,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationOrder, ...],
        progress: Progress,
    ) -> tuple[tuple[str, str], ...]:
        shop = Workshop(
            toolchain=self._toolchain,
            processes=self._processes,
            jobs=self._jobs,
            env=self._env(tree),
            launcher=self._launcher(),
            link_flags=order.link_flags,
            log=folder / "build.log",
            progress=progress,
        )
        built = ((each.name, application.build(each, tree, shop)) for each in applications)
        return tuple(self._kept(program, name, folder) for name, program in built)

    def _kept(self, built: Path, name: str, folder: Path) -> tuple[str, str]:
        """Copy a file of the build to the stage's folder, stripped."""
        copy = folder / "bin" / name
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(built, copy)
        if self._toolchain.strip:
            self._processes.capture(*self._toolchain.strip, str(copy))
        return name, str(copy.relative_to(folder))


def _is_elf(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"
