"""Parses the command that links a target, as Ninja prints it. Pure: no shell runs it.

A command that does more than call one linker is rejected: the rest of it would be lost.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from megtrim.util.errors import InputError
from megtrim.util.value import Value

_PLAIN = re.compile(
    r"""(?: \\. | '[^']*+' | "[^"\\$`]*+(?:\\.[^"\\$`]*+)*" | (?<=\s)&&(?=\s)
        | [^\\'"$`;|&<>()*?\[\n]++ )*""",
    re.VERBOSE | re.DOTALL,
)
"""What a shell reads as only words and ``&&`` between commands.

Only repeats of one character are possessive: a group with alternatives that is, some Pythons match
wrongly. 3.11.2 does, 3.11.7 does not.
"""

_QUOTED = re.compile(r"""\\.|'[^']*+'|"[^"\\]*+(?:\\.[^"\\]*+)*\"""", re.DOTALL)
_ESCAPED = re.compile(r"\\([$`])|\\.", re.DOTALL)
_SHOWN = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*)"')

_OURS = ("--dependency-file", "-dependency-file", "--Map", "-Map")
"""Options that name a further output, after ``=`` or as the next word."""
_STRIPS = frozenset({"-s", "--strip-all", "-S", "--strip-debug"})
_HINT = "megtrim repeats a target's own link command, which must be one plain link"


class LinkCommand(Value):
    """One linking call of a compiler driver, without outputs and stripping."""

    driver: tuple[str, ...]
    """One word, or two (``zig c++``)."""
    words: tuple[str, ...]
    output: str
    """Relative to the build folder."""


def parse(text: str, *, target: str) -> LinkCommand:
    """Raises InputError for a line that is not exactly one link between ``:`` and ``:``."""
    if _PLAIN.fullmatch(text) is None:
        msg = f"the link command of {target} is more than plain words: {_around(text)}"
        raise InputError(msg, hint=_HINT)
    commands = [command for command in _commands(_words(text)) if command != [":"]]
    if len(commands) != 1:
        found = shlex.join(commands[-1])[:200] if commands else "nothing"
        msg = f"{target} is made by {len(commands)} commands, expected one link: found {found}"
        raise InputError(msg, hint=_HINT)
    words = commands[0]
    count = 2 if PurePath(words[0]).name == "zig" else 1
    kept, output = _without_outputs(words[count:])
    if output is None:
        msg = f"the link command of {target} names no output: {shlex.join(words)[:200]}"
        raise InputError(msg, hint=_HINT)
    return LinkCommand(driver=tuple(words[:count]), words=tuple(kept), output=output)


def _around(text: str) -> str:
    plain = _PLAIN.match(text)
    return repr(text[plain.end() if plain else 0 :][:60])


def _words(text: str) -> list[str]:
    return shlex.split(_QUOTED.sub(lambda quoted: _unescape_quoted(quoted[0]), text))


def _unescape_quoted(quoted: str) -> str:
    """A shell removes them between double quotes, and shlex does not."""
    if not quoted.startswith('"'):
        return quoted
    return _ESCAPED.sub(lambda found: found[1] or found[0], quoted)


def _commands(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    for word in (*words, "&&"):
        if word != "&&":
            command.append(word)
        elif command:
            yield command
            command = []


def _without_outputs(words: Sequence[str]) -> tuple[list[str], str | None]:
    kept: list[str] = []
    output = None
    rest = iter(words)
    for word in rest:
        if word == "-o":
            output = next(rest, None)
        elif word == "-Xlinker":
            option = next(rest, "")
            if option in _OURS:  # its value follows another -Xlinker
                next(rest, None), next(rest, None)
            elif not _is_ours(option):
                kept += (word, option)
        elif word.startswith("-Wl,"):
            pieces = _pieces(word.split(",")[1:])
            kept += (",".join(("-Wl", *pieces)),) if pieces else ()
        elif word != "-s":
            kept.append(word)
    return kept, output


def _pieces(pieces: Sequence[str]) -> list[str]:
    kept: list[str] = []
    rest = iter(pieces)
    for piece in rest:
        if piece in _OURS:
            next(rest, None)
        elif not _is_ours(piece):
            kept.append(piece)
    return kept


def _is_ours(option: str) -> bool:
    return option in _STRIPS or option.partition("=")[0] in _OURS


def shown_by_clang(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if line.startswith(' "')]
    words = _SHOWN.findall(lines[-1]) if lines else []
    return tuple(re.sub(r"\\(.)", r"\1", word) for word in words)


def shown_by_zig(text: str) -> tuple[str, ...]:
    lines = [line for line in text.splitlines() if line.startswith("ld.lld ")]
    return tuple(lines[-1].split()) if lines else ()


def without_output(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(_without_outputs(words)[0])


def compile_words(words: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-target", "-isysroot", "-B"):
            kept += (word, next(rest, ""))
        elif word.startswith(
            ("--target=", "--sysroot=", "--gcc-toolchain=", "-march=", "-m", "-B")
        ):
            kept.append(word)
    return tuple(kept)


def linker_words(flags: Sequence[str]) -> tuple[str, ...]:
    words: list[str] = []
    for flag in flags:
        words += flag.split(",")[1:] if flag.startswith("-Wl,") else [flag]
    return tuple(words)
