"""One change of a file's bytes, and the largest of many. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteChange:
    """One label's bytes in both files."""

    component: str
    label: str
    before_bytes: int
    after_bytes: int
    former: str = ""
    """Its label in the first file, if it was renamed."""

    @property
    def growth_bytes(self) -> int:
        """Return how many bytes it grew by."""
        return self.after_bytes - self.before_bytes


def list_largest(changes: Sequence[ByteChange], most: int) -> tuple[ByteChange, ...]:
    """Return the first changes, and one row for all others; what only has a new name is left out.

    They still add up.
    """
    changed = [each for each in changes if each.growth_bytes]
    if not (others := changed[most:]):
        return tuple(changed)
    rest = ByteChange(
        component="",
        label=f"[{len(others):,} others]",
        before_bytes=sum(each.before_bytes for each in others),
        after_bytes=sum(each.after_bytes for each in others),
    )
    return (*changed[:most], rest)
