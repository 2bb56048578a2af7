"""Lower limits for what shrank: what was won is not to be lost again, change by change.

A proposal is in whole units of the limit that it replaces, rounded up. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from megtrim.config.yaml.edit import replace_scalar
from megtrim.config.yaml.problems import KeyPath

if TYPE_CHECKING:
    from megtrim.config.model import Budget

_DECIMAL = re.compile(r"(?:kB|KB|MB|GB)")
_KIB, _KB = 1024, 1000


def propose_limit(budget: Budget, size_bytes: int, growth_bytes: int | None) -> int | None:
    """Return the lower limit, or None if the limit leaves no more room than it should.

    With a headroom, ``ratchet``, that is the room; without one, what shrank keeps the room that it
    had. A limit that is a share follows the plain build by itself.
    """
    limit = budget.max_size
    if limit is None or limit.share or size_bytes > limit.size_bytes:
        return None
    if budget.ratchet is not None:
        least_bytes = size_bytes + budget.ratchet.limit_bytes(size_bytes)
    elif growth_bytes is not None and growth_bytes < 0:
        least_bytes = limit.size_bytes + growth_bytes
    else:
        return None
    lower_bytes = round_up(max(least_bytes, size_bytes), limit.size_bytes)
    return lower_bytes if lower_bytes < limit.size_bytes else None


def round_up(size_bytes: int, limit_bytes: int) -> int:
    """Return a size in whole units of the limit that it is to replace: KiB, kB or bytes."""
    unit = next((each for each in (_KIB, _KB) if limit_bytes % each == 0), 1)
    return -(-size_bytes // unit) * unit


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweredFile:
    """A configuration with one lower limit."""

    raw: bytes
    line: int
    text: str
    """The line that holds it."""


def lower_limit(raw: bytes, path: KeyPath, max_bytes: int, *, file: str) -> LoweredFile:
    """Return a configuration with a lower limit at ``path``; every other byte is as it was.

    Raises InputError where that limit is not one value of its own.
    """
    edited, line = replace_scalar(raw, path, partial(_write_limit, max_bytes), file=file)
    return LoweredFile(raw=edited, line=line, text=edited.decode().splitlines()[line - 1].strip())


def _write_limit(limit_bytes: int, former: str) -> str:
    """Return a limit as a person would write it in place of ``former``."""
    if "iB" in former and limit_bytes % _KIB == 0:
        return f"{limit_bytes // _KIB} KiB"
    if _DECIMAL.search(former) and limit_bytes % _KB == 0:
        return f"{limit_bytes // _KB} kB"
    return str(limit_bytes)
