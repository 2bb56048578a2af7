"""A reader on many damaged files, and what came of it."""

from __future__ import annotations

import resource
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from fuzz.mutations import mutated
from fuzz.readers import FileReader
from megtrim.util.errors import MegtrimError

LONGEST_S = 10.0
"""Of one file: what takes longer hangs."""
MOST_MB = 256
"""Of memory, the interpreter and all libraries included."""


class Hang(BaseException):
    """A reader did not come to its end."""


@dataclass(slots=True)
class Tally:
    """What became of the files of one reader."""

    reader: str
    taken: int = 0
    refused: int = 0
    bugs: dict[str, bytes] = field(default_factory=dict)
    """Last line of a traceback, and a file that leads to it: an exit status of 70."""
    longest_s: float = 0.0


def run(reader: FileReader, count: int, seed: int) -> Tally:
    tally = Tally(reader.name)
    with _bounded():
        for data in mutated(reader.seeds, count, seed):
            _read(reader, data, tally)
    return tally


def most_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _read(reader: FileReader, data: bytes, tally: Tally) -> None:
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        reader.read(data)
        tally.taken += 1
    except MegtrimError:
        tally.refused += 1
    except (Exception, Hang) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        tally.bugs[f"{type(error).__name__} in {where.name}:{where.lineno}"] = data
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    tally.longest_s = max(tally.longest_s, time.monotonic() - started)


@contextmanager
def _bounded() -> Iterator[None]:
    def end(_number: int, _frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, before)
