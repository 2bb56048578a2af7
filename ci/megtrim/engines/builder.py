"""Building one variant: shadow tree, host tools, CMake, Ninja, proof, stripped artifacts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from megtrim.engines import cmake, proof, shadow, toolchain_file
from megtrim.engines.checkout import Checkout
from megtrim.engines.cmake import Job, WorkTree
from megtrim.errors import ProductFailure
from megtrim.process import Processes
from megtrim.recipe import BuildOrder, BuildRecord, Toolchain
from megtrim.store import cannot_write, write_atomically

_FLATBUFFERS = "third_party/flatbuffers"
_FLATC = "build_dir/host_flatc/install/bin/flatc"
_DEPS_TIMEOUT_S = 300.0

Progress = Callable[[int, int, str], None]


class Builder:
    """Builds variants of one checkout with one toolchain."""

    def __init__(
        self, checkout: Checkout, toolchain: Toolchain, processes: Processes, *, jobs: int
    ) -> None:
        self._checkout = checkout
        self._toolchain = toolchain
        self._processes = processes
        self._jobs = jobs

    def build(
        self, order: BuildOrder, *, work: Path, folder: Path, progress: Progress
    ) -> BuildRecord:
        """Build in ``work``, leave the log, the records and ``bin/`` in ``folder``."""
        tree = WorkTree(root=work)
        shadow.sync(self._checkout, tree.source, dict(order.overrides))
        told = toolchain_file.render(
            self._toolchain, quoted_include=bool(order.include), link_flags=order.link_flags
        )
        shadow.write_if_changed(tree.toolchain_file, told)
        self._write_include(tree, order)
        log = folder / "build.log"
        self._host_tools(tree, log, progress)
        options = (*order.options, *self._options(tree))
        self._drop_stale_build(tree, (*options, ("toolchain file", told)))
        job = Job(
            source=tree.source,
            build=tree.build,
            options=options,
            targets=order.targets,
            log=log,
            jobs=self._jobs,
            env=self._env(tree),
        )
        cmake.run(job, self._processes, progress)
        found = self._prove(order, tree)
        return BuildRecord(
            artifacts=self._collect(order, tree, folder),
            translation_units=found.units,
            units_with_header=found.with_header,
            units_with_regions=found.with_regions,
        )

    def _drop_stale_build(self, tree: WorkTree, settings: tuple[tuple[str, str], ...]) -> None:
        """Start the build folder anew when it was configured otherwise.

        CMake remembers options that are no longer given and flags of its first run, and Ninja
        sees no difference in a compiler that was replaced under its own name.
        """
        identity = sorted(self._toolchain.identity().items())
        wanted = json.dumps([identity, sorted(settings)])
        record = tree.root / "configured.json"
        if record.exists() and record.read_text(encoding="utf-8") == wanted:
            return
        try:
            if tree.build.exists():
                shutil.rmtree(tree.build)
        except OSError as error:
            raise cannot_write(tree.build, error) from None
        write_atomically(record, wanted)

    def _options(self, tree: WorkTree) -> tuple[tuple[str, str], ...]:
        return (("CMAKE_TOOLCHAIN_FILE", str(tree.toolchain_file)), *self._launcher())

    def _launcher(self) -> tuple[tuple[str, str], ...]:
        ccache = shutil.which("ccache", path=self._processes.env.get("PATH", ""))
        return (("CMAKE_CXX_COMPILER_LAUNCHER", ccache),) if ccache else ()

    def _env(self, tree: WorkTree) -> Mapping[str, str]:
        # Equal sources in another folder are the same compilation. The compiler is known by its
        # content, for a package update keeps its path and may keep its date.
        return {
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
        shutil.copy2(build / "flatc", target)

    def _prove(self, order: BuildOrder, tree: WorkTree) -> proof.Proof:
        """Check that the generated header was compiled in; nothing to prove without one."""
        if order.forced_header is None:
            return proof.Proof(units=0, with_header=0, with_regions=0)
        deps = self._processes.capture(
            cmake.tool("ninja"), "-C", str(tree.build), "-t", "deps", timeout_s=_DEPS_TIMEOUT_S
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
        self, order: BuildOrder, tree: WorkTree, folder: Path
    ) -> tuple[tuple[str, str], ...]:
        artifacts = []
        for target in order.targets:
            built = [path for path in sorted(tree.build.rglob(target)) if _is_elf(path)]
            if not built:
                msg = f"the build of {order.variant} left no file called {target}"
                raise ProductFailure(msg, hint="is it the name of a target of this engine?")
            copy = folder / "bin" / target
            copy.parent.mkdir(exist_ok=True)
            shutil.copy2(built[0], copy)
            if self._toolchain.strip:
                self._processes.capture(*self._toolchain.strip, str(copy))
            artifacts.append((target, str(copy.relative_to(folder))))
        return tuple(artifacts)


def _is_elf(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4) == b"\x7fELF"
