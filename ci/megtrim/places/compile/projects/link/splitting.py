"""Compiles units once more, their functions cut in two by lists of blocks, and links those.

A unit is compiled by its own command, into a folder of its own: the build's tree stays as it is.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import LinkSpec
from megtrim.libs.elf.block_map import MAP_FLAG, MAP_SECTION
from megtrim.libs.elf.layout import DAMAGE, ELF_MAGIC, SYMBOL_TABLE
from megtrim.libs.elf.objects import (
    ARCHIVE_MAGIC,
    MemberKind,
    Object,
    iter_members,
    open_object,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count
from megtrim.places.compile.projects.link.invocation import LINK_TIMEOUT_S, LinkEnvironment
from megtrim.places.compile.projects.link.unit_inputs import InputList, escape, find_changed

_FUNCTION = 2
_TEXT = ".text."
_UNITS = "units"
_WITH_A_WORD = ("-o", "-MF", "-MT", "-MQ", "-MJ", "--serialize-diagnostics")
_JOINED = ("-MF", "-MT", "-MQ", "-MJ", "-Wp,-M", "-save-temps", "--save-temps")
"""Words that begin so name a file of the build, or write into the folder where it compiles."""
_ALONE = ("-MD", "-MMD", "-MP", "-MG", "-MV", MAP_FLAG)
_WAITS = re.compile(
    r"pthread_(?:cond_\w*wait|join|barrier_wait|mutex_\w*lock|rwlock_\w*lock|spin_lock)"
    r"|sem_\w*wait|e?poll\w*|epoll_wait|p?select|\w*sleep|sched_yield|syscall|sigwait\w*|pause"
    r"|(?:mtx|cnd|thrd)_\w+|pthread_once|__p?poll_chk|__cxa_guard_acquire|GOMP_\w+|__kmpc_\w+"
    r"|_ZNK?St(?:3__1|6__ndk1)?(?:18condition_variable|6thread|5mutex|28__atomic_futex)\w*"
    r"|(?:secure_)?getenv"
)
"""A function that calls one of these stays whole: which of its blocks run is up to other threads,
or to the environment.
"""
_BUILT_AGAIN = "it is not the object that it was when its functions were recorded"
_HEADER = "{name:<16}{zero:<12}{zero:<6}{zero:<6}{mode:<8}{size:<10}`\n"


class CompiledUnit(Value):
    output: Path
    words: tuple[str, ...]
    """Its command."""
    folder: Path
    """Where that starts."""


class CutLink(Value):
    argv: tuple[str, ...]
    whole: tuple[str, ...]
    """The units that could not be cut, each with the reason."""


class _Units(Value):
    made: Mapping[bytes, bytes]
    """By the content of each unit's object, that of the one that replaces it."""
    whole: tuple[str, ...]


def split(
    linker: str,
    inputs: Sequence[tuple[str, Path | None]],
    spec: LinkSpec,
    units: Collection[CompiledUnit],
    link_env: LinkEnvironment,
) -> CutLink:
    """Return the call with copies of the ``inputs``, words with their files, that are cut."""
    linked = frozenset(list_objects(path for _, path in inputs))
    found = _compile_all(spec, units, linked, link_env)
    words = [linker]
    for number, (word, path) in enumerate(inputs):
        copy = None
        if path is not None:
            copy = _replace(path, found.made, link_env.scratch / "split" / str(number))
        words.append(word if copy is None else str(copy))
    return CutLink(argv=tuple(words), whole=found.whole)


def _compile_all(
    spec: LinkSpec,
    units: Collection[CompiledUnit],
    linked: frozenset[str],
    link_env: LinkEnvironment,
) -> _Units:
    """A unit whose list is that of the link before is not compiled again.

    ``linked``: digests of the objects that this link reads. Other units may have the same names.
    """
    place = link_env.scratch.parents[1] / _UNITS / link_env.scratch.name
    with guard_write(place):
        place.mkdir(parents=True, exist_ok=True)
    blocks = dict(spec.blocks)
    observed = frozenset(spec.objects)
    made = {}
    whole = []
    used = set()
    for unit in units:
        data = unit.output.read_bytes() if unit.output.is_file() else b""
        names = find_cut(data, blocks, source=str(unit.output))
        digest = _digest(data)
        if not names or data in made or digest not in linked:
            continue
        try:
            if digest not in observed:
                raise _ChangedUnitError(_BUILT_AGAIN)
            there = _compile(unit, {name: blocks[name] for name in names}, place, link_env)
        except _ChangedUnitError as error:
            shown = escape(os.path.relpath(unit.output, link_env.tree))
            whole.append(f"{count(len(names), 'function')} of {shown} stay whole, because {error}")
            continue
        used.add(there)
        made[data] = there.read_bytes()
    with guard_write(place):
        for former in {*place.iterdir()} - used:
            former.unlink()
    return _Units(made=made, whole=tuple(whole))


class _ChangedUnitError(Exception):
    """A unit is not what it was when its functions were recorded."""


def list_objects(paths: Iterable[Path | None]) -> Iterator[str]:
    """Yield the digest of each object among the files and in archives among them."""
    for path in paths:
        data = b"" if path is None else path.read_bytes()
        if data.startswith(ELF_MAGIC):
            yield _digest(data)
        elif data.startswith(ARCHIVE_MAGIC):
            with _whole_archive(path):
                for each in iter_members(data):
                    yield _digest(data[each.start : each.end])


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _whole_archive(path: Path | None) -> Iterator[None]:
    try:
        yield
    except DAMAGE:
        msg = f"{path}: a damaged archive"
        raise InputError(msg, hint="build it again") from None


