"""Which flags one tree's ``load_and_run`` has, read from its sources.

Releases of one generation differ, and a fork may have flags of its own, so the flags that the
sources name are the program's flags. If a tree's sources name none, its generation's list is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from megtrim.build.engines.checkout import Checkout
from megtrim.load_and_run.dialects import Dialect

_DEFINED = re.compile(
    r"\bDEFINE_(bool|u?int32|u?int64|double|string)\s{0,99}\(\s{0,99}([A-Za-z_]\w{0,99})", re.ASCII
)
_COMPARED = re.compile(
    r'\bstrcmp\s{0,9}\(\s{0,99}argv\[i\]\s{0,9},\s{0,99}"--([a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){0,20})"'
)
_LAYOUT = re.compile(r"^\s{0,99}cb\(([a-z0-9_]{1,99})\)\s{0,9};", re.MULTILINE)
_TAKES_NEXT = re.compile(r"\+\+\s{0,9}i\b")
_MOST_FILES = 200
_LARGEST_FILE_BYTES = 2**20


def narrow_dialect(dialect: Dialect, checkout: Checkout, program: str) -> Dialect:
    """Return the dialect with the flags that the sources below the folder ``program`` name."""
    names = [n for n in sorted(checkout.files) if n.startswith(program) and n.endswith(".cpp")]
    switches: set[str] = set()
    values: set[str] = set()
    for source in names[:_MOST_FILES]:
        text = checkout.text(source, most_bytes=_LARGEST_FILE_BYTES)
        for name, takes_value in (_parse_comparisons if dialect.literal else _parse_gflags)(text):
            (values if takes_value else switches).add(name)
    if not switches | values:
        return dialect
    return dialect.of_tree(frozenset(switches), frozenset(values))


def _parse_gflags(text: str) -> Iterable[tuple[str, bool]]:
    """Yield the flags that are defined with gflags, and whether each takes a value."""
    for kind, name in _DEFINED.findall(text):
        yield name, kind != "bool"


def _parse_comparisons(text: str) -> Iterable[tuple[str, bool]]:
    """Yield the flags that arguments are compared with, and whether each takes a value."""
    found = list(_COMPARED.finditer(text))
    if not found:
        return
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=True):
        step = _TAKES_NEXT.search(text, match.end(), end)
        yield match[1].replace("-", "_"), step is not None
    # One macro defines the flags of all tensor layouts.
    yield from ((f"enable_{name}", False) for name in _LAYOUT.findall(text))
