"""The few C++ types that can stand in a region, read from demangled text by a grammar. Pure.

    TYPE := BUILTIN | NAME ["<" ARG {"," ARG} ">"]      NAME := IDENTIFIER {"::" IDENTIFIER}
    ARG  := INTEGER | TYPE

Anything else (code, lambdas, expressions, strings) is refused: what is read here ends up in a
header that is compiled.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

_TOKEN = re.compile(r"\s*(?:(?P<word>[A-Za-z_]\w*)|(?P<number>-?\d+)|(?P<sign>::|<|>|,))", re.ASCII)
_MAX_DEPTH = 8
_MAX_ARGS = 64

_BUILTIN_WORDS = frozenset(
    {
        *("void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"),
        *("half", "__fp16", "_Float16", "wchar_t", "char8_t", "char16_t", "char32_t", "__int128"),
    }
)
_BUILTINS = {
    **{name: name for name in ("void", "bool", "char", "short", "int", "long", "float", "double")},
    **{name: name for name in ("signed char", "unsigned char", "unsigned short", "unsigned int")},
    **{name: name for name in ("unsigned long", "long long", "unsigned long long", "long double")},
    **{name: name for name in ("wchar_t", "char8_t", "char16_t", "char32_t", "__int128")},
    "unsigned": "unsigned int",
    "unsigned __int128": "unsigned __int128",
    # One type with three spellings: the compiler writes it mangled as "decimal half".
    "half": "__fp16",
    "__fp16": "__fp16",
    "_Float16": "__fp16",
}
_LIBRARY_NAMESPACES = frozenset({"__ndk1", "__1", "__cxx11"})
"""Inline namespaces of C++ libraries: they differ, the type is the same."""


class NotAType(ValueError):
    """The text is not in the grammar; the message says where."""


@dataclass(frozen=True, slots=True)
class CppType:
    """A type: its qualified name and its template arguments."""

    name: str
    args: tuple[CppType | int, ...] = ()

    def __str__(self) -> str:
        inner = ", ".join(str(arg) for arg in self.args)
        return f"{self.name}<{inner}>" if self.args else self.name


def parse(text: str) -> CppType:
    """Read the whole text as one type, in canonical spelling, or raise NotAType."""
    reader = _Reader(text)
    found = reader.type(0)
    reader.end()
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def type(self, depth: int) -> CppType:
        if depth > _MAX_DEPTH:
            self._refuse("nested too deeply")
        if self._peek("word") in _BUILTIN_WORDS:
            return CppType(self._builtin())
        name = self._name()
        if self._peek("sign") != "<":
            return CppType(name)
        return CppType(name, self._args(depth))

    def end(self) -> None:
        if self._text[self._at :].strip():
            self._refuse("text after the type")

    def _args(self, depth: int) -> tuple[CppType | int, ...]:
        args: list[CppType | int] = []
        self._take("sign", "<")
        while True:
            number = self._peek("number")
            args.append(int(self._take("number")) if number else self.type(depth + 1))
            if len(args) > _MAX_ARGS:
                self._refuse("too many arguments")
            if self._peek("sign") != ",":
                break
            self._take("sign", ",")
        self._take("sign", ">")
        return tuple(args)

    def _builtin(self) -> str:
        words = [self._take("word")]
        while self._peek("word") in _BUILTIN_WORDS:
            words.append(self._take("word"))
        known = _BUILTINS.get(" ".join(words))
        if known is None:
            self._refuse(f"{' '.join(words)!r} is no type")
        return known

    def _name(self) -> str:
        parts = [self._take("word")]
        while self._peek("sign") == "::":
            self._take("sign", "::")
            parts.append(self._take("word"))
        if parts[0] == "std":
            parts = [part for part in parts if part not in _LIBRARY_NAMESPACES]
        return "::".join(parts)

    def _peek(self, kind: str) -> str | None:
        token = _TOKEN.match(self._text, self._at)
        return token[kind] if token else None

    def _take(self, kind: str, wanted: str | None = None) -> str:
        token = _TOKEN.match(self._text, self._at)
        if token is None or token[kind] is None or (wanted and token[kind] != wanted):
            self._refuse(f"expected {wanted or kind}")
        self._at = token.end()
        return str(token[kind])

    def _refuse(self, why: str) -> NoReturn:
        found = self._text[self._at : self._at + 40]
        msg = f"{why} at {found!r}"
        raise NotAType(msg)
