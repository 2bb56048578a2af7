"""Which blocks of functions ran, in a list beside that of the functions.

megtrim blocks v1
link 6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d
_ZN3mgb5GraphC1Ev 5e884898da280471 0 3 7

A function is listed if it may be cut: after its name are a digest of its graph of blocks, and the
numbers of the blocks that ran. A number means the same block only where the digest is the same. One
of several functions of a name is not listed: nothing says which is meant. Pure.
"""

import hashlib
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from megtrim.core.functions.observables import FIRST, parse_lines, refusal
from megtrim.core.keep.split_function import DIGITS, SplitFunction
from megtrim.libs.elf.block_map import MappedFunction
from megtrim.libs.elf.symbol_names import is_linkable
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

MAGIC = "megtrim blocks v1"
_HINT = "record the functions again"


class BlockList(Value):
    link_sha256: str
    functions: tuple[SplitFunction, ...]
    """Sorted by name."""


def digest_blocks(function: MappedFunction) -> str:
    """Return the same for functions whose blocks have the same numbers, places, sizes and ends."""
    rows = (
        f"{block.number} {block.address - function.address} {block.size_bytes} {block.traits}\n"
        for block in function.blocks
    )
    return hashlib.sha256("".join(rows).encode()).hexdigest()[:DIGITS]


class Graph(Value):
    digest: str
    order: tuple[int, ...]
    """The numbers of its blocks, as they lie in memory."""


def find_graphs(functions: Iterable[MappedFunction], table: FunctionTable) -> dict[str, Graph]:
    """Return that of each function that is the only one of its name."""
    return {name: _read_graph(each) for name, each in _iter_named(functions, table)}


def _read_graph(function: MappedFunction) -> Graph:
    order = tuple(block.number for block in function.blocks)
    return Graph(digest=digest_blocks(function), order=order)


def find_blocks(
    functions: Iterable[MappedFunction], table: FunctionTable, ran: Collection[int]
) -> dict[str, SplitFunction]:
    """Return the functions that contain an address that ``ran``, by name.

    A block ran if one of its bytes did. The first block of a function counts as one that ran.
    """
    ordered = sorted(ran)
    listed = {}
    for name, function in _iter_named(functions, table):
        numbers = {
            block.number
            for block in function.blocks
            if _holds(ordered, block.address, block.address + block.size_bytes)
        }
        if numbers:
            # Nothing shows whether an empty block ran.
            empty = {block.number for block in function.blocks if block.size_bytes == 0}
            kept = tuple(sorted({function.blocks[0].number, *numbers, *empty}))
            digest = digest_blocks(function)
            listed[name] = SplitFunction(name=name, digest=digest, numbers=kept)
    return listed


def _iter_named(
    functions: Iterable[MappedFunction], table: FunctionTable
) -> Iterator[tuple[str, MappedFunction]]:
    names = defaultdict(set)
    for each in table.functions:
        names[each.address].add(each.name)
    count = Counter(name for found in names.values() for name in found)
    for function in functions:
        for name in sorted(names.get(function.address, ())):
            if count[name] == 1 and is_linkable(name):
                yield name, function


def _holds(ordered: list[int], start: int, end: int) -> bool:
    at = bisect_left(ordered, start)
    return at < len(ordered) and ordered[at] < end


class CutPlan(Value):
    blocks: Mapping[str, tuple[int, ...]]
    """By function that is cut, the numbers of the blocks that stay, as they lie in memory.

    clang places them as they are listed: in any other order, there are more jumps.
    """
    changed: tuple[str, ...]
    """Functions whose blocks are not those that were recorded: they stay whole."""


def plan_cuts(
    records: Iterable[tuple[Collection[str], Iterable[SplitFunction]]],
    graphs: Mapping[str, Graph],
    whole: Collection[str],
) -> CutPlan:
    """Join what scenarios ran: each record has the functions of one, and the blocks of some.

    A function stays whole if it is among ``whole``, if a scenario that runs it has no blocks of
    it, or if its graph is not the one that was recorded.
    """
    numbers: dict[str, set[int]] = defaultdict(set)
    changed = set()
    unknown = {*whole}
    for functions, listed in records:
        names = frozenset(functions)
        known = set()
        for each in listed:
            if each.name not in names:
                continue
            known.add(each.name)
            numbers[each.name].update(each.numbers)
            graph = graphs.get(each.name)
            if graph is None or graph.digest != each.digest or not _fits(each, graph):
                changed.add(each.name)
        unknown.update(name for name in functions if name not in known)
    blocks = {
        name: tuple(number for number in graphs[name].order if number in found)
        for name, found in sorted(numbers.items())
        if name not in unknown and name not in changed
    }
    return CutPlan(blocks=blocks, changed=tuple(sorted(changed)))


def _fits(listed: SplitFunction, graph: Graph) -> bool:
    """Tell whether a list has the first block, and none that the function does not have."""
    return graph.order[0] in listed.numbers and {*listed.numbers} <= {*graph.order}


def dump_blocks(found: BlockList) -> str:
    rows = (str(each) for each in found.functions)
    return "\n".join([MAGIC, f"link {found.link_sha256}", *rows, ""])


def parse_blocks(data: bytes, *, source: str) -> BlockList:
    """Raises InputError, with the line, for anything but what :func:`dump_blocks` writes."""
    link, lines = parse_lines(data, magic=MAGIC, source=source, hint=_HINT)
    functions: list[SplitFunction] = []
    for at, line in enumerate(lines, FIRST):
        try:
            each = SplitFunction.parse(line)
        except InputError as error:
            raise refusal(source, at, error.message, _HINT) from None
        if functions and each.name <= functions[-1].name:
            problem = f"{each.name[:80]!r} does not come after the line before"
            raise refusal(source, at, problem, _HINT)
        functions.append(each)
    return BlockList(link_sha256=link, functions=tuple(functions))
