"""What is known of a function that a trim left out: its size, and who would call it. Pure."""

from collections.abc import Collection

from megtrim.core.functions.calls import Disassembly
from megtrim.libs.elf.symbol_names import find_literal_word, fold, iter_spellings
from megtrim.libs.util.value import Value


class LeftOutFunction(Value):
    name: str
    """Its linkage name."""
    size_bytes: int
    """In the program before it was trimmed."""
    called_by_kept: tuple[str, ...]
    """Linkage names of functions in the trimmed program that call it directly, sorted."""
    called_by_left_out: tuple[str, ...]


def find_left_out(
    text: str, dropped: Collection[str], code: Disassembly
) -> tuple[LeftOutFunction, ...]:
    """Return the functions among ``dropped`` that ``text`` names, sorted by their linkage name.

    ``text`` is a linkage name or a name as in the source, with or without arguments. ``code`` is
    that of the program before it was trimmed. Calls through pointers are not found.
    """
    found = []
    for name in find_spelled_so(text, dropped):
        callers = [each for each in code.callers({name}, among=code.by_name) if each != name]
        function = LeftOutFunction(
            name=name,
            size_bytes=sum(each.size_bytes for each in code.by_name.get(name, ())),
            called_by_kept=tuple(each for each in callers if each not in dropped),
            called_by_left_out=tuple(each for each in callers if each in dropped),
        )
        found.append(function)
    return tuple(found)


def find_spelled_so(text: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the functions that ``text`` names, sorted."""
    # To demangle all names takes seconds, so most are ruled out by a word that they lack.
    word = find_literal_word(text)
    likely = [name for name in names if word in name]
    return tuple(
        sorted(name for name in likely if text in iter_spellings(name) or text == fold(name))
    )
