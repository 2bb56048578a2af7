"""Read a model file of whatever format into :class:`ModelFacts`, chosen by its first bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from megtrim.errors import InputError
from megtrim.models import sample
from megtrim.models.mge import parse_mge

if TYPE_CHECKING:
    from pathlib import Path

    from megtrim.models.facts import ModelFacts

MAX_MODEL_BYTES = 4 * 1024**3


def parse_model(data: bytes, *, source: str) -> ModelFacts:
    """Read a model's bytes. Raises InputError for anything that is no whole model."""
    if not data:
        msg = f"{source}: empty, expected a model"
        raise InputError(msg, hint="fetch or dump the model again")
    if data.startswith(sample.MAGIC):
        return sample.parse_sample_model(data, source=source)
    return parse_mge(data, source=source)


def read_model(path: Path) -> ModelFacts:
    """Read the model file at ``path``."""
    try:
        size = path.stat().st_size
        if size > MAX_MODEL_BYTES:
            msg = f"{path}: {size} bytes are too many for a model, at most {MAX_MODEL_BYTES}"
            raise InputError(msg, hint="give its operator JSON (strip_info) instead")
        data = path.read_bytes()
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise InputError(msg, hint="name a model file") from None
    return parse_model(data, source=str(path))
