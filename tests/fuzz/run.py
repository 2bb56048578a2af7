"""A reader on many damaged files, and what came of it."""

import random
import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from fuzz.readers import FileReader
from megtrim.libs.util.errors import MegtrimError

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


_NUMBER = re.compile(rb"\d+")
_NUMBERS = (b"0", b"-1", b"1" * 19, b"9" * 4300, b"4294967296", b"1e999", b"NaN", b"0x10", b"True")
_WORDS = (
    b"\x00",
    b"\xff\xfe",
    b"\n",
    b"\r\n",
    b"'",
    b'"',
    b"\\",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]",
    b"(",
    b")",
    b",",
    b":",
    b"#",
    b"%s",
    b"null",
    b"|O",
    b"\x93NUMPY",
    b"[" * 5000,
    b"(" * 300,
    b"<<<<<<< HEAD\n",
    b"version https://git-lfs.github.com/spec/v1\n",
    b"&a [*a, *a]",
)
_Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def mutated(seeds: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    chance = random.Random(seed)
    for _ in range(count):
        data = chance.choice(seeds)
        for _ in range(chance.randint(1, 4)):
            data = chance.choice(_MUTATIONS)(chance, data, seeds)
        yield data


def _place(chance: random.Random, data: bytes) -> int:
    """Return a place in the file, half of the time near its beginning."""
    return chance.randrange(min(len(data), 160 if chance.random() < 0.5 else len(data)) + 1)


def _flip(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(chance, data)
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _cut(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: _place(chance, data)]


def _drop(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(chance, data)
    return data[:at] + data[at + chance.randint(1, 40) :]


def _repeat(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(chance, data)
    return data[:at] + data[at : at + chance.randint(1, 200)] * 2 + data[at:]


def _insert(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    at = _place(chance, data)
    return data[:at] + chance.choice(_WORDS) + data[at:]


def _splice(chance: random.Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = chance.choice(seeds)
    return data[: _place(chance, data)] + other[_place(chance, other) :]


def _number(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    places = list(_NUMBER.finditer(data[:4096]))
    if not places:
        return data
    at = chance.choice(places)
    return data[: at.start()] + chance.choice(_NUMBERS) + data[at.end() :]


def _whole(chance: random.Random, data: bytes, _: Sequence[bytes]) -> bytes:
    size = chance.choice((1, 2, 4, 8))
    value = chance.choice((0, 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size) - 1, len(data)))
    at = _place(chance, data)
    written: bytes = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return data[:at] + written + data[at + size :]


_MUTATIONS: tuple[_Mutation, ...] = (
    _flip,
    _cut,
    _drop,
    _repeat,
    _insert,
    _splice,
    _number,
    _whole,
)
