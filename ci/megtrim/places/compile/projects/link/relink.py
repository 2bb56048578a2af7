"""Links a built target again by its own link command, without touching the tree's outputs."""

import json
import mmap
import os
import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import LinkSpec
from megtrim.core.functions import addresses, link_map, linker_script, local_functions, rest
from megtrim.libs.elf.layout import ELF_MAGIC
from megtrim.libs.elf.objects import ARCHIVE_MAGIC, THIN_MAGIC
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.places.compile.projects.cmake import driver
from megtrim.places.compile.projects.link import invocation, splitting
from megtrim.places.compile.projects.link.invocation import (
    ASK_TIMEOUT_S,
    LINK_TIMEOUT_S,
    LinkCall,
    LinkCommand,
    LinkEnvironment,
    Linker,
)
from megtrim.places.compile.projects.link.splitting import CompiledUnit

LINKS = "links"
STRIPPED = "stripped"
OBJECTS = ".objects"
WHOLE = ".whole"
"""After the name of a linked file: its objects' digests, and the units that could not be cut."""
_COMPILE = (
    "-c",
    "-O2",
    "-fPIC",
    "-fno-lto",
    # A source may run before the program's start-up is done, and nothing unwinds through a trap.
    "-fno-stack-protector",
    "-fno-unwind-tables",
    "-fno-asynchronous-unwind-tables",
)
_RESPONSE_FILE = re.compile(r"\s@")
_REFUSED = re.compile(
    r"unknown (?:argument|option|directive|linker script)|unrecognized (?:command-line )?option"
    r"|syntax error|malformed number|file format not recognized|unsupported linker arg"
)
Here = Callable[[Path], Path]
"""Maps a path as the linker sees it to the path of the same file on this machine, if any."""

_STATIC = frozenset({"-Bstatic", "-dn", "-non_shared", "-static"})
_DYNAMIC = frozenset({"-Bdynamic", "-dy", "-call_shared"})
_MAX_SCRIPT_BYTES = 4096
_LIBRARIES = re.compile(rb"\s*INPUT\s*\(((?:\s*-l[\w+.-]+)+)\s*\)\s*")
"""A library file that only lists others, such as the Android NDK's ``libc++.a``."""

_UNWINDERS = frozenset({"libgcc_eh.a", "libgcc_real.a"})
"""They abort, without their message, if they do not find unwind tables of their own."""


def make(
    spec: LinkSpec,
    command: LinkCommand,
    link_env: LinkEnvironment,
    folder: Path,
    units: Collection[CompiledUnit],
) -> None:
    """Link to ``folder/links/LABEL/TARGET``, with symbols; ``stripped/TARGET`` is next to it.

    ``units`` are compiled again where functions are cut.

    Raises InputError if the linker cannot do it, ProductFailure if the link fails.
    """
    linked = folder / LINKS / spec.label / spec.target
    stripped = linked.parent / STRIPPED / spec.target
    _clear(link_env.scratch, stripped.parent if spec.strip else linked.parent)
    if spec.left_out:
        spec = _set_stubs(spec, command, link_env)
    sources = (*spec.sources, *linker_script.hiding_sources(spec.hidden))
    objects = tuple(_compile_source(source, command, link_env) for source in sources)
    # Before every other object, so that our start-up code runs first.
    command = replace(command, words=(*objects, *command.words))
    call = invocation.find(command, spec.target, link_env)
    if spec.unfolded:
        _expect_code(command, call, spec.target, link_env)
    argv = (*call.argv, *_last(spec, call, link_env))
    if spec.blocks:
        if call.linker is not Linker.LLD:
            msg = f"{spec.target}: {call.linker} links it, and functions are cut for lld only"
            raise InputError(msg, hint="link with -fuse-ld=lld, or set trim.level: deferred")
        inputs = tuple(resolve_argv(argv[1:], link_env))
        cut = splitting.split(argv[0], inputs, spec, units, link_env)
        argv = cut.argv
        _write_rows(linked.with_name(f"{linked.name}{WHOLE}"), cut.whole)
    elif spec.digests:
        paths = (path for _, path in resolve_argv(argv[1:], link_env))
        digests = sorted({*splitting.list_objects(paths)})
        _write_rows(linked.with_name(f"{linked.name}{OBJECTS}"), digests)
    if spec.deferred or spec.blocks:
        argv = _defer_sections(argv, call, spec, link_env)
    elif spec.emptied or not spec.unwind_tables:
        argv = copy_inputs(argv, link_env, spec)
    map_flags = call.adapt_flags((f"-Wl,-Map={linked}.map",)) if spec.map else ()
    _link((*argv, *map_flags), linked, spec, link_env)
    if spec.strip and link_env.toolchain.strip:
        _copy(linked, stripped)
        link_env.processes.capture(*link_env.toolchain.strip, str(stripped))
    elif spec.strip:
        _link((*argv, "-s"), stripped, spec, link_env)


