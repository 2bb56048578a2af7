"""Builds by a project's own commands, in a copy of its source, and reads how it linked."""

import hashlib
import os
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import BuildSpec
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.places.compile.projects import source_copy
from megtrim.places.compile.projects.application import ApplicationSpec
from megtrim.places.compile.projects.builder import Builder, Progress, guard_tree
from megtrim.places.compile.projects.checkout import Checkout, digest_of
from megtrim.places.compile.projects.cmake import driver
from megtrim.places.compile.projects.cmake.driver import WorkTree
from megtrim.places.compile.projects.link.invocation import LinkCommand, LinkEnvironment
from megtrim.places.compile.projects.link.splitting import CompiledUnit
from megtrim.places.compile.projects.linked_files import is_elf
from megtrim.places.compile.projects.recorded import inputs, links
from megtrim.places.compile.projects.recorded.calls import RecordedCall, Role
from megtrim.places.compile.projects.recorded.links import RecordedLink
from megtrim.places.compile.projects.recorded.wrapper import WITHIN
from megtrim.places.compile.projects.recorded.wrappers import SECTIONS, Wrappers

_HOME = "home"
_TMP = "tmp"
_COMPILED = "compiled"
_WRAPPERS = "wrappers"


def run_recorded(
    commands: tuple[tuple[str, ...], ...],
    tree: WorkTree,
    processes: ProcessRunner,
    log: Path,
    progress: Progress,
    *,
    linking: tuple[str, ...] = (),
    of_clang: tuple[str, ...] = (),
) -> tuple[RecordedCall, ...]:
    """Run the commands in ``tree.source``, one after the other, and return what they called.

    Nothing that they keep for themselves is a person's own: home and temporary files are folders of
    the tree. Raises ProductFailure for a command that fails.
    """
    places = {"HOME": tree.root / _HOME, "TMPDIR": tree.root / _TMP}
    with guard_write(tree.root):
        for folder in places.values():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
    wrappers = Wrappers(tree.root / _WRAPPERS)
    runner = processes.for_builds()
    # Debug information is never shipped. Without it, and without the tree's own path, equal sources
    # compile to equal bytes everywhere.
    behind = ("-g0", f"-ffile-prefix-map={tree.source}=.")
    search = runner.env.get("PATH", os.defpath)
    path = wrappers.lay(search, before=SECTIONS, behind=behind, linking=linking, of_clang=of_clang)
    own = {name: str(folder) for name, folder in places.items()}
    env = {
        **own,
        "PATH": path,
        "XDG_CACHE_HOME": f"{own['HOME']}/.cache",
        "XDG_CONFIG_HOME": f"{own['HOME']}/.config",
    }
    for number, words in enumerate(commands):
        shown = shlex.join(words)
        progress(number, len(commands), shown)
        command = Command(
            argv=words,
            cwd=tree.source,
            timeout_s=driver.BUILD_TIMEOUT_S,
            env=env,
            merge_stderr=True,
            log=log,
        )
        with log.open("a", encoding="utf-8") as stream:
            stream.write(f"$ {shown}\n")
        outcome = runner.run(command)
        driver.expect(outcome, build=tree.source, log=log, what=f"`{shown}` fails")
    return wrappers.read()


