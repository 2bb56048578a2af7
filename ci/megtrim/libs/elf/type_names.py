"""C++ names of types as demanglers write them, in one spelling. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

MAX_NAME = 4096
_MAX_DEPTH = 16
_MIN_INT = -(2**31)
_MAX_INT = 2**31 - 1

_TOKEN = re.compile(
    r" *(?:([A-Za-z_][A-Za-z0-9_]*|-?[0-9]{1,20}(?:ull|ul|u|ll|l)?(?![A-Za-z0-9_])|::|[<>,()])"
    r"|(.))",
    re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
CPP_KEYWORD = re.compile(
    r"alignas|alignof|and|and_eq|asm|auto|bitand|bitor|bool|break|case|catch|char|char16_t|"
    r"char32_t|char8_t|class|co_await|co_return|co_yield|compl|concept|const|const_cast|consteval|"
    r"constexpr|constinit|continue|decltype|default|delete|do|double|dynamic_cast|else|enum|"
    r"explicit|export|extern|false|float|for|friend|goto|if|inline|int|long|mutable|namespace|new|"
    r"noexcept|not|not_eq|nullptr|operator|or|or_eq|private|protected|public|register|"
    r"reinterpret_cast|requires|return|short|signed|sizeof|static|static_assert|static_cast|"
    r"struct|switch|template|this|thread_local|throw|true|try|typedef|typeid|typename|union|"
    r"unsigned|using|virtual|void|volatile|wchar_t|while|xor|xor_eq"
)
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_NUMBER = re.compile(r"-?[0-9]{1,20}[ul]*")
_WRAPPED = re.compile(r"std::integral_constant<int, (-?[0-9]{1,20})>")

_INLINE_NAMESPACES = frozenset({"__1", "__ndk1", "__cxx11"})
"""Version namespaces inside ``std``: of libc++, the NDK's libc++, and libstdc++."""

_BUILTINS = {
    name: name
    for name in (
        "void",
        "bool",
        "char",
        "signed char",
        "unsigned char",
        "wchar_t",
        "char8_t",
        "char16_t",
        "char32_t",
        "short",
        "unsigned short",
        "int",
        "unsigned int",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "__int128",
        "unsigned __int128",
        "float",
        "double",
        "long double",
        "__float128",
        "__fp16",
        "_Float16",
        "__bf16",
    )
} | {"half": "__fp16", "unsigned": "unsigned int"}
"""Spelling -> canonical spelling. Demanglers write ``half`` for C++'s ``__fp16``."""


def is_identifier(text: str) -> bool:
    return bool(_IDENTIFIER.fullmatch(text)) and not CPP_KEYWORD.fullmatch(text)


class GrammarError(ValueError):
    """The text is not such a name; the message says what was found and expected."""


def parse_canonical(text: str) -> tuple[str, tuple[int | str, ...]]:
    parser = NameParser(text)
    return parser.rest(parser.integer, opened=False)


class NameParser:
    def __init__(self, text: str) -> None:
        if len(text) > MAX_NAME:
            msg = f"a name of {len(text)} characters, expected at most {MAX_NAME}"
            raise GrammarError(msg)
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def rest(
        self, argument: Callable[[], int | str], *, opened: bool = True
    ) -> tuple[str, tuple[int | str, ...]]:
        tag = self._identifier()
        arguments: list[int | str] = []
        if not opened:
            self.expect("<")
            if self._peek() not in (">", ""):
                arguments.append(argument())
        while self._take(","):
            arguments.append(argument())
        self.expect(">")
        if self._peek():
            self._fail("the end")
        return tag, tuple(arguments)

    def expect(self, token: str) -> None:
        if not self._take(token):
            self._fail(f"'{token}'")

    def integral_constant(self) -> int | str:
        name = self._type()
        wrapped = _WRAPPED.fullmatch(name)
        return _int32(wrapped[1]) if wrapped else name

    def integer(self) -> int | str:
        token = self._peek()
        if _INTEGER.fullmatch(token):
            self._at += 1
            return _int32(token)
        return self._type()

    def _type(self) -> str:
        words: list[str] = []
        start = self._at
        while self._peek() and " ".join([*words, self._peek()]) in _PREFIXES:
            words.append(self._peek())
            self._at += 1
        builtin = _BUILTINS.get(" ".join(words))
        if builtin is not None and self._peek() != "::":
            return builtin
        self._at = start
        return self._parse_qualified_name()

    def _parse_qualified_name(self) -> str:
        parts = [self._part()]
        self.expect("::")
        parts.append(self._part())
        while self._take("::"):
            parts.append(self._part())
        if parts[0] == "std":
            parts = [part for part in parts if part not in _INLINE_NAMESPACES]
        if len(parts) < 2:
            self._fail("a type")
        return "::".join(parts)

    def _part(self) -> str:
        name = self._identifier()
        if not self._take("<"):
            return name
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            msg = f"templates within templates, expected at most {_MAX_DEPTH} levels"
            raise GrammarError(msg)
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        self.expect(">")
        self._depth -= 1
        return f"{name}<{', '.join(values)}>"

    def _value(self) -> str:
        if self._take("("):
            kind = self._type()
            self.expect(")")
            return f"({kind}){self._number()}"
        token = self._peek()
        if _NUMBER.fullmatch(token) or token in ("true", "false"):
            self._at += 1
            return token
        return self._type()

    def _number(self) -> str:
        token = self._peek()
        if not _NUMBER.fullmatch(token):
            self._fail("a number")
        self._at += 1
        return token

    def _identifier(self) -> str:
        token = self._peek()
        if not is_identifier(token):
            self._fail("the name of a class")
        self._at += 1
        return token

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, token: str) -> bool:
        if self._peek() != token:
            return False
        self._at += 1
        return True

    def _fail(self, expected: str) -> NoReturn:
        token = self._peek()
        found = f"'{token[:40]}'" if token else "the end"
        before = "".join(self._tokens[max(0, self._at - 4) : self._at])
        where = f" after '{before[-60:]}'" if before else ""
        msg = f"found {found}{where}, expected {expected}"
        raise GrammarError(msg)


_PREFIXES = frozenset(
    " ".join(name.split()[: count + 1]) for name in _BUILTINS for count in range(len(name.split()))
)


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    for match in _TOKEN.finditer(text.rstrip(" ")):
        if match[1] is None:
            at = match.start(2)
            msg = f"found {text[at : at + 20]!r}, expected the name of a type"
            raise GrammarError(msg)
        tokens.append(match[1])
    return tokens


def _int32(digits: str) -> int:
    value = int(digits)
    if not _MIN_INT <= value <= _MAX_INT:
        msg = f"found {digits}, expected a number of 32 bits"
        raise GrammarError(msg)
    return value
