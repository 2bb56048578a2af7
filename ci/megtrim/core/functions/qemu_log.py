"""Finds which functions ran, from qemu's log of the code that it translated (``-d in_asm``).

A block of the log is what ran up to the next branch::

    IN: _start
    0x5500ba2c4:  d503201f  nop

A program is loaded at other addresses than those in its file. The difference is found from the
names that the log and the symbol table share. Pure: bytes in, names out.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from megtrim.libs.elf.symbol_table import FunctionTable, holding
from megtrim.libs.util.errors import InputError, ProductFailure

LOG_FILE = "blocks.log"
ENVIRONMENT = {"QEMU_LOG": "in_asm", "QEMU_LOG_FILENAME": LOG_FILE}

MAX_LOG_BYTES = 1024**3
_PAGE_BYTES = 4096
_HINT = "expected the log of qemu with QEMU_LOG=in_asm"
_BLOCK = re.compile(rb"^IN:[ \t]*(.*)\n0x([0-9a-fA-F]{1,16}):", re.MULTILINE)
_INSTRUCTION = re.compile(rb"^0x([0-9a-fA-F]{1,16}):", re.MULTILINE)


def ran_in_log(data: bytes, table: FunctionTable, *, source: str) -> tuple[str, ...]:
    """Raises InputError for anything but such a log, ProductFailure if none of them ran."""
    return holding(table, find_addresses(data, table, source=source))


def find_addresses(data: bytes, table: FunctionTable, *, source: str) -> set[int]:
    """Return the program's own addresses of all instructions in a log: each of them ran.

    Raises InputError for anything but such a log, ProductFailure if no function ran.
    """
    if len(data) > MAX_LOG_BYTES:
        msg = f"{source}: larger than {MAX_LOG_BYTES} bytes"
        raise InputError(msg, hint=_HINT)
    blocks = {(found[1], int(found[2], 16)) for found in _BLOCK.finditer(data)}
    if not blocks:
        msg = f"{source}: contains no block of translated code"
        raise InputError(msg, hint=_HINT)
    names = ((name.decode("utf-8", "backslashreplace"), at) for name, at in blocks)
    base = _base(names, table)
    if base is None:
        msg = f"{source}: none of the program's {len(table.functions)} functions ran"
        raise ProductFailure(msg, hint="is it the log of this program?")
    return {int(found[1], 16) - base for found in _INSTRUCTION.finditer(data)}


def _base(blocks: Iterable[tuple[str, int]], table: FunctionTable) -> int | None:
    """Return the difference between addresses of the log and of the file.

    Every block that begins a function is a vote; a loader may have a few of the same names.
    """
    starts = defaultdict(set)
    for function in table.functions:
        starts[function.name].add(function.address)
    votes = Counter(
        address - start
        for name, address in blocks
        for start in starts.get(name, ())
        if (address - start) % _PAGE_BYTES == 0
    )
    return min(votes, key=lambda base: (-votes[base], base), default=None)
