"""Stands in for a compiler, linker or archiver of a build: notes the call, and becomes the tool.

Started as ``python -I -S wrapper.py RECORD ROLE FLAGS PROGRAM ARGUMENT...``, with FLAGS as a JSON
list of three lists: what goes before all arguments of a call that compiles, what goes behind them,
and what goes before those of a call that links. It imports nothing of megtrim, because a build may
start it thousands of times.
"""

import fcntl
import json
import os
import sys
from pathlib import Path

_SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C", ".m", ".mm", ".i", ".ii")
_NO_LINK = {"-c", "-S", "-E", "-M", "-MM", "-r"}
_MOST_DEPTH = 8
_MOST_BYTES = 16 * 1024 * 1024
_CANNOT = 127
"""As a shell exits for a program that it cannot start."""
WITHIN = "MEGTRIM_WITHIN_TOOL"
"""Set for what a tool starts: a build may name the folder of the wrappers to its compiler (-B)."""


def main(argv: list[str]) -> int:
    record, role, flags, program, *given = argv
    try:
        if WITHIN not in os.environ:
            given = _record(record, role, flags, program, given)
    except OSError as error:
        sys.stderr.write(f"the call of {program} cannot be recorded: {error}\n")
        return _CANNOT
    # Tools that this one starts are its own affair, and a compiler cache must not find a wrapper.
    own = Path(record).parent
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    others = [each for each in folders if Path(each).parent != own]
    os.environ["PATH"] = os.pathsep.join(others)
    os.environ[WITHIN] = "1"
    try:
        os.execv(program, [program, *given])
    except OSError as error:
        sys.stderr.write(f"{program} cannot be started: {error.strerror}\n")
    return _CANNOT


def _record(record: str, role: str, flags: str, program: str, given: list[str]) -> list[str]:
    """Return the arguments that the tool gets."""
    texts = _read_response_files(given)
    if role == "compiler":
        given = _with_flags(given, texts, *json.loads(flags))
    elif role == "archiver":
        given = _make_whole(given)
    _note(record, role, program, given, texts)
    return given


def _read_response_files(given: list[str]) -> dict[str, str]:
    """The build may remove them as soon as the tool has read them."""
    texts: dict[str, str] = {}
    waiting = [word[1:] for word in given if word.startswith("@")]
    for _ in range(_MOST_DEPTH):
        found = []
        for name in waiting:
            file = Path(name)
            if name in texts or not file.is_file():
                continue
            with file.open(encoding="utf-8", errors="surrogateescape") as stream:
                texts[name] = stream.read(_MOST_BYTES + 1)
            found += [word[1:] for word in texts[name].split() if word.startswith("@")]
        waiting = found
    return texts


def _with_flags(
    given: list[str],
    texts: dict[str, str],
    before: list[str],
    behind: list[str],
    linking: list[str],
) -> list[str]:
    words = list(given)
    for text in texts.values():
        words += text.split()
    if "-o" in words and _NO_LINK.isdisjoint(words):
        given = [*linking, *given]
    if not any(word == "-c" or word.endswith(_SOURCES) for word in words):
        return given
    end = given.index("--") if "--" in given else len(given)
    return [*before, *given[:end], *behind, *given[end:]]


def _make_whole(given: list[str]) -> list[str]:
    """A thin archive holds no objects, so that no copy of it can be edited."""
    words = [word for word in given if word != "--thin"]
    if words and "/" not in words[0] and not words[0].startswith("--"):
        words[0] = words[0].replace("T", "")
    return words


def _note(record: str, role: str, program: str, given: list[str], texts: dict[str, str]) -> None:
    call = {
        "role": role,
        "cwd": str(Path.cwd()),
        "program": program,
        "arguments": given,
        "files": texts,
    }
    line = memoryview(json.dumps(call).encode() + b"\n")
    file = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # Two compilers end at the same time, and a long line may take more than one write.
        fcntl.flock(file, fcntl.LOCK_EX)
        while line:
            line = line[os.write(file, line) :]
    finally:
        os.close(file)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
