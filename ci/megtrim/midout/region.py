"""A region: one ``midout::Region<tag, args...>`` of an engine's source, in one spelling. Pure.

Canonical text is ``TAG<ARG, ARG>``: integers as they are, types as C++ names them, such as
``megdnn_fp32_sgemv<-1290123641>`` and ``megdnn_relayout<float, megdnn::PoolingForward, 3>``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from megtrim.errors import InputError
from megtrim.midout.cpptype import CppType, NotAType, parse

_INT32 = range(-(2**31), 2**31)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_HINT = "expected TAG<ARGUMENT, ...> with whole numbers and type names, as `megtrim explain` shows"


@dataclass(frozen=True, slots=True)
class Region:
    """One region. Ordered by tag, then by arguments, numbers before types."""

    tag: str
    args: tuple[int | str, ...]
    """``int`` for ``std::integral_constant<int, N>``, ``str`` for a type's canonical name."""

    def __str__(self) -> str:
        return f"{self.tag}<{', '.join(str(arg) for arg in self.args)}>"

    def __lt__(self, other: Region) -> bool:
        return self._order() < other._order()

    def _order(self) -> tuple[str, tuple[tuple[bool, int, str], ...]]:
        return self.tag, tuple(
            (False, arg, "") if isinstance(arg, int) else (True, 0, arg) for arg in self.args
        )

    @classmethod
    def parse(cls, text: str) -> Region:
        """Read canonical text; anything else is an InputError."""
        tag, _, rest = text.partition("<")
        try:
            if rest == ">":
                return cls.of(CppType(tag))
            return cls.of(parse(text))
        except NotAType as problem:
            msg = f"{text[:80]!r} is no region: {problem}"
            raise InputError(msg, hint=_HINT) from None

    @classmethod
    def of(cls, found: CppType) -> Region:
        """Make a region of ``TAG<ARGS>`` as a parsed type, or raise NotAType."""
        if _IDENTIFIER.fullmatch(found.name) is None:
            msg = f"{found.name[:80]!r} is no tag"
            raise NotAType(msg)
        return cls(found.name, tuple(_argument(arg) for arg in found.args))


def _argument(arg: CppType | int) -> int | str:
    if isinstance(arg, CppType) and arg.name == "std::integral_constant":
        if len(arg.args) != 2 or arg.args[0] != CppType("int") or not isinstance(arg.args[1], int):
            msg = f"{arg} is no constant of type int"
            raise NotAType(msg)
        arg = arg.args[1]
    if isinstance(arg, int):
        if arg not in _INT32:
            msg = f"{arg} does not fit into an int"
            raise NotAType(msg)
        return arg
    return str(arg)
