"""MegEngine's algorithm cache: categories of keys and answers, each with its length before it.

Read from ``InFilePersistentCache`` and ``AlgoChooserProfileCache`` of 1.13; earlier releases write
the same. An answer lists the algorithms that are worth their workspace, the fastest first, each as
a description that ends with its name, and the text ``:ATTRIBUTE;SECONDS;WORKSPACE:``. Pure.
"""

import re
import struct
from collections.abc import Mapping
from itertools import groupby

from megtrim.core.keep.algo_cache import Key
from megtrim.libs.util.errors import InputError

_NUMBER = struct.Struct("<I")
_LARGEST_CATEGORY = 255
"""The engine reads a category into a buffer of 256 characters."""
_HINT = "search again: is it a file that the engine's search wrote?"
_KIND = re.compile(r"plat=\w+:([A-Za-z0-9]+?)(?:v\d+|_)", re.ASCII)
_TEXT = re.compile(rb"[ -~]*")
_NOT_IN_NAME = re.compile(rb"[^ -~]")
_LONGEST_SHOWN = 200


class _Reader:
    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self.at = 0

    def number(self) -> int:
        (value,) = _NUMBER.unpack(self._take(_NUMBER.size))
        return int(value)

    def blob(self) -> bytes:
        return self._take(self.number())

    @property
    def left(self) -> int:
        return len(self._data) - self.at

    def fail(self, found: str) -> None:
        msg = f"{self._source}: found {found} at byte {self.at}, expected an algorithm cache"
        raise InputError(msg, hint=_HINT)

    def _take(self, size: int) -> bytes:
        taken = self._data[self.at : self.at + size]
        if len(taken) < size:
            self.fail(f"{len(taken):,} of {size:,} bytes")
        self.at += size
        return taken


class MgeCaches:
    def parse(self, data: bytes, *, source: str) -> Mapping[Key, bytes]:
        reader = _Reader(data, source)
        answers: dict[Key, bytes] = {}
        for _ in range(reader.number()):
            name = reader.blob()
            is_name = name.isascii() and name.decode().isprintable()
            if not is_name or len(name) > _LARGEST_CATEGORY:
                reader.fail(f"the category {name[:40]!r}")
            for _ in range(reader.number()):
                key = (name.decode(), reader.blob())
                if key in answers:
                    reader.fail(f"a second answer for {self.describe(key)}")
                answers[key] = reader.blob()
                self._list_algorithms(answers[key], source=source)
        if reader.left:
            reader.fail(f"{reader.left:,} bytes after the last category")
        return answers

    def dump(self, answers: Mapping[Key, bytes]) -> bytes:
        categories = [
            (name, list(keys)) for name, keys in groupby(sorted(answers), key=lambda key: key[0])
        ]
        parts = [_NUMBER.pack(len(categories))]
        for name, keys in categories:
            parts += [_blob(name.encode()), _NUMBER.pack(len(keys))]
            for key in keys:
                parts += [_blob(key[1]), _blob(answers[key])]
        return b"".join(parts)

    def describe(self, key: Key) -> str:
        kind = _KIND.search(key[0])
        text = _TEXT.match(key[1])
        shapes = text[0][:_LONGEST_SHOWN].decode() if text else ""
        return f"{kind[1] if kind else key[0]} {shapes}".rstrip()

    def name_algorithm(self, answer: bytes) -> str:
        return self._list_algorithms(answer, source="a cache")[0]

    def _list_algorithms(self, answer: bytes, *, source: str) -> list[str]:
        reader = _Reader(answer, source)
        names = []
        for _ in range(reader.number()):
            description = reader.blob()
            name = _NOT_IN_NAME.split(description)[-1].decode() or description.hex()
            names.append(name[:_LONGEST_SHOWN])
            reader.blob()
        if not names or reader.left:
            reader.fail("an answer that is not a list of algorithms")
        return names


def _blob(data: bytes) -> bytes:
    return _NUMBER.pack(len(data)) + data
