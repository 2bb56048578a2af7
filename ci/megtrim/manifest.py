"""What the ``manifest.json`` of a stage's folder says, as text and as a value. Pure.

A manifest carries the digest of its own content: one that was changed behind megtrim's back is
refused whole, so that no reader of a result meets one of another form.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from megtrim.errors import InputError

LAYOUT = 3
"""Version of folders and manifests. It enters every key: results of an older one are made again."""
_SEAL = "sha256"
_FIELDS = frozenset({"layout", "stage", "name", "key", "inputs", "result", "files", _SEAL})
_KEY = re.compile(r"[0-9a-f]{20}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """A file as its stage left it."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a finished stage says of its folder."""

    stage: str
    name: str
    key: str
    inputs: Mapping[str, str]
    result: Mapping[str, Any]
    files: Mapping[str, FileFacts]
    """By path, relative to the folder."""


def dump_manifest(manifest: Manifest) -> str:
    """Return the text: sorted JSON, for people too."""
    data = {
        "layout": LAYOUT,
        "stage": manifest.stage,
        "name": manifest.name,
        "key": manifest.key,
        "inputs": dict(manifest.inputs),
        "result": dict(manifest.result),
        "files": {
            name: {"sha256": facts.sha256, "bytes": facts.size_bytes}
            for name, facts in manifest.files.items()
        },
    }
    return _text(data | {_SEAL: _digest(data)})


def parse_manifest(text: str) -> Manifest:
    """Return what a text says. Raises InputError where megtrim did not write exactly that."""
    try:
        data = json.loads(text, parse_constant=_refuse)
        _expect(isinstance(data, dict) and data.keys() == _FIELDS, "other fields")
        content = {name: value for name, value in data.items() if name != _SEAL}
        _expect(data[_SEAL] == _digest(content), "another content than its sha256 states")
        return _manifest(content)
    except (ValueError, RecursionError) as error:
        msg = f"found {error}, expected a manifest as megtrim writes it"
        raise InputError(msg) from None


def _manifest(data: Mapping[str, Any]) -> Manifest:
    _expect(type(data["layout"]) is int and data["layout"] == LAYOUT, "another layout")
    _expect(all(isinstance(data[each], str) for each in ("stage", "name")), "a name of no text")
    _expect(_is_text(data["key"], _KEY), "a key that is none")
    _expect(isinstance(data["result"], dict), "a result of another form")
    inputs = data["inputs"]
    _expect(isinstance(inputs, dict), "inputs of another form")
    _expect(all(isinstance(value, str) for value in inputs.values()), "an input of no text")
    _expect(isinstance(data["files"], dict), "files of another form")
    return Manifest(
        stage=data["stage"],
        name=data["name"],
        key=data["key"],
        inputs=inputs,
        result=data["result"],
        files={name: _facts(name, facts) for name, facts in data["files"].items()},
    )


def _facts(name: str, facts: object) -> FileFacts:
    path = PurePosixPath(name)
    safe = str(path) == name and path.parts and not path.is_absolute() and ".." not in path.parts
    _expect(bool(safe) and "\0" not in name, "a file outside the folder")
    if not isinstance(facts, dict) or facts.keys() != {"sha256", "bytes"}:
        msg = "a file of another form"
        raise ValueError(msg)
    sha256, size_bytes = facts["sha256"], facts["bytes"]
    _expect(_is_text(sha256, _SHA256), "a digest that is none")
    if type(size_bytes) is not int or size_bytes < 0:
        msg = "a size that is none"
        raise ValueError(msg)
    return FileFacts(sha256=sha256, size_bytes=size_bytes)


def _is_text(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _refuse(constant: str) -> None:
    msg = f"the number {constant}"
    raise ValueError(msg)


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(data: Mapping[str, Any]) -> str:
    # A lone surrogate, which JSON can spell and no file can hold, is a ValueError here.
    return hashlib.sha256(_text(data).encode()).hexdigest()
