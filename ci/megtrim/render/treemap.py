"""A treemap's tiles. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """A rectangle of the treemap."""

    x: float
    y: float
    width: float
    height: float


def layout(values: Sequence[int], *, width: float, height: float) -> tuple[Tile, ...]:
    """Return one tile for each of ``values`` (positive, the largest first) in a frame at 0, 0."""
    if not values:
        return ()
    scale = width * height / sum(values)
    areas = [value * scale for value in values]
    free = Tile(x=0.0, y=0.0, width=width, height=height)
    tiles: list[Tile] = []
    while len(tiles) < len(areas):
        row = _find_row(areas[len(tiles) :], min(free.width, free.height))
        placed, free = _place_row(row, free)
        tiles += placed
    return tuple(tiles)


def _find_row(areas: Sequence[float], side: float) -> list[float]:
    """Return the first of ``areas`` that make the squarest tiles along a side."""
    row = [areas[0]]
    for area in areas[1:]:
        if _worst([*row, area], side) > _worst(row, side):
            break
        row.append(area)
    return row


def _worst(row: Sequence[float], side: float) -> float:
    total = sum(row)
    return max(side**2 * max(row) / total**2, total**2 / (side**2 * min(row)))


def _place_row(row: Sequence[float], free: Tile) -> tuple[list[Tile], Tile]:
    """Put ``row`` along the shorter side of ``free``; return its tiles and what is left."""
    total = sum(row)
    tiles = []
    if free.width >= free.height:
        depth = total / free.height
        at = free.y
        for area in row:
            tiles.append(Tile(x=free.x, y=at, width=depth, height=area / depth))
            at += area / depth
        rest = Tile(x=free.x + depth, y=free.y, width=free.width - depth, height=free.height)
    else:
        depth = total / free.width
        at = free.x
        for area in row:
            tiles.append(Tile(x=at, y=free.y, width=area / depth, height=depth))
            at += area / depth
        rest = Tile(x=free.x, y=free.y + depth, width=free.width, height=free.height - depth)
    return tiles, rest
