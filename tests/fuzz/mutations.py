"""Bytes that are nearly a good file: the same for the same seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence

_NUMBER = re.compile(rb"\d+")
_NUMBERS = (b"0", b"-1", b"1" * 19, b"9" * 4300, b"4294967296", b"1e999", b"NaN", b"0x10", b"True")
_WORDS = (
    *(b"\x00", b"\xff\xfe", b"\n", b"\r\n", b"'", b'"', b"\\", b"\\ud800", b"{", b"}", b"[", b"]"),
    *(b"(", b")", b",", b":", b"#", b"%s", b"null", b"|O", b"\x93NUMPY", b"[" * 5000, b"(" * 300),
    *(b"<<<<<<< HEAD\n", b"version https://git-lfs.github.com/spec/v1\n", b"&a [*a, *a]"),
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
    *(_flip, _cut, _drop, _repeat, _insert, _splice, _number, _whole),
)
