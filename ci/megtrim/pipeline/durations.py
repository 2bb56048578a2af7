"""How long tasks took on this machine, whatever the folder of results.

It serves estimates alone: a file that cannot be read counts as none, and a machine where it cannot
be written has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from megtrim.devices.pool.state_dir import state_folder
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.input_files import read_text
from megtrim.pipeline.results import RebuildRecord
from megtrim.plan.estimate import (
    BuildSetting,
    Duration,
    Estimate,
    PendingTask,
    estimate,
    estimate_cached,
)
from megtrim.store import write_atomically
from megtrim.strict_json import dump, load

_FILE = "durations.json"
_VERSION: Literal[2] = 2
_MOST = 500
"""Durations that are kept: the newest."""
_LARGEST_BYTES = 2**20
_UNCOUNTED = 0.5
"""What an old compiler cache, which does not count, may have had: such a build is no measure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    version: Literal[2]
    durations: tuple[Duration, ...]


class DurationLog:
    """The durations of former tasks on this machine."""

    def __init__(self, file: Path, setting: BuildSetting) -> None:
        self._file = file
        self._setting = setting

    def add(
        self, pending: PendingTask, time_s: float, *, rebuilt: RebuildRecord | None = None
    ) -> None:
        """Remember how long a task took; ``rebuilt``: what it compiled."""
        former = self._read()
        added = Duration(
            task=pending.task,
            variant=pending.variant,
            place=self._setting.place,
            key=pending.key,
            time_s=time_s,
            share=rebuilt.share if rebuilt else 0.0,
            cached=self._find_cached_share(rebuilt),
        )
        document = _Document(version=_VERSION, durations=(*former, added)[-_MOST:])
        with suppress(InfrastructureFailure):
            write_atomically(self._file, dump(document))

    def estimate(self, pending: Sequence[PendingTask]) -> Estimate:
        """Return how long tasks will take."""
        return estimate(pending, self._read(), self._setting)

    def estimate_cached(self, pending: PendingTask) -> float | None:
        """Return the seconds of a build that the compiler cache has; None if that is not known."""
        return estimate_cached(pending, self._read(), self._setting)

    def _find_cached_share(self, rebuilt: RebuildRecord | None) -> float | None:
        if rebuilt is None or not self._setting.cached:
            return None
        if rebuilt.from_cache is None:
            return _UNCOUNTED
        return rebuilt.from_cache / rebuilt.compiled if rebuilt.compiled else 0.0

    def _read(self) -> tuple[Duration, ...]:
        try:
            text = read_text(self._file, most_bytes=_LARGEST_BYTES, expected="durations")
            found = load(_Document, text, source=str(self._file), version=_VERSION, hint="")
        except InputError:
            return ()
        return found.durations


def open_durations(env: Mapping[str, str], setting: BuildSetting) -> DurationLog | None:
    """Return the durations of this user on this machine; None where there is no home for them."""
    try:
        return DurationLog(state_folder(env) / _FILE, setting)
    except InputError:
        return None