def find_cut(data: bytes, blocks: Collection[str], *, source: str) -> tuple[str, ...]:
    """Return the functions of an object that can be cut, among those with ``blocks``.

    Raises InputError for a damaged object; a file of another kind has none.
    """
    if not data.startswith(ELF_MAGIC):
        return ()
    try:
        unit = open_object(data)
        return () if unit is None else tuple(sorted({*_find_cut(unit, blocks)}))
    except DAMAGE:
        msg = f"{source}: a damaged object"
        raise InputError(msg, hint="build it again") from None


def _find_cut(unit: Object, blocks: Collection[str]) -> Iterator[str]:
    if not any(each.name == MAP_SECTION for each in unit.sections):
        return  # another compiler made it, which would refuse the list
    symbols = unit.find_symbols()
    names = _read_names(unit)
    waiting = {
        section
        for section, tables in unit.relocated.items()
        for table in tables
        for each in unit.relocations(unit.sections[table])
        if _WAITS.fullmatch(names[each.symbol])
    }
    for symbol in symbols.values():
        section = unit.sections[symbol.section].name
        cuttable = symbol.kind == _FUNCTION and section.startswith(_TEXT)
        if cuttable and symbol.section not in waiting and symbol.name in blocks:
            yield symbol.name


def _read_names(unit: Object) -> list[str]:
    table = unit.find_table(SYMBOL_TABLE)
    return [name for name, *_ in unit.entries(table)] if table else []


def _compile(
    unit: CompiledUnit,
    blocks: Mapping[str, tuple[int, ...]],
    place: Path,
    link_env: LinkEnvironment,
) -> Path:
    """Raises _ChangedUnitError for a unit that no longer compiles to the object that it made."""
    rows = (f"f {name}\nc {' '.join(map(str, of))}\n" for name, of in sorted(blocks.items()))
    text = "v1\n" + "".join(rows)
    words = tuple(without_outputs(unit.words))
    known = (link_env.toolchain.version, *words, text)
    key = hashlib.sha256(unit.output.read_bytes() + "\0".join(known).encode()).hexdigest()
    made = place / f"{key}.o"
    if made.is_file():
        return made
    # A compiler cache knows the list by its name alone.
    listed = place / f"{key}.txt"
    write_atomically(listed, text)
    unfinished = place / "unit.o"
    read = InputList(path=place / "unit.d")
    cut = (f"-fbasic-block-sections=list={listed}", *read.flags, "-o", str(unfinished))
    there = replace(link_env, build=unit.folder)
    outcome = there.run((*words, *cut), LINK_TIMEOUT_S)
    failure = f"{unit.output.name} does not compile with its functions cut"
    if outcome.timed_out:
        there.expect(outcome, failure)
    changed = ""
    if outcome.ok:
        changed = find_changed(read, unit.output, unit.folder, link_env)
    if changed or not outcome.ok:
        _expect_same(unit, (*words, MAP_FLAG), changed or "its source", place, there)
    there.expect(outcome, failure)
    unfinished.replace(made)
    return made


def _expect_same(
    unit: CompiledUnit,
    words: tuple[str, ...],
    changed: str,
    place: Path,
    link_env: LinkEnvironment,
) -> None:
    whole = place / "whole.o"
    outcome = link_env.run((*words, "-o", str(whole)), LINK_TIMEOUT_S)
    if outcome.timed_out:
        link_env.expect(outcome, f"{unit.output.name} does not compile a second time")
    if not outcome.ok:
        msg = "it does not compile any more"
        raise _ChangedUnitError(msg)
    if whole.read_bytes() != unit.output.read_bytes():
        msg = f"it compiles to another object than before: {changed} may have changed"
        raise _ChangedUnitError(msg)


def without_outputs(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command that compiles, but for those that name what it writes."""
    rest = iter(words)
    for word in rest:
        if word in _WITH_A_WORD:
            next(rest, None)
        elif word not in _ALONE and not word.startswith(_JOINED):
            yield word


def _replace(path: Path, made: Mapping[bytes, bytes], place: Path) -> Path | None:
    data = path.read_bytes()
    new = made.get(data)
    if new is None and data.startswith(ARCHIVE_MAGIC):
        with _whole_archive(path):
            new = replace_members(data, made)
    if new is None:
        return None
    copy = place / path.name
    with guard_write(copy):
        copy.parent.mkdir(parents=True)
        copy.write_bytes(new)
    return copy


def replace_members(data: bytes, made: Mapping[bytes, bytes]) -> bytes | None:
    """Return the archive with members replaced, by their content; None if it has none of them.

    The new archive has no index: lld reads the members themselves.
    """
    found = [each for each in iter_members(data) if each.kind is MemberKind.FILE]
    if not any(data[each.start : each.end] in made for each in found):
        return None
    names = b""
    body = b""
    for each in found:
        content = data[each.start : each.end]
        content = made.get(content, content)
        name = f"/{len(names)}"
        names += each.name.encode() + b"/\n"
        body += _head(name, len(content)) + content + b"\n" * (len(content) % 2)
    names += b"\n" * (len(names) % 2)
    return ARCHIVE_MAGIC + _head("//", len(names)) + names + body


def _head(name: str, size: int) -> bytes:
    return _HEADER.format(name=name, zero=0, mode=644, size=size).encode()
