"""Reads a model file of any format into :class:`ModelFacts`, chosen by its first bytes."""

from __future__ import annotations

import hashlib
import io
from functools import lru_cache
from typing import IO, TYPE_CHECKING

from megtrim.models import sample
from megtrim.models.mge import is_mge, least_bytes, parse_mge
from megtrim.util.errors import InputError
from megtrim.util.input_files import open_plain_file, read_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from megtrim.models.facts import ModelFacts

MAX_MODEL_BYTES = 4 * 1024**3
_HEAD_BYTES = 64
_EXPECTED = "a model"
_AGAIN = "fetch or dump the model again"


def parse_model(data: bytes, *, source: str) -> ModelFacts:
    """Parse a model's bytes. Raises InputError for anything but an intact model."""
    if not data:
        msg = f"{source}: empty, expected a model"
        raise InputError(msg, hint=_AGAIN)
    if data.startswith(sample.MAGIC):
        return sample.parse_sample_model(data, source=source)
    return parse_mge(data, source=source)


def read_is_flatbuffers(path: Path) -> bool:
    """Return whether a file begins like a model in FlatBuffers, as any ``.mge`` does."""
    with open_plain_file(path, expected=_EXPECTED) as stream:
        return is_mge(stream.read(_HEAD_BYTES))


def read_whole(path: Path, *, source: str) -> None:
    """Raise InputError for an empty or truncated model; unknown formats pass.

    Only the bytes that contain the size are read.
    """
    with open_plain_file(path, expected=_EXPECTED, shown=source) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        head = stream.read(_HEAD_BYTES)
        if not head or head.startswith(sample.MAGIC):
            parse_model(head + stream.read(sample.MAX_BYTES), source=source)
            return
        least = least_bytes(head, lambda at: _read_number(stream, at) if at < size else 0)
    if size < least:
        msg = f"{source}: truncated: it has {size} bytes, expected at least {least}"
        raise InputError(msg, hint=_AGAIN)


def _read_number(stream: IO[bytes], at: int) -> int:
    stream.seek(at)
    return int.from_bytes(stream.read(4), "little")


@lru_cache(maxsize=1024)
def digest_model_graph(path: Path, sha256: str) -> str | None:
    """Return the digest of a model of that sha256 without the values of its weights.

    None where it is not known: only the engine can read the model, or it was replaced.
    """
    try:
        data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected=_EXPECTED)
        facts = parse_model(data, source=str(path))
    except InputError:
        return None
    known = hashlib.sha256(data).hexdigest() == sha256
    return (facts.graph_sha256 or None) if known else None


def read_model(path: Path, *, shown: str = "") -> ModelFacts:
    """Read the model file at ``path``; ``shown`` is its name in messages, by default its path."""
    data = read_bytes(path, most_bytes=MAX_MODEL_BYTES, expected=_EXPECTED, shown=shown)
    return parse_model(data, source=shown or str(path))
