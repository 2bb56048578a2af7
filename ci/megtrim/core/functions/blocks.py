"""Which blocks of functions ran, in a list beside that of the functions.

megtrim blocks v1
link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
_ZN3mgb5GraphC1Ev 0 3 7

A function is listed if a part of it ran and a part did not. One of several functions of a name is
not: nothing says which is meant. Pure.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from megtrim.core.functions.observables import FIRST, MAX_BYTES, check_names, parse_lines, refusal
from megtrim.libs.elf.block_map import MappedFunction
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.value import Value

MAGIC = "megtrim blocks v1"
_HINT = "record the functions again"
_LINE = re.compile(r"(\S+)((?: (?:0|[1-9][0-9]{0,8}))+)")


class BlockList(Value):
    link_sha256: str
    blocks: Mapping[str, tuple[int, ...]]
    """By function, the numbers of those that ran, ascending."""


def find_blocks(
    functions: Iterable[MappedFunction], table: FunctionTable, ran: Collection[int]
) -> dict[str, tuple[int, ...]]:
    """Return those that contain an address that ``ran``, and the first of each such function."""
    names = defaultdict(set)
    for each in table.functions:
        names[each.address].add(each.name)
    count = Counter(name for found in names.values() for name in found)
    ordered = sorted(ran)
    listed = {}
    for function in functions:
        numbers = {
            block.number
            for block in function.blocks
            if _holds(ordered, block.address, block.address + block.size_bytes)
        }
        if not numbers:
            continue
        kept = tuple(sorted({function.blocks[0].number, *numbers}))
        for name in names.get(function.address, ()):
            if count[name] == 1:
                listed[name] = kept
    return listed


def _holds(ordered: list[int], start: int, end: int) -> bool:
    at = bisect_left(ordered, start)
    return at < len(ordered) and ordered[at] < end


def join(lists: Iterable[Mapping[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    joined: dict[str, set[int]] = {}
    for each in lists:
        for name, numbers in each.items():
            joined.setdefault(name, set()).update(numbers)
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(joined.items())}


def dump_blocks(found: BlockList) -> str:
    rows = (" ".join((name, *map(str, numbers))) for name, numbers in sorted(found.blocks.items()))
    return "\n".join([MAGIC, f"link {found.link_sha256}", *rows, ""])


def read_blocks(path: Path) -> BlockList:
    data = read_bytes(path, most_bytes=MAX_BYTES, expected="a list of blocks", hint=_HINT)
    return parse_blocks(data, source=str(path))


def parse_blocks(data: bytes, *, source: str) -> BlockList:
    link, lines = parse_lines(data, magic=MAGIC, source=source, hint=_HINT)
    blocks: dict[str, tuple[int, ...]] = {}
    last = ""
    for at, line in enumerate(lines, FIRST):
        row = _LINE.fullmatch(line)
        if row is None:
            problem = f"found {line[:80]!r}, expected a name and numbers of blocks"
            raise refusal(source, at, problem, _HINT)
        check_names((row[1],), source=source, line=at, hint=_HINT)
        if row[1] <= last:
            problem = f"{row[1][:80]!r} does not come after the line before"
            raise refusal(source, at, problem, _HINT)
        last = row[1]
        blocks[last] = tuple(int(number) for number in row[2].split())
    return BlockList(link_sha256=link, blocks=blocks)
