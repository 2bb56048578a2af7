"""Builds one variant: shadow tree, host tools, CMake, Ninja, header check, stripped artifacts."""

import shlex
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    UNSTRIPPED,
    BuildRecord,
    BuildScript,
    BuildSpec,
    HostProgram,
    LinkSpec,
    Toolchain,
    Variant,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import application, source_copy
from megtrim.places.compile.projects.application import ApplicationSpec, BuildEnvironment
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.places.compile.projects.cmake import build_records, driver, toolchain_file
from megtrim.places.compile.projects.cmake.compiler_cache import CompilerCache
from megtrim.places.compile.projects.cmake.driver import Job, WorkTree
from megtrim.places.compile.projects.link import relink
from megtrim.places.compile.projects.link.invocation import LinkCommand, LinkEnvironment
from megtrim.places.compile.projects.link.splitting import CompiledUnit
from megtrim.places.compile.projects.linked_files import is_elf
from megtrim.places.compile.projects.tested import SuiteFolder

Progress = Callable[[int, int, str], None]
_TESTS = "tests"


class Builder:
    _trusts_times = True
    """By them it tells whether what it built is still there."""
    _links_beside = True
    """What it builds looks for libraries in its own folder."""

    def __init__(
        self,
        checkout: Checkout,
        toolchain: Toolchain,
        processes: ProcessRunner,
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
        spec: BuildSpec,
        *,
        work: Path,
        folder: Path,
        progress: Progress,
        applications: tuple[ApplicationSpec, ...] = (),
    ) -> BuildRecord:
        """Build in ``work``; write the log, the records and ``bin/`` to ``folder``."""
        tree = _tree(spec, work)
        units, rebuilt, programs = self._make(spec, tree, folder, applications, progress)
        archives = {each.library.file for each in applications if not each.library.is_shared}
        with guard_tree(tree):
            # An archive is neither run nor measured.
            built = {
                target: self._find_built(tree, target)
                for target in spec.targets
                if target not in archives
            }
            artifacts = {
                name: self._copy_stripped(path, folder / "bin" / name, spec.variant)
                for name, path in (built | programs).items()
            }
        return BuildRecord(artifacts=artifacts, translation_units=units, rebuilt=rebuilt)

    def link(
        self,
        spec: BuildSpec,
        links: tuple[LinkSpec, ...],
        *,
        work: Path,
        folder: Path,
        progress: Progress,
        applications: tuple[ApplicationSpec, ...] = (),
    ) -> None:
        """Link targets of a build again, by their own commands, changed as ``links`` specify.

        The tree in ``work`` is built first if it does not match ``spec``; its own files stay. A
        link writes ``links/LABEL/TARGET`` with symbols to ``folder`` and, if its spec requests
        them, ``links/LABEL/stripped/TARGET`` and ``links/LABEL/TARGET.map``.
        """
        tree = _tree(spec, work)
        if not self._is_up_to_date(spec, tree, applications):
            self._make(spec, tree, folder, applications, progress)
        with guard_tree(tree):
            for done, each in enumerate(links):
                progress(done, len(links), f"linking {each.target} ({each.label})")
                link_env = self._link_environment(
                    each.target, each.label, tree, folder, applications
                )
                command = self._find_command(each.target, link_env)
                units = self._list_units(tree, each.target) if each.blocks else ()
                units = choose_units(units, each.holders)
                relink.make(each, command, link_env, folder, units)

    def expect_linkable(
        self,
        spec: BuildSpec,
        targets: tuple[str, ...],
        *,
        work: Path,
        folder: Path,
        applications: tuple[ApplicationSpec, ...] = (),
    ) -> None:
        """Raise InputError unless functions can be left out of what was just built in ``work``."""
        tree = _tree(spec, work)
        with guard_tree(tree):
            for target in targets:
                link_env = self._link_environment(target, "check", tree, folder, applications)
                relink.expect_linkable(target, self._find_command(target, link_env), link_env)

    def open_tests(
        self,
        spec: BuildSpec,
        target: str,
        *,
        work: Path,
        folder: Path,
        progress: Progress,
        applications: tuple[ApplicationSpec, ...] = (),
    ) -> SuiteFolder:
        """Return where the project's own tests run. The tree is built first if it is not."""
        tree = _tree(spec, work)
        if not self._is_up_to_date(spec, tree, applications):
            self._make(spec, tree, folder, applications, progress)
        return SuiteFolder(
            folder=self._find_start(tree),
            file=self._find_built(tree, target),
            places=self._list_places(tree),
            scratch=tree.root / _TESTS,
            processes=self._processes,
            is_stale=self._trusts_times,
            is_joined=self._links_beside,
        )

    def _find_start(self, tree: WorkTree) -> Path:
        return tree.build

    def _list_places(self, tree: WorkTree) -> tuple[Path, ...]:
        """Return where the build may write."""
        return (tree.build, tree.source)

    def _find_built(self, tree: WorkTree, target: str) -> Path:
        return _find_artifact(tree.build, target)

    def _find_command(self, target: str, link_env: LinkEnvironment) -> LinkCommand:
        return relink.read_command(_find_artifact(link_env.build, target), link_env)

    def _list_units(self, tree: WorkTree, target: str) -> tuple[CompiledUnit, ...]:
        """Return how each object of the build was compiled, for the link of a target."""
        del target  # those of all targets are recorded together
        units = build_records.parse_units(build_records.read_commands(tree.build), tree.build)
        return tuple(
            CompiledUnit(output=output, words=tuple(shlex.split(unit.command)), folder=tree.build)
            for output, unit in units.items()
        )

    def _is_up_to_date(
        self, spec: BuildSpec, tree: WorkTree, applications: tuple[ApplicationSpec, ...]
    ) -> bool:
        trees = {application.tree_of(each, tree).build: (each.name,) for each in applications}
        built = {tree.build: spec.targets, **trees}
        token = self._token(spec, applications)
        return driver.is_up_to_date(tree, token, built, self._processes)

    def _link_environment(
        self,
        target: str,
        label: str,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationSpec, ...],
    ) -> LinkEnvironment:
        linked_tree = tree
        for spec in applications:
            if spec.name == target:
                linked_tree = application.tree_of(spec, tree)
                break
        return LinkEnvironment(
            toolchain=self._toolchain,
            processes=self._processes,
            tree=tree.root,
            build=linked_tree.build,
            scratch=tree.root / relink.LINKS / label / target,
            log=folder / "build.log",
            env=self._env(tree),
        )

    def _token(self, spec: BuildSpec, applications: tuple[ApplicationSpec, ...]) -> str:
        settings = (
            f"{each.name} {each.lto} {each.library} {each.options}" for each in applications
        )
        sources = (each.checkout.digest for each in applications)
        digests = (self._checkout.digest, str(self._launcher()), *settings, *sources)
        return driver.build_token(spec, self._toolchain, digests)

    def _make(
        self,
        spec: BuildSpec,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationSpec, ...],
        progress: Progress,
    ) -> tuple[int, tuple[str, ...], dict[str, Path]]:
        driver.forget_build(tree)
        source_copy.update(spec, tree, self._checkout)
        source_copy.write_if_changed(tree.toolchain_file, self._render_toolchain(spec))
        if spec.source_options is not None:
            text = toolchain_file.render_sources(spec.source_options)
            source_copy.write_if_changed(tree.root / toolchain_file.SOURCES_FILE, text)
        log = folder / "build.log"
        build_env = self._build_environment(spec, tree, log, progress)
        driver.drop_stale_tree(tree, self._toolchain, self._settings(spec, tree))
        before = build_records.read_steps(tree.build)
        # Options that are off have no use if CMake ignores them.
        places = {
            name: f"{self._checkout.root}: {name}" for name, value in spec.options if value == "ON"
        }
        places |= dict(spec.places)
        job = Job(
            source=tree.source / (spec.folder or ""),
            build=tree.build,
            options=self._entries(spec, tree),
            targets=spec.targets,
            log=log,
            jobs=self._jobs,
            env=build_env.env,
            places=places,
        )
        with guard_tree(tree):
            if self._toolchain.first_link:
                progress(0, 0, self._toolchain.first_link)
                driver.link_nothing(self._toolchain, job, tree, self._processes)
            if spec.script is None:
                for program in spec.host_programs:
                    build_host_program(program, tree, build_env)
                driver.run(job, self._processes, progress)
            else:
                self._run_script(spec.script, job, progress)
            rebuilt = build_records.list_compiled(tree.build, before, source=tree.source)
            units = self._prove(spec, tree)
            programs = {
                each.name: application.build(each, tree, build_env) for each in applications
            }
        driver.note_build(tree, self._token(spec, applications))
        return units, rebuilt, programs

    def _run_script(self, script: BuildScript, job: Job, progress: Progress) -> None:
        env = {**job.env, **script.variables(job.set_entries())}
        driver.run_script(script, replace(job, env=env), self._processes, progress)

    def _render_toolchain(self, spec: BuildSpec) -> str:
        return toolchain_file.render(
            self._toolchain,
            quoted_include=bool(spec.include),
            compile_flags=spec.compile_flags,
            link_flags=(*spec.link_flags, *spec.own_link_flags),
        )

    def _entries(self, spec: BuildSpec, tree: WorkTree) -> tuple[tuple[str, str], ...]:
        own = [("CMAKE_TOOLCHAIN_FILE", str(tree.toolchain_file)), *self._launcher()]
        if spec.source_options is not None:
            lists = self._checkout.text(toolchain_file.LISTS)
            name = toolchain_file.option_name(lists, root=str(self._checkout.root))
            own.append((name, str(tree.root / toolchain_file.SOURCES_FILE)))
        return (*spec.options, *spec.header_entry(tree.source), *own)

    def _settings(self, spec: BuildSpec, tree: WorkTree) -> tuple[tuple[str, str], ...]:
        hook = spec.source_options
        by_folder = (("source options", toolchain_file.render_sources(hook)),) if hook else ()
        folder = (("folder", spec.folder),) if spec.folder else ()
        return (
            *self._entries(spec, tree),
            ("toolchain file", self._render_toolchain(spec)),
            *folder,
            *by_folder,
        )

    def _launcher(self) -> tuple[tuple[str, str], ...]:
        ccache = self._processes.which("ccache")
        return (("CMAKE_CXX_COMPILER_LAUNCHER", ccache),) if ccache else ()

    def _env(self, tree: WorkTree) -> Mapping[str, str]:
        # Equal sources in another folder are the same compilation. A date does not identify a
        # compiler: a package update keeps its path and may keep its date.
        compiler = self._toolchain.cxx_compiler
        return {
            **self._cache.variables(self._processes, compiler, tree.root),
            "CCACHE_BASEDIR": str(tree.root),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_COMPILERCHECK": self._toolchain.compiler_check,
        }

    def _prove(self, spec: BuildSpec, tree: WorkTree) -> int:
        if spec.forced_header is None:
            return 0
        marks = tree.include / spec.marks_header if spec.marks_header else None
        units = build_records.prove(
            build_records.read_commands(tree.build),
            build_records.read_dependencies(tree.build, self._processes),
            header=tree.source / spec.forced_header,
            marks=marks,
            build=tree.build,
        )
        source_copy.expect_unchanged(spec, tree)
        return units

    def _build_environment(
        self, spec: BuildSpec, tree: WorkTree, log: Path, progress: Progress
    ) -> BuildEnvironment:
        return BuildEnvironment(
            toolchain=self._toolchain,
            processes=self._processes,
            jobs=self._jobs,
            env=self._env(tree),
            launcher=self._launcher(),
            link_flags=spec.link_flags,
            log=log,
            progress=progress,
        )

    def _copy_stripped(self, built: Path, copy: Path, variant: Variant) -> int:
        copies = [copy]
        if variant in (Variant.PLAIN, Variant.REDUCED):
            copies.append(copy.parents[1] / UNSTRIPPED / copy.name)
        for each in copies:
            each.parent.mkdir(exist_ok=True)
            shutil.copy2(built, each)
        if self._toolchain.strip:
            self._processes.capture(*self._toolchain.strip, str(copy))
        return copy.stat().st_size