class RecordedBuilder(Builder):
    """The commands run from the start whenever anything changed: what a build finds up to date, it
    does not link, and nothing would be recorded.
    """

    runs_commands = True
    _trusts_times = False
    _links_beside = False

    def _make(
        self,
        spec: BuildSpec,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationSpec, ...],
        progress: Progress,
    ) -> tuple[int, tuple[str, ...], dict[str, Path]]:
        if not self.runs_commands:
            shown = shlex.join(spec.commands[0])
            msg = f"the project is not built, and this verb runs none of its commands (`{shown}`)"
            raise InputError(msg, hint="trim first", command=("trim",))
        driver.forget_build(tree)
        driver.drop_stale_tree(tree, self._toolchain, ())
        source_copy.forget(tree.source)
        shutil.rmtree(tree.root / _COMPILED, ignore_errors=True)
        source_copy.update(spec, tree, self._checkout)
        log = folder / "build.log"
        with guard_tree(tree):
            calls = run_recorded(
                spec.commands,
                tree,
                self._processes,
                log,
                progress,
                linking=spec.own_link_flags,
                of_clang=spec.compile_flags,
            )
            expect_untouched(self._checkout)
            for target in spec.targets:
                self._read_link(target, spec.commands, calls, tree, log)
        driver.note_build(tree, self._full_token(spec, tree, applications))
        return 0, list_compiled(calls), {}

    def _read_link(
        self,
        target: str,
        commands: tuple[tuple[str, ...], ...],
        calls: tuple[RecordedCall, ...],
        tree: WorkTree,
        log: Path,
    ) -> None:
        link = find_target(calls, target, tree, command=shlex.join(commands[-1]))
        links.expect_repeatable(link)
        expect_inside(link, tree)
        link_env = self._environment_of(link, "read", tree, log)
        expect_same_compiler(link, self._toolchain.target, link_env)
        inputs.expect_known_places(link, link_env)
        command = self._compile_sources(link, link_env)
        unsplit, split_bytes = inputs.find_unsplit(command, link_env)
        if unsplit and not split_bytes:
            msg = f"no function of {target} is in a separate section, so none can be left out"
            hint = "compile with -ffunction-sections, and without -fno-function-sections"
            raise InputError(msg, hint=hint)
        if unsplit:
            with log.open("a", encoding="utf-8") as stream:
                stream.write(f"{inputs.describe_unsplit(unsplit, target)}\n")

    def _compile_sources(self, link: RecordedLink, link_env: LinkEnvironment) -> LinkCommand:
        folder = link_env.tree / _COMPILED / link.name
        if folder.is_dir():
            shutil.rmtree(folder)
        return inputs.compile_sources(link, folder, link_env)

    def _list_units(self, tree: WorkTree, target: str) -> tuple[CompiledUnit, ...]:
        calls = Wrappers(tree.root / _WRAPPERS).read()
        link = self._find(target, tree)
        folder = tree.root / _COMPILED / link.name
        made = (*links.list_units(calls), *inputs.list_units(link, folder))
        # Of several commands that made one file, the last one made what is there.
        return tuple({each.output: each for each in made}.values())

    def _find(self, target: str, tree: WorkTree) -> RecordedLink:
        calls = Wrappers(tree.root / _WRAPPERS).read()
        return find_target(calls, target, tree, command="the build")

    def _find_start(self, tree: WorkTree) -> Path:
        return tree.source

    def _list_places(self, tree: WorkTree) -> tuple[Path, ...]:
        return list_own_folders(tree)

    def _find_built(self, tree: WorkTree, target: str) -> Path:
        return Path(self._find(target, tree).output)

    def _find_command(self, target: str, link_env: LinkEnvironment) -> LinkCommand:
        link = self._find(target, WorkTree(root=link_env.tree))
        return self._compile_sources(link, link_env)

    def _link_environment(
        self,
        target: str,
        label: str,
        tree: WorkTree,
        folder: Path,
        applications: tuple[ApplicationSpec, ...],
    ) -> LinkEnvironment:
        del applications
        link = self._find(target, tree)
        return self._environment_of(link, label, tree, folder / "build.log")

    def _environment_of(
        self, link: RecordedLink, label: str, tree: WorkTree, log: Path
    ) -> LinkEnvironment:
        return LinkEnvironment(
            toolchain=self._toolchain,
            processes=self._processes,
            tree=tree.root,
            build=Path(link.cwd),
            scratch=tree.root / "links" / label / link.name,
            log=log,
            # Its words may name the folder of the wrappers; this call is not the build's.
            env={WITHIN: "1"},
        )

    def _is_up_to_date(
        self, spec: BuildSpec, tree: WorkTree, applications: tuple[ApplicationSpec, ...]
    ) -> bool:
        try:
            expected = self._full_token(spec, tree, applications)
        except InputError:
            return False
        return driver.is_up_to_date(tree, expected, {}, self._processes)

    def _full_token(
        self, spec: BuildSpec, tree: WorkTree, applications: tuple[ApplicationSpec, ...]
    ) -> str:
        """Of what was asked for, of the record and of what the links read."""
        digest = hashlib.sha256(self._token(spec, applications).encode())
        read = [Wrappers(tree.root / _WRAPPERS).record]
        for target in spec.targets:
            link = self._find(target, tree)
            spelt = (*links.iter_inputs(link.words), link.output)
            read += (Path(link.cwd, each) for each in spelt)
        for path in read:
            digest.update(os.fsencode(f"{path} {digest_of(path)}\n"))
        return digest.hexdigest()


