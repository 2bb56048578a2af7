"""How sizes changed over the commits whose ``sizes.json`` were kept, oldest first. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from megtrim.size.budgets import Baseline
from megtrim.strict_json import SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePoint:
    """The size of a file at one commit."""

    commit: str
    """Empty if the sizes do not say it."""
    committed_at: str
    """In UTC, such as ``2026-11-24T02:00:00Z``, or empty."""
    size_bytes: int
    growth_bytes: SignedInt | None
    """Since the point before; None for the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeTrend:
    """One file over all commits that have it."""

    artifact: str
    variant: str
    points: tuple[SizePoint, ...]


def make_trends(stored: Sequence[Baseline], *, variant: str = "") -> tuple[SizeTrend, ...]:
    """Return the trend of each artifact and variant, by name; ``variant``: only of that one.

    Sizes of equal commits count once. Those of quick trims are no trend of full ones, so they are
    left out, and so is what says no commit: its place is not known.
    """
    dated = {each.commit: each for each in stored if each.commit and not each.quick}
    in_order = sorted(dated.values(), key=lambda each: (each.committed_at, each.commit))
    keys = sorted({key for each in in_order for key in each.sizes})
    return tuple(
        SizeTrend(artifact=key[0], variant=key[1], points=_list_points(key, in_order))
        for key in keys
        if variant in ("", key[1])
    )


def _list_points(key: tuple[str, str], stored: Sequence[Baseline]) -> tuple[SizePoint, ...]:
    points: list[SizePoint] = []
    for each in stored:
        if key in each.sizes:
            before_bytes = points[-1].size_bytes if points else None
            size_bytes = each.sizes[key]
            points.append(
                SizePoint(
                    commit=each.commit,
                    committed_at=each.committed_at,
                    size_bytes=size_bytes,
                    growth_bytes=None if before_bytes is None else size_bytes - before_bytes,
                )
            )
    return tuple(points)
