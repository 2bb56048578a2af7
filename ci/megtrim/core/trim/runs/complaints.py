"""Runs of a scenario's command that go wrong: what they reach is kept where blocks are cut.

A user names a file that is not there, a folder, or a damaged file, or asks for what the program
does not know. The program then says so, by code that no scenario runs.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.core.trim.runs.execution import RunSpec
from megtrim.libs.programs.application_arguments import STDIN
from megtrim.libs.util.files import guard_write

_UNKNOWN_FLAG = "--no-such-flag"
FORM = "1: missing, folder, empty, half, zeroed; an unknown flag"
_HEAD_BYTES = 64


def list_spoken(spec: RunSpec) -> Iterator[RunSpec]:
    """What an engine's own program has words for, at every level that trims functions."""
    yield replace(spec, without_model=True)
    yield _ask_unknown(spec)


def list_complaints(spec: RunSpec, folder: Path) -> Iterator[RunSpec]:
    """``folder`` gets the damaged copies of what the command reads."""
    yield _ask_unknown(spec)
    if spec.model is not None:
        yield replace(spec, without_model=True)
        for damaged in _damage(spec.model, folder / "model"):
            yield replace(spec, model=damaged)
    for number, (name, path) in enumerate(sorted(spec.inputs.items())):
        if name != STDIN:
            yield replace(spec, missing=name)
            yield replace(spec, missing=name, is_folder=True)
        for damaged in _damage(path, folder / str(number)):
            yield replace(spec, inputs={**spec.inputs, name: damaged})


def _ask_unknown(spec: RunSpec) -> RunSpec:
    return replace(spec, arguments=(*spec.arguments, _UNKNOWN_FLAG))


def _damage(path: Path, folder: Path) -> Iterator[Path]:
    """Yield copies of a file: an empty one, its first half, and one that begins with zeros."""
    with guard_write(folder):
        data = path.read_bytes()
    zeros = bytes(min(_HEAD_BYTES, len(data)))
    for name, content in (
        ("empty", b""),
        ("half", data[: len(data) // 2]),
        ("zeroed", zeros + data[len(zeros) :]),
    ):
        copy = folder / f"{name}{path.suffix}"
        with guard_write(copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
        yield copy