class IdleBuilder(RecordedBuilder):
    """Starts no command: it links again what is built."""

    runs_commands = False


def find_kept_links(calls: tuple[RecordedCall, ...]) -> dict[str, RecordedLink]:
    """Return the links whose files are still there, as those of a configure script are not."""
    found = links.find_links(calls)
    return {name: link for name, link in found.items() if is_elf(Path(link.output))}


def find_target(
    calls: tuple[RecordedCall, ...], target: str, tree: WorkTree, *, command: str
) -> RecordedLink:
    """Find it by the name that it was linked by, or that the build gave a copy of it.

    Raises InputError for a target that the build did not link.
    """
    found = links.find_links(calls)
    if target in found:
        return found[target]
    kept = find_kept_links(calls)
    copies = (
        path
        for folder in list_own_folders(tree)
        for path in sorted(folder.rglob("*"))
        if path.name == target and is_elf(path)
    )
    for digest in map(digest_of, copies):
        for link in kept.values():
            if digest_of(Path(link.output)) == digest:
                return replace(link, name=target)
    return links.find_link(kept, target, command=command)


def expect_untouched(checkout: Checkout) -> None:
    for name, digest in checkout.files.items():
        if digest_of(checkout.root / name) != digest:
            msg = f"{checkout.root / name} changed while a copy of it was built"
            hint = "a command of engine.build may only write to the folder that it starts in"
            raise InputError(msg, hint=hint)


def list_own_folders(tree: WorkTree) -> tuple[Path, ...]:
    """Bazel builds in its home, which each build finds empty, as it finds the copy anew."""
    return (tree.source, tree.root / _HOME)


def expect_inside(link: RecordedLink, tree: WorkTree) -> None:
    """Raise unless the linked file, and the folder it was linked in, are in the copy."""
    own = [folder.resolve() for folder in list_own_folders(tree)]
    for place in (link.output, link.cwd):
        if not any(Path(place).resolve().is_relative_to(folder) for folder in own):
            msg = f"the build links {link.name} in {place}, outside of the copy that it starts in"
            raise InputError(msg, hint="let it write to the folder that it starts in")
    if not is_elf(Path(link.output)):
        msg = f"the build linked {link.name} as {link.output}, where no program is any more"
        raise ProductFailure(msg, hint="does a later step move or remove it?")


def expect_same_compiler(link: RecordedLink, target: str, link_env: LinkEnvironment) -> None:
    """The toolchain is found before anything is built; the record says which one it was."""
    found = link_env.processes.capture(link.program, "-dumpmachine").strip()
    clang = "clang" in link_env.processes.capture(link.program, "--version").partition("\n")[0]
    if found == target and clang == ("clang" in link_env.toolchain.version):
        return
    name = Path(link.program).name
    msg = f"{link.name} is linked by {name}, for {found}, but engine.compiler is for {target}"
    raise InputError(msg, hint=f"write `compiler: {name}` in engine")


def list_compiled(calls: tuple[RecordedCall, ...]) -> tuple[str, ...]:
    compiled = (
        word
        for call in calls
        if call.role is Role.COMPILER and "-c" in call.arguments
        for word in links.iter_inputs(call.arguments)
        if word.endswith(links.SOURCES)
    )
    return tuple(sorted({*compiled}))
