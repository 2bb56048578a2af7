"""A region: a marked piece of an engine's code, which a C++ type identifies. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering

from megtrim.libs.elf.type_names import GrammarError, parse_canonical
from megtrim.libs.util.errors import InputError


@total_ordering
@dataclass(frozen=True, slots=True)
class Region:
    """``TAG<ARGUMENTS...>``, in a form that no compiler's spelling changes."""

    tag: str
    args: tuple[int | str, ...]
    """A number is an ``integral_constant<int, N>``; text is a type's canonical C++ name."""

    @classmethod
    def parse(cls, text: str) -> Region:
        """Parse the output of ``str(region)``, with any spacing. Raises InputError."""
        try:
            return cls(*parse_canonical(text))
        except GrammarError as error:
            msg = f"{text[:200]!r} is not a region: {error}"
            raise InputError(msg, hint="expected for example: megdnn_naive<float, 3>") from None

    def __str__(self) -> str:
        return f"{self.tag}<{', '.join(map(str, self.args))}>"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Region):
            return NotImplemented
        return order(self) < order(other)


def order(region: Region) -> tuple[str, tuple[tuple[bool, int, str], ...]]:
    return region.tag, tuple(
        (True, 0, arg) if isinstance(arg, str) else (False, arg, "") for arg in region.args
    )
