"""``sizes.json``: the sizes of the artifacts, kept as the baseline that growth is measured against.

Format: ``{"version": 1, "artifacts": {NAME: {VARIANT: BYTES}}, "source": TEXT, "quick": true}``.
``source`` says where the sizes are from, for people, and may be left out. If it is there,
``artifacts`` may be empty; the source then says why there are none. ``quick`` marks the sizes of a
quick trim, which are never compared with those of a full one. Pure.
"""

from __future__ import annotations

import json
from pathlib import Path

from megtrim.errors import InputError
from megtrim.input_files import expect_merged, read_text
from megtrim.size.budgets import Baseline, Sizes

VERSION = 1
_MERGE_HINT = "take one side as it is: git checkout --ours or --theirs"
_HINT = "expected the sizes.json that the size stage wrote"
_LARGEST_FILE_BYTES = 1024 * 1024
_LONGEST_SOURCE = 500


def dump_sizes(sizes: Sizes, *, source: str = "", quick: bool = False) -> str:
    """Return the file's text; equal sizes are equal bytes."""
    artifacts: dict[str, dict[str, int]] = {}
    for (artifact, variant), size_bytes in sizes.items():
        artifacts.setdefault(artifact, {})[variant] = size_bytes
    document: dict[str, object] = {"version": VERSION, "artifacts": artifacts}
    document |= ({"source": source} if source else {}) | ({"quick": True} if quick else {})
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def parse_sizes(text: str, *, source: str) -> Baseline:
    """Parse the file's text; ``source`` names it in messages. Raises InputError."""
    expect_merged(text, shown=source, hint=_MERGE_HINT)
    try:
        data = json.loads(text, object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError):
        msg = f"{source}:1: not JSON with each key once in an object"
        raise InputError(msg, hint=_HINT) from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        msg = f"{source}:1: not version {VERSION} of a baseline"
        raise InputError(msg, hint=_HINT)
    own_source = data.get("source", "")
    if not _is_line(own_source):
        msg = f"{source}:1: its source is not one line of at most {_LONGEST_SOURCE} characters"
        raise InputError(msg, hint=_HINT)
    quick = data.get("quick", False)
    if not isinstance(quick, bool):
        msg = f"{source}:1: its quick is neither true nor false"
        raise InputError(msg, hint=_HINT)
    artifacts = data.get("artifacts")
    rows = list(artifacts.items()) if isinstance(artifacts, dict) else []
    whole = all(isinstance(variants, dict) for _, variants in rows)
    sizes = {(name, v): n for name, variants in rows for v, n in variants.items()} if whole else {}
    empty = artifacts == {} and own_source != ""
    if not (sizes or empty) or any(type(size) is not int or size < 0 for size in sizes.values()):
        msg = f"{source}:1: its artifacts are not names with variants and whole numbers of bytes"
        raise InputError(msg, hint=_HINT)
    return Baseline(source=own_source or source, sizes=sizes, quick=quick)


def expect_same_kind(baseline: Baseline, *, quick: bool, shown: str) -> Baseline:
    """Return the baseline if it is of a quick trim or of a full one, as ``quick`` says.

    A quick trim starts from another build, so its sizes cannot be compared with a full one's.
    Raises InputError.
    """
    if baseline.quick is quick:
        return baseline
    found, expected = ("a full trim", "a quick one") if quick else ("a quick trim", "a full one")
    msg = f"{shown}: found sizes of {found}, expected those of {expected}"
    raise InputError(msg, hint="take the sizes.json of a run of the same kind")


def load_sizes(path: Path, *, shown: str) -> Baseline:
    """Read the file at ``path``; ``shown`` is the source if the file names none."""
    most, expected = _LARGEST_FILE_BYTES, "the sizes of a baseline"
    text = read_text(path, most_bytes=most, expected=expected, shown=shown, hint=_HINT)
    return parse_sizes(text, source=shown)


def _is_line(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_SOURCE and value.isprintable()


def _each_key_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
