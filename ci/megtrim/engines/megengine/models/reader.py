"""Reads model files of MegEngine: whole, or as much as shows that one is not cut off."""

import io
from pathlib import Path
from typing import IO

from megtrim.core.model_facts import ModelFacts
from megtrim.engines.megengine.models.mge import is_mge, least_bytes, parse_mge
from megtrim.engines.models.reader import FETCH_AGAIN, ModelFiles, expect_content
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import open_plain_file

_HEAD_BYTES = 64


class MgeModels(ModelFiles):
    def is_own(self, head: bytes) -> bool:
        return is_mge(head)

    def parse(self, data: bytes, *, source: str) -> ModelFacts:
        expect_content(data, source=source)
        return parse_mge(data, source=source)

    def read_whole(self, path: Path, *, source: str) -> None:
        with open_plain_file(path, expected="a model", shown=source) as stream:
            size = stream.seek(0, io.SEEK_END)
            stream.seek(0)
            head = stream.read(_HEAD_BYTES)
            expect_content(head, source=source)
            least = least_bytes(head, lambda at: _read_number(stream, at) if at < size else 0)
        if size < least:
            msg = f"{source}: truncated: it has {size} bytes, expected at least {least}"
            raise InputError(msg, hint=FETCH_AGAIN)

    def read_is_flatbuffers(self, path: Path) -> bool:
        with open_plain_file(path, expected="a model") as stream:
            return is_mge(stream.read(_HEAD_BYTES))


def _read_number(stream: IO[bytes], at: int) -> int:
    stream.seek(at)
    return int.from_bytes(stream.read(4), "little")
