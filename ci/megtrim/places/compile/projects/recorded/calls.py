"""The calls of compilers, linkers and archivers that a build made, as its wrappers noted them.

A record has a JSON document on each line. The build may write what it likes there, so that all of
it is read strictly. Pure.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NoReturn

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

LARGEST_RECORD_BYTES = 512 * 1024 * 1024
LARGEST_FILE = 16 * 1024 * 1024
"""Characters of a response file; the wrapper reads one more."""

_MOST_DEPTH = 8
_MOST_WORDS = 1_000_000
_KEYS = frozenset({"role", "cwd", "program", "arguments", "files"})
_HINT = "it is written anew by each build: build again"


class Role(StrEnum):
    COMPILER = "compiler"
    LINKER = "linker"
    ARCHIVER = "archiver"


class RecordedCall(Value):
    role: Role
    cwd: str
    program: str
    """Its whole path."""
    arguments: tuple[str, ...]
    """With the words of response files in their places."""


def read_record(data: bytes, source: str) -> Iterator[RecordedCall]:
    """Raises InputError, with the line, for what no wrapper writes."""
    if len(data) > LARGEST_RECORD_BYTES:
        _refuse(f"{source}: found {len(data):,} bytes", f"at most {LARGEST_RECORD_BYTES:,}")
    if data and not data.endswith(b"\n"):
        number = data.count(b"\n") + 1
        _refuse(f"{source}:{number}: found a line that is cut off", "a whole one")
    for number, line in enumerate(data.splitlines(), start=1):
        yield _read_line(line, f"{source}:{number}")


def _read_line(line: bytes, at: str) -> RecordedCall:
    try:
        call = json.loads(line)
    except (ValueError, RecursionError):
        _refuse(f"{at}: found no JSON", "a call of a compiler")
    if not isinstance(call, dict) or call.keys() != _KEYS:
        _refuse(f"{at}: found other keys", ", ".join(sorted(_KEYS)))
    role = call["role"]
    if role not in tuple(Role):
        _refuse(f"{at}: role: found {str(role)[:60]!r}", ", ".join(Role))
    files = call["files"]
    texts = [call["cwd"], call["program"]]
    if not isinstance(call["arguments"], list) or not isinstance(files, dict):
        _refuse(f"{at}: arguments or files: found something else", "a list and an object")
    texts += [*call["arguments"], *files.values()]
    if not all(isinstance(text, str) and "\0" not in text for text in texts):
        _refuse(f"{at}: found something else than text, or a NUL byte", "text")
    if not call["cwd"].startswith("/") or not call["program"].startswith("/"):
        _refuse(f"{at}: cwd or program: found no whole path", "one that begins with /")
    return RecordedCall(
        role=Role(role),
        cwd=call["cwd"],
        program=call["program"],
        arguments=expand(call["arguments"], files, source=at),
    )


def _refuse(found: str, expected: str) -> NoReturn:
    msg = f"{found}, expected {expected}"
    raise InputError(msg, hint=_HINT)


def expand(words: Iterable[str], files: Mapping[str, str], *, source: str) -> tuple[str, ...]:
    """Put the words of response files in their places, as compilers do.

    A word such as ``@x`` without a file of that name stays as it is. Raises InputError for files
    that name each other without an end.
    """
    expanded: list[str] = []
    _expand(words, files, source, 0, expanded)
    return tuple(expanded)


def _expand(
    words: Iterable[str], files: Mapping[str, str], source: str, depth: int, expanded: list[str]
) -> None:
    for word in words:
        text = files.get(word[1:]) if word.startswith("@") else None
        if text is None:
            expanded.append(word)
        elif depth == _MOST_DEPTH:
            _refuse(
                f"{source}: found {word[:60]!r} in {_MOST_DEPTH} response files, one in the other",
                f"at most {_MOST_DEPTH}",
            )
        elif len(text) > LARGEST_FILE:
            _refuse(f"{source}: {word[:60]!r} has more than {LARGEST_FILE:,} characters", "less")
        else:
            _expand(split(text), files, source, depth + 1, expanded)
        if len(expanded) > _MOST_WORDS:
            _refuse(f"{source}: found more than {_MOST_WORDS:,} words", "less")


def split(text: str) -> Iterator[str]:
    r"""Yield the words of a response file, as GCC and clang read it.

    Blanks separate words. Quotes of either kind hold blanks, and ``\`` stands before any character,
    within both kinds as well.
    """
    word: str | None = None
    quote = ""
    characters = iter(text)
    for character in characters:
        if character == "\\":
            word = (word or "") + next(characters, "")
        elif quote:
            if character == quote:
                quote = ""
            else:
                word = (word or "") + character
        elif character in ("'", '"'):
            quote = character
            word = word or ""
        elif character.isascii() and character.isspace():
            if word is not None:
                yield word
            word = None
        else:
            word = (word or "") + character
    if word is not None:
        yield word
