"""Which blocks of a function ran, as the keep set and a list of blocks name them. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

from megtrim.libs.elf.symbol_names import is_linkable
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

DIGITS = 16
_SHAPE = re.compile(r"(\S+) ([0-9a-f]{16})((?: (?:0|[1-9][0-9]{0,8}))+)")
_HINT = "record the functions again"


class SplitFunction(Value):
    name: str
    digest: str
    """Of the graph of its blocks."""
    numbers: tuple[int, ...]
    """Of the blocks that ran, ascending."""

    def __str__(self) -> str:
        return f"{self.name} {self.digest} {' '.join(map(str, self.numbers))}"

    @classmethod
    def parse(cls, text: str) -> SplitFunction:
        """Raises InputError for anything but what ``str`` makes of one."""
        found = _SHAPE.fullmatch(text)
        if found is None or not is_linkable(found[1]):
            expected = f"a linkage name, {DIGITS} hexadecimal digits and numbers"
            msg = f"found {text[:80]!r}, expected {expected}"
            raise InputError(msg, hint=_HINT)
        numbers = tuple(int(number) for number in found[3].split())
        if any(before >= after for before, after in pairwise(numbers)):
            msg = f"the blocks of {found[1][:80]!r} do not ascend"
            raise InputError(msg, hint=_HINT)
        return cls(name=found[1], digest=found[2], numbers=numbers)