def _write_rows(path: Path, rows: Iterable[str]) -> None:
    write_atomically(path, "".join(f"{row}\n" for row in rows))


def _set_stubs(spec: LinkSpec, command: LinkCommand, link_env: LinkEnvironment) -> LinkSpec:
    names = frozenset(name for group in spec.left_out for name in group)
    call = invocation.find(command, spec.target, link_env)
    addressed: set[str] = set()
    for _, path in resolve_argv(call.argv[1:], link_env):
        if path is not None and not link_map.is_platform(path.name):
            addressed |= addresses.find_addressed(path.read_bytes(), names, source=str(path))
    return replace(
        spec,
        sources=(*spec.sources, *linker_script.apart_sources(spec.left_out, addressed)),
        script=linker_script.script(spec.left_out, addressed),
    )


def expect_linkable(target: str, command: LinkCommand, link_env: LinkEnvironment) -> None:
    _clear(link_env.scratch)
    _expect_code(command, invocation.find(command, target, link_env), target, link_env)


def _expect_code(
    command: LinkCommand, call: LinkCall, target: str, link_env: LinkEnvironment
) -> None:
    invocation.read_expecting_code(command.words, link_env.build, call.linker, target=target)


def _clear(scratch: Path, *folders: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in (scratch, *folders):
        with guard_write(folder):
            folder.mkdir(parents=True, exist_ok=True)


def _copy(linked: Path, copy: Path) -> None:
    with guard_write(copy):
        shutil.copy2(linked, copy)


def read_command(built: Path, link_env: LinkEnvironment) -> LinkCommand:
    """Ask Ninja how it linked a file."""
    name = str(built.relative_to(link_env.build))
    ninja = (link_env.processes.build_tool("ninja"), "-C", str(link_env.build), "-t")
    output = link_env.processes.capture(*ninja, "commands", "-s", name, timeout_s=ASK_TIMEOUT_S)
    lines = [each for each in output.splitlines() if not each.startswith("ninja: ")]
    if not lines:
        msg = f"Ninja has no command that makes {name}"
        raise InputError(msg, hint="functions are trimmed in targets that the build links")
    text = lines[-1]
    if _RESPONSE_FILE.search(text):
        # Ninja deletes the response file after the command, but knows its content.
        listed = link_env.processes.capture(*ninja, "compdb", "-x", timeout_s=ASK_TIMEOUT_S)
        own = (load["command"] for load in json.loads(listed) if load["output"] == name)
        text = next(own, text)
    return invocation.parse(text, target=name)


def _compile_source(named: tuple[str, str], command: LinkCommand, link_env: LinkEnvironment) -> str:
    name, text = named
    source = link_env.scratch / name
    made = link_env.scratch / f"{name}.o"
    write_atomically(source, text)
    compiler = (*link_env.toolchain.c_compiler, *link_env.toolchain.compile_flags)
    words = (*invocation.compile_words(command.words), *_COMPILE)
    outcome = link_env.run((*compiler, *words, str(source), "-o", str(made)), ASK_TIMEOUT_S)
    link_env.expect(outcome, f"{name} does not compile with {link_env.toolchain.version}")
    return str(made)


def _last(spec: LinkSpec, call: LinkCall, link_env: LinkEnvironment) -> tuple[str, ...]:
    unfolded = invocation.UNFOLDED[call.linker] if spec.unfolded else ()
    flags = call.adapt_flags((*unfolded, *spec.flags))
    if spec.layout:
        layout = link_env.scratch / "layout.ld"
        write_atomically(layout, spec.layout)
        flags = (*flags, *call.adapt_flags((f"-Wl,-T,{layout}",)))
    if not spec.script:
        return flags
    # The linker recognises a script by its content, which is text.
    script = link_env.scratch / "functions.ld"
    write_atomically(script, spec.script)
    return (*flags, str(script))


def _link(argv: tuple[str, ...], output: Path, spec: LinkSpec, link_env: LinkEnvironment) -> None:
    outcome = link_env.run((*argv, "-o", str(output)), LINK_TIMEOUT_S)
    if outcome.ok:
        return
    output.unlink(missing_ok=True)
    what = f"{spec.target} does not link again ({spec.label})"
    if _REFUSED.search(outcome.stdout):
        msg = f"{what}:\n{driver.first_error(outcome.stdout)}"
        raise InputError(msg, hint="choose a toolchain with lld, or trim.level: region")
    link_env.expect(outcome, what)


def resolve_argv(
    argv: Sequence[str], link_env: LinkEnvironment
) -> Iterator[tuple[str, Path | None]]:
    here = _from_image(argv, link_env) if link_env.toolchain.image else lambda path: path
    yield from _resolve_paths(argv, link_env.build, here)


def _resolve_paths(
    argv: Sequence[str], build: Path, here: Here
) -> Iterator[tuple[str, Path | None]]:
    folders = _folders(argv, build)
    static = False
    for word in argv:
        if word in _STATIC or word in _DYNAMIC:
            static = word in _STATIC
        if word.startswith("-l"):
            yield from _library(word, folders, here, static=static)
        elif word.startswith("-"):
            yield word, None
        else:
            path = here(build / word)
            yield word, path if _is_input(path) else None


def _from_image(argv: Sequence[str], link_env: LinkEnvironment) -> Here:
    """A library file may list others, so copying repeats until nothing is missing.

    A path with ``..`` after a symbolic link to a folder is not found, and its file is not edited.
    """
    needed: set[str] = set()
    mirror = link_env.scratch / "image"
    tree = link_env.tree.resolve()

    def here(path: Path) -> Path:
        if path.resolve().is_relative_to(tree):
            return path
        whole = os.path.normpath(path)
        needed.add(whole)
        return mirror / whole.lstrip("/")

    copied: set[str] = set()
    while True:
        list(_resolve_paths(argv, link_env.build, here))
        if needed == copied:
            return here
        _copy_out(sorted(needed - copied), mirror, link_env)
        copied |= needed


def _copy_out(paths: Sequence[str], mirror: Path, link_env: LinkEnvironment) -> None:
    with guard_write(mirror):
        mirror.mkdir(exist_ok=True)
    # It exits with 1 if a path is missing.
    find = ("find", "-L", *paths, "-maxdepth", "0", "-type", "f", "-readable")
    there = _capture_stdout(find, link_env, (0, 1)).split("\n")
    if copied := sorted(set(paths).intersection(there)):
        # With their own modes, read-only folders would block the next copies.
        how = ("--dereference", "--parents", "--no-preserve=mode")
        _capture_stdout(
            ("cp", *how, "--target-directory", str(mirror), "--", *copied), link_env, (0,)
        )


def _capture_stdout(
    argv: tuple[str, ...], link_env: LinkEnvironment, statuses: Collection[int]
) -> str:
    # Keep the streams apart: a container's warnings may come in the middle of the output.
    outcome = link_env.run(argv, ASK_TIMEOUT_S, merged=False)
    if outcome.timed_out or outcome.rc not in statuses:
        why = outcome.stderr.rstrip().rpartition("\n")[2] or f"{argv[0]} exited with {outcome.rc}"
        msg = f"libraries cannot be copied out of {link_env.processes.where}: {why}"
        raise InfrastructureFailure(msg, hint=f"the log is {link_env.log}")
    return outcome.stdout


def _folders(argv: Sequence[str], build: Path) -> list[Path]:
    pairs = ((word, following) for word, following in zip(argv, (*argv[1:], ""), strict=True))
    return [build / (word[2:] or following) for word, following in pairs if word.startswith("-L")]


def _library(
    word: str, folders: Sequence[Path], here: Here, *, static: bool
) -> Iterator[tuple[str, Path | None]]:
    name = word[2:]
    endings = (".a",) if static else (".so", ".a")
    spelt = (name[1:],) if name.startswith(":") else tuple(f"lib{name}{end}" for end in endings)
    paths = (here(folder / each) for folder in folders for each in spelt)
    path = next((each for each in paths if each.is_file()), None)
    if path is None or path.suffix == ".so":
        yield word, None
    elif _is_input(path):
        yield word, path
    elif path.stat().st_size <= _MAX_SCRIPT_BYTES and (
        listed := _LIBRARIES.fullmatch(path.read_bytes())
    ):
        for each in listed[1].decode().split():
            yield from _library(each, folders, here, static=static)
    else:
        yield word, None


def _is_input(path: Path) -> bool:
    """Raises InputError for a thin archive."""
    if not path.is_file():
        return False
    expect_objects(path, shown=str(path))
    with path.open("rb") as file:
        return file.read(len(ARCHIVE_MAGIC)).startswith((ELF_MAGIC, ARCHIVE_MAGIC))


def expect_objects(path: Path, *, shown: str) -> None:
    """Raise InputError for a thin archive: what its objects refer to would not be seen."""
    with path.open("rb") as file:
        if file.read(len(THIN_MAGIC)) == THIN_MAGIC:
            msg = f"{shown} is a thin archive, which contains no objects"
            raise InputError(msg, hint="make it with ar, without T and --thin")


def _defer_sections(
    argv: Sequence[str], call: LinkCall, spec: LinkSpec, link_env: LinkEnvironment
) -> tuple[str, ...]:
    """Of data, what the linker drops if deferred functions refer to nothing goes with them."""
    linked = link_env.scratch / "needed"
    listed = link_env.scratch / "needed.map"
    flags = (*invocation.UNFOLDED[call.linker], "-Wl,-O0", f"-Wl,-Map={listed}")
    alone = copy_inputs(argv, link_env, spec)
    _link((*alone, *call.adapt_flags(flags)), linked, spec, link_env)
    return copy_inputs(argv, link_env, spec, link_map.parse_placed(listed.read_bytes()))


def copy_inputs(
    argv: Sequence[str],
    link_env: LinkEnvironment,
    spec: LinkSpec,
    placed: Mapping[str, Collection[tuple[str, str]]] | None = None,
) -> tuple[str, ...]:
    """Libraries that a compiler driver adds by itself are not edited, and neither are the C library
    and the compiler's own. Each copy has a scratch folder of its own, because linkers identify
    archives by name. Deferred functions refer to nothing in the copies until it is known what a
    link of them ``placed``. Raises InputError for a damaged object or archive.
    """
    names = local_functions.number_names(spec.emptied)
    cut = frozenset(name for name, _ in spec.blocks)
    deferred = rest.Deferred(whole=frozenset(spec.deferred), cut=cut)
    near = frozenset(spec.near)
    made: dict[Path, str] = {}
    words = [argv[0]]
    for word, path in resolve_argv(argv[1:], link_env):
        if path is None or link_map.is_platform(path.name):
            words.append(word)
            continue
        if path not in made:
            place = Path(str(len(made)), path.name)
            copy = link_env.scratch / ("inputs" if placed is None else "deferred") / place
            data = path.read_bytes()
            edits = local_functions.edits(
                data,
                names,
                source=str(path),
                form=spec.form,
                unwind_tables=spec.unwind_tables or path.name in _UNWINDERS,
            )
            if placed is not None:
                needed = placed.get(str(link_env.scratch / "inputs" / place))
                edits += rest.edits(data, deferred, needed, near, source=str(path))
            elif deferred.whole or deferred.cut:
                edits += rest.forget(data, deferred, source=str(path))
            made[path] = str(copy) if _copy_edited(path, copy, edits) else word
        words.append(made[path])
    return tuple(words)


def _copy_edited(path: Path, copy: Path, edits: Sequence[tuple[int, bytes]]) -> bool:
    if not edits:
        return False
    with guard_write(copy):
        copy.parent.mkdir(parents=True)
        shutil.copyfile(path, copy)
        with copy.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            for at, new in edits:
                content[at : at + len(new)] = new
    return True
