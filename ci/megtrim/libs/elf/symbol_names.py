"""Linkage names of functions: which may be in a linker script, and which are surely local.

Names are untrusted and go into a linker script, so no character has a meaning there. Pure.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import cxxfilt

from megtrim.libs.util.errors import InputError

MAX_NAME = 65_536
"""Characters of one name; templates make names of several thousand."""

_NAME = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$]*")
_SURELY_LOCAL = re.compile(
    # An unnamed namespace, or clang's numbers of lambdas that no other file can name.
    r"_Z.*(?:_GLOBAL__N_|\$_[0-9])"
    # A static function; code that runs before main; generated code for static variables.
    r"|_ZL|_GLOBAL__(?:sub_)?[ID]_|__cxx_global_(?:var_init|array_dtor)"
)
_LENGTH = re.compile(r"[0-9]{1,5}")
_NESTED = re.compile(r"L?([0-9]{1,5})")
_BACK_REFERENCE = re.compile(r"[ST](?=([0-9A-Z]{0,4})_)")
_BRACKET = re.compile(r"\(anonymous namespace\)|\boperator\(\)(?=[(<[])|[][(){}]")
_MARK = re.compile(
    # Brackets with nothing long in them, operators that look like brackets, and brackets.
    r"(operator(?:<=>|<<=?|>>=?|<=?|>=?|->\*?)|->|\(\)|\(anonymous namespace\)|[<>()])"
)
_OPENING = frozenset("<(")
_CLOSING = frozenset(">)")
_CLONE = re.compile(
    r" \[clone [^]]*\]|\.llvm\.[0-9]+|\.(?:constprop|isra|part|cold|lto_priv)\b[.0-9]*|\.[0-9]+$"
)
"""What compilers add to the names of copies and parts of functions, and to equal names."""
WORD = re.compile(r"[A-Za-z_]\w*")
_ABBREVIATED = (
    "std allocator string wstring istream ostream iostream char_traits basic_string "
    "basic_istream basic_ostream basic_iostream anonymous namespace operator lambda "
    "unnamed type enable_if void bool char signed unsigned short int long float double "
    "half const volatile auto restrict decltype true false nullptr_t new delete co_await "
    "char8_t char16_t char32_t wchar_t __int128 __float128 decimal32 virtual thunk "
    "covariant vtable for typeinfo name guard variable reference temporary clone default "
    "arg parm fp "
)
NOT_SPELLED_OUT = frozenset(_ABBREVIATED.split())
"""Words of readable names that linkage names abbreviate; all others are in both."""
_MAX_BRIEF = 80
_MAX_READABLE = 1 << 20


def is_linkable(name: str) -> bool:
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def is_local_name(name: str) -> bool:
    """Return whether a name shows that no other file can refer to it; a C function's does not."""
    return _SURELY_LOCAL.match(name) is not None or _is_static_member(name)


def identifiers(names: Iterable[str]) -> frozenset[str]:
    return frozenset(word for name in names for word in _words(name))


def _words(name: str) -> Iterator[str]:
    if not name.startswith("_Z"):
        yield name
        return
    at = 0
    while length := _LENGTH.search(name, at):
        at = length.end() + int(length[0])
        yield name[length.end() : at]


def iter_names(name: str, at: int) -> Iterator[str]:
    while length := _NESTED.match(name, at):
        at = length.end() + int(length[1])
        word = name[length.end() : at]
        if not word.startswith("_GLOBAL__N_"):
            yield word


def _is_static_member(name: str) -> bool:
    """Return whether it is a static function in a namespace: ``_ZN2nsL3fooEv``."""
    if not name.startswith("_ZN"):
        return False
    at = 3
    while length := _LENGTH.match(name, at):
        at = length.end() + int(length[0])
    return name[at : at + 1] == "L" and name[at + 1 : at + 2].isdigit()


@lru_cache(maxsize=65_536)
def readable(name: str) -> str:
    """Return the name as in the source, or ``name`` itself if it cannot be demangled.

    A name that back references could make grow without bounds stays. Raises InputError if this
    machine has no C++ library.
    """
    if not name.startswith("_Z") or not is_linkable(name) or not _is_bounded(name):
        return name
    try:
        return str(cxxfilt.demangle(name, external_only=False))
    except (cxxfilt.InvalidName, cxxfilt.InternalError, UnicodeDecodeError):
        return name
    except cxxfilt.LibraryNotFound as error:
        msg = f"names of functions cannot be read: {error}"
        raise InputError(msg, hint="install the C++ library, on Debian: libstdc++6") from None


def without_arguments(text: str) -> Iterator[str]:
    """Yield a readable name up to each list of arguments: enclosing functions', then its own."""
    depth = 0
    for found in _BRACKET.finditer(text):
        bracket = found[0]
        if bracket in "([{":
            if bracket == "(" and not depth:
                yield text[: found.start()]
            depth += 1
        elif bracket in ")]}":
            depth -= 1


def iter_spellings(name: str) -> Iterator[str]:
    yield name
    text = readable(name)
    yield text
    yield from without_arguments(text)


def find_literal_word(text: str) -> str:
    """Return the longest word of a readable name that its linkage name has, too; empty: none."""
    words = (word for word in WORD.findall(text) if word not in NOT_SPELLED_OUT)
    return max(words, key=len, default="")


def brief(name: str) -> str:
    return shorten(readable(name))


def list_brief(names: Sequence[str], most: int) -> str:
    """Return the first ``most`` names, and how many more there are."""
    shown = ", ".join(brief(name) for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def shorten(text: str) -> str:
    if len(text) > _MAX_BRIEF:
        text = _fold(text)
    return text if len(text) <= _MAX_BRIEF else f"{text[: _MAX_BRIEF - 1]}…"


def fold(name: str) -> str:
    """Return what instances, overloads and clones have in common: ``mgb::Map<…>::find(…)``."""
    text = readable(name)
    return _fold(_CLONE.sub("", text) if "." in text else text)


def fold_if_possible(name: str) -> str:
    try:
        return fold(name)
    except InputError:
        return name


def _fold(text: str) -> str:
    shown = []
    depth = 0
    for part in _MARK.split(text):
        if part in _OPENING:
            if depth == 0:
                shown.append(f"{part}…")
            depth += 1
            continue
        if depth and part in _CLOSING:
            depth -= 1
        if depth == 0:
            shown.append(part)
    return "".join(shown)


def _is_bounded(name: str) -> bool:
    """Return whether back references cannot make more of ``name`` than can be read."""
    # Each ends with an underscore, and stands for at most all that is before it.
    references = name.count("_")
    if references < _MAX_READABLE.bit_length() and len(name) << references <= _MAX_READABLE:
        return True
    return _expanded_length(name) <= _MAX_READABLE


def _expanded_length(name: str) -> int:
    """Return an upper bound of the length of ``name`` with back references expanded.

    The first reference to a number stands for at most all the text before it. A later one to the
    same or a lower number stands for something that was complete by then.
    """
    added = 0
    known: dict[str, list[int]] = {"S": [], "T": []}
    for found in _BACK_REFERENCE.finditer(name):
        number = int(found[1], 36) + 1 if found[1] else 0
        if number > found.start():
            continue  # part of a word: a reference cannot have a number that large here
        sizes = known[found[0]]
        sizes += [found.start() + added] * (number + 1 - len(sizes))
        added += sizes[number]
        if added > _MAX_READABLE:
            break
    return len(name) + added