def choose_units(
    units: tuple[CompiledUnit, ...], holders: Collection[str]
) -> tuple[CompiledUnit, ...]:
    """Return those whose functions the program has. All, if one of the ``holders`` is not known.

    What a header defines is in many units, and the link takes it from one. libtool renames objects
    on their way into an archive.
    """
    if not {unit.output.name for unit in units}.issuperset(holders):
        return units
    return tuple(unit for unit in units if unit.output.name in holders)


def _tree(spec: BuildSpec, work: Path) -> WorkTree:
    return WorkTree(root=work, inside=spec.script.build if spec.script else "")


@contextmanager
def guard_tree(tree: WorkTree) -> Iterator[None]:
    """Raise InfrastructureFailure for any failure in a tree that was removed meanwhile."""
    try:
        yield
    except (InputError, ProductFailure, OSError):
        if source_copy.is_whole(tree.source) and driver.is_started(tree):
            raise
        msg = f"{tree.root} was removed or unmounted during the build"
        hint = "do not change the folder of results while megtrim works, and run it again"
        raise InfrastructureFailure(msg, hint=hint) from None


def _find_artifact(build: Path, target: str) -> Path:
    found = next((path for path in sorted(build.rglob(target)) if is_elf(path)), None)
    if found is None:
        msg = f"the build in {build} made no file called {target}"
        raise ProductFailure(msg, hint="is it the name of a target of this engine?")
    # A library may be a link to the file with its version, which alone was linked.
    whole = build.resolve()
    made = found.resolve()
    if not made.is_relative_to(whole):
        msg = f"the build in {build} made {target} a link out of it, to {made}"
        raise ProductFailure(msg, hint="name a target that the build makes itself")
    return build / made.relative_to(whole)


def build_host_program(program: HostProgram, tree: WorkTree, build_env: BuildEnvironment) -> None:
    target = program.target
    build = tree.root / f"host_{target}"
    compiler = build_env.toolchain.host_cxx or build_env.toolchain.cxx_compiler
    job = Job(
        source=tree.source / program.source,
        build=build,
        options=(
            ("CMAKE_BUILD_TYPE", "Release"),
            ("CMAKE_CXX_COMPILER", compiler[0]),
            *program.options,
            *build_env.launcher,
        ),
        targets=(target,),
        log=build_env.log,
        jobs=build_env.jobs,
        env=build_env.env,
    )
    driver.run(
        job, build_env.processes, lambda done, total, _: build_env.progress(done, total, target)
    )
    place = tree.source / program.place
    if place.exists() and place.read_bytes() == (build / target).read_bytes():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    # A link in its place would be followed, and may lead out of the tree.
    place.unlink(missing_ok=True)
    shutil.copy2(build / target, place)
