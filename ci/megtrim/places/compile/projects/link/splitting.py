"""Compiles units once more, their functions cut in two by lists of blocks, and links those.

A unit is compiled by its own command, into a folder of its own: the build's tree stays as it is.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from megtrim.libs.elf.block_map import MAP_FLAG
from megtrim.libs.elf.layout import DAMAGE
from megtrim.libs.elf.objects import (
    ARCHIVE_MAGIC,
    MemberKind,
    Object,
    iter_members,
    open_object,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write, write_atomically
from megtrim.places.compile.projects.cmake import build_records
from megtrim.places.compile.projects.link.invocation import ASK_TIMEOUT_S, LinkEnvironment

_FUNCTION = 2
_TEXT = ".text."
_WITH_A_WORD = ("-o", "-MF", "-MT", "-MQ")
_ALONE = ("-MD", "-MMD", MAP_FLAG)
_WAITS = re.compile(
    r"pthread_(?:cond_\w*wait|join|barrier_wait|mutex_\w*lock|rwlock_\w*lock|spin_lock)"
    r"|sem_\w*wait|e?poll\w*|epoll_wait|p?select|\w*sleep|sched_yield|syscall|sigwait\w*|pause"
    r"|_ZNSt(?:18condition_variable\w*|6thread\w*)"
    r"|(?:secure_)?getenv"
)
"""A function that calls one of these stays whole: which of its blocks run is up to other threads, or
to the environment.
"""
_HEADER = "{name:<16}{zero:<12}{zero:<6}{zero:<6}{mode:<8}{size:<10}`\n"
_MAX_SHORT = 15


def split(
    argv: Sequence[str], blocks: Mapping[str, tuple[int, ...]], link_env: LinkEnvironment
) -> tuple[str, ...]:
    """Return the call with copies of the inputs in which functions are cut."""
    made = _compile_all(blocks, link_env)
    words = [argv[0]]
    for number, word in enumerate(argv[1:]):
        path = link_env.build / word
        copy = None
        if not word.startswith("-") and path.is_file():
            copy = _replace(path, made, link_env.scratch / "split" / str(number))
        words.append(word if copy is None else str(copy))
    return tuple(words)


def _compile_all(
    blocks: Mapping[str, tuple[int, ...]], link_env: LinkEnvironment
) -> dict[bytes, bytes]:
    """Return, by the content of each unit's object, that of the one that replaces it."""
    units = build_records.parse_units(build_records.read_commands(link_env.build), link_env.build)
    made = {}
    for number, (output, unit) in enumerate(units.items()):
        if not output.is_file():
            continue
        data = output.read_bytes()
        opened = open_object(data)
        own = {name: blocks[name] for name in _find_cut(opened, blocks)} if opened else {}
        if own:
            place = link_env.scratch / "units" / str(number)
            made[data] = _compile(unit.command, own, place, link_env)
    return made


def _find_cut(unit: Object, blocks: Mapping[str, tuple[int, ...]]) -> Iterator[str]:
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
        if symbol.kind == _FUNCTION and symbol.name in blocks and section.startswith(_TEXT):
            if symbol.section not in waiting:
                yield symbol.name


def _read_names(unit: Object) -> list[str]:
    table = unit.find_table(2)
    return [name for name, *_ in unit.entries(table)] if table else []


def _compile(
    command: str, blocks: Mapping[str, tuple[int, ...]], place: Path, link_env: LinkEnvironment
) -> bytes:
    with guard_write(place):
        place.mkdir(parents=True)
    rows = (f"f {name}\nc {' '.join(map(str, of))}\n" for name, of in blocks.items())
    listed = place / "blocks.txt"
    write_atomically(listed, "v1\n" + "".join(rows))
    made = place / "unit.o"
    words = (*_without_outputs(shlex.split(command)), f"-fbasic-block-sections=list={listed}")
    outcome = link_env.run((*words, "-o", str(made)), 10 * ASK_TIMEOUT_S)
    link_env.expect(outcome, f"{place.name} does not compile with its functions cut")
    return made.read_bytes()


def _without_outputs(words: Sequence[str]) -> Iterator[str]:
    rest = iter(words)
    for word in rest:
        if word in _WITH_A_WORD:
            next(rest, None)
        elif word not in _ALONE:
            yield word


def _replace(path: Path, made: Mapping[bytes, bytes], place: Path) -> Path | None:
    data = path.read_bytes()
    if data in made:
        new = made[data]
    elif data.startswith(ARCHIVE_MAGIC):
        try:
            new = _replace_members(data, made)
        except DAMAGE:
            msg = f"{path}: a damaged archive"
            raise InputError(msg, hint="build it again") from None
        if new is None:
            return None
    else:
        return None
    copy = place / path.name
    with guard_write(copy):
        copy.parent.mkdir(parents=True)
        copy.write_bytes(new)
    return copy


def _replace_members(data: bytes, made: Mapping[bytes, bytes]) -> bytes | None:
    """lld reads the members themselves, so the new archive has no index."""
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
