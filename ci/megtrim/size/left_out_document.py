"""What ``megtrim size left-out --json`` prints. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.strict_json import SignedInt

VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutEntry:
    """What a trim made of some bytes."""

    component: str
    symbol: str
    """Readable, with the instances of a template as one; empty: all of the component."""
    base_bytes: int
    kept_bytes: int
    left_out_bytes: SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutDocument:
    """The whole answer."""

    version: int = VERSION
    program: str
    left_out: tuple[LeftOutEntry, ...]
