"""What tasks took when they were last done on this machine, whatever the folder of results.

A file that cannot be read counts as none, and a machine where it cannot be written has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from megtrim.devices.pool.leases import state_folder
from megtrim.util.console import show_time
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.files import write_atomically
from megtrim.util.input_files import read_text
from megtrim.util.strict_json import dump, load

_FILE = "durations.json"
_VERSION: Literal[3] = 3
_MOST = 500
"""Tasks that are kept: the last ones."""
_LARGEST_BYTES = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Duration:
    task: str
    """Its setting and its id."""
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    version: Literal[3]
    durations: tuple[_Duration, ...]


class DurationLog:
    """The last durations of tasks in one setting: engine, toolchain and compilers at once."""

    def __init__(self, file: Path, setting: str) -> None:
        self._file = file
        self._setting = setting

    def add(self, task: str, time_s: float) -> None:
        """Remember how long a task took."""
        name = f"{self._setting} {task}"
        others = {former: took for former, took in self._read().items() if former != name}
        rows = tuple(_Duration(task=k, time_s=v) for k, v in {**others, name: time_s}.items())
        document = _Document(version=_VERSION, durations=rows[-_MOST:])
        with suppress(InfrastructureFailure):
            write_atomically(self._file, dump(document))

    def describe(self, tasks: Sequence[str]) -> str:
        """Say what tasks took last time; empty if there are none, or one was never done here."""
        former = self._read()
        took = [former.get(f"{self._setting} {task}") for task in tasks]
        known = [each for each in took if each is not None]
        if not known or len(known) < len(took):
            return ""
        return f"{show_time(sum(known))} when these tasks were last done on this machine"

    def _read(self) -> dict[str, float]:
        try:
            text = read_text(self._file, most_bytes=_LARGEST_BYTES, expected="durations")
            found = load(_Document, text, source=str(self._file), version=_VERSION, hint="")
        except InputError:
            return {}
        return {each.task: each.time_s for each in found.durations}


def open_durations(env: Mapping[str, str], setting: str) -> DurationLog | None:
    """Return the durations of this user on this machine; None where there is no home for them."""
    try:
        return DurationLog(state_folder(env) / _FILE, setting)
    except InputError:
        return None
