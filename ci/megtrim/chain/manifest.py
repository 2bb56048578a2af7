"""What the ``manifest.json`` of a stage's folder says, as text and as a value. Pure.

A manifest carries the digest of its own content: one that was changed behind megtrim's back is
refused whole, so that no reader of a result meets one of another form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import Field

from megtrim.util.errors import InputError
from megtrim.util.strict_json import decode, encode

LAYOUT = 3
"""Version of folders and manifests. It enters every key: results of an older one are made again."""
_SEAL = "sha256"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """A file as its stage left it."""

    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(alias="bytes")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a finished stage says of its folder."""

    layout: int = field(default_factory=lambda: LAYOUT)
    stage: str
    name: str
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{20}$")]
    inputs: Mapping[str, str]
    result: Mapping[str, Any]
    files: Mapping[str, FileFacts]
    """By path, relative to the folder."""

    def __post_init__(self) -> None:
        """Refuse another layout, and files outside of the folder."""
        _expect(self.layout == LAYOUT, "another layout")
        for name in self.files:
            path = PurePosixPath(name)
            leaves = path.is_absolute() or ".." in path.parts
            stays = str(path) == name and path.parts and not leaves and "\0" not in name
            _expect(bool(stays), "a file outside the folder")


def dump_manifest(manifest: Manifest) -> str:
    """Return the text: sorted JSON, for people too."""
    data = encode(manifest)
    return _text(data | {_SEAL: _digest(data)})


def parse_manifest(text: str) -> Manifest:
    """Return what a text says. Raises InputError where megtrim did not write exactly that."""
    try:
        data = json.loads(text)
        whole = isinstance(data, dict) and data.pop(_SEAL, "") == _digest(data)
        _expect(whole, "another content than its sha256 states")
        manifest: Manifest = decode(Manifest, data, "")
    except (InputError, ValueError, RecursionError) as error:
        msg = f"found {error}, expected a manifest as megtrim writes it"
        raise InputError(msg) from None
    return manifest


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(data: Mapping[str, Any]) -> str:
    # A lone surrogate, which JSON can spell and no file can hold, is a ValueError here.
    return hashlib.sha256(_text(data).encode()).hexdigest()
