"""``sizes.json``: what the artifacts weighed, kept as the baseline that growth is held against.

Format: ``{"version": 1, "artifacts": {NAME: {VARIANT: BYTES}}}``. Pure.
"""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.errors import InputError
from megtrim.size.budgets import Baseline, Sizes

VERSION = 1
_HINT = "expected the sizes.json that the size stage wrote"
_LARGEST_FILE_BYTES = 1024 * 1024


def dump_sizes(sizes: Sizes) -> str:
    """Return the file's text; equal sizes are equal bytes."""
    artifacts: dict[str, dict[str, int]] = {}
    for (artifact, variant), size_bytes in sizes.items():
        artifacts.setdefault(artifact, {})[variant] = size_bytes
    return json.dumps({"version": VERSION, "artifacts": artifacts}, indent=1, sort_keys=True) + "\n"


def parse_sizes(text: str, *, source: str) -> Baseline:
    """Read the file's text. Anything but its exact shape is an InputError."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        msg = f"{source}:1: not JSON"
        raise InputError(msg, hint=_HINT) from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        msg = f"{source}:1: not version {VERSION} of a baseline"
        raise InputError(msg, hint=_HINT)
    artifacts = data.get("artifacts")
    rows = list(artifacts.items()) if isinstance(artifacts, dict) else []
    whole = all(isinstance(variants, dict) for _, variants in rows)
    sizes = {(name, v): n for name, variants in rows for v, n in variants.items()} if whole else {}
    if not sizes or any(type(size) is not int or size < 0 for size in sizes.values()):
        msg = f"{source}:1: its artifacts are not names with variants and whole bytes"
        raise InputError(msg, hint=_HINT)
    return Baseline(source=source, sizes=sizes)


def load_sizes(path: Path) -> Baseline:
    """Read the file at ``path``."""
    try:
        raw = path.read_bytes()[: _LARGEST_FILE_BYTES + 1]
        text = raw.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        msg = f"{path}: cannot be read as text"
        raise InputError(msg, hint=_HINT) from None
    return parse_sizes(text, source=str(path))
