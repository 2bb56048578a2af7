"""Where the bytes of what ships are, as rectangles whose areas are bytes. Pure.

Widths are percentages and heights are pixels, so that a picture fills its place and its text is
not stretched. Each picture is laid out twice, for wide screens and for phones.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from megtrim.config.units import format_bytes
from megtrim.elf.symbol_names import without_arguments
from megtrim.render.formatting import percent
from megtrim.render.markup import one_line
from megtrim.size.byte_table import ByteMap, MappedComponent
from megtrim.util.value import Value


class Tile(NamedTuple):
    x: float
    y: float
    width: float
    height: float


def layout(values: Sequence[int], *, width: float, height: float) -> tuple[Tile, ...]:
    """``values`` are positive, the largest first; the frame begins at 0, 0."""
    if not values:
        return ()
    scale = width * height / sum(values)
    areas = [value * scale for value in values]
    free = Tile(0.0, 0.0, width, height)
    tiles: list[Tile] = []
    while len(tiles) < len(areas):
        row = _find_row(areas[len(tiles) :], min(free.width, free.height))
        placed, free = _place_row(row, free)
        tiles += placed
    return tuple(tiles)


def _find_row(areas: Sequence[float], side: float) -> list[float]:
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
    wide = free.width >= free.height
    depth = sum(row) / (free.height if wide else free.width)
    tiles = []
    at = free.y if wide else free.x
    for area in row:
        side = area / depth
        tiles.append(Tile(free.x, at, depth, side) if wide else Tile(at, free.y, side, depth))
        at += side
    if wide:
        return tiles, Tile(free.x + depth, free.y, free.width - depth, free.height)
    return tiles, Tile(free.x, free.y + depth, free.width, free.height - depth)


Part = TypeVar("Part")

_COLOURS = 8
_CHARACTER_WIDTH, _LINE_HEIGHT, _MARGIN = 7.8, 16.0, 5.0
"""Pixels of the text in a cell."""
_SHORTEST_LABEL = 4
_HEAD = 20.0
_LEAST_INSIDE = 34.0
"""A component with fewer pixels for its symbols, in width or height, is one cell."""
_SEPARATOR = re.compile(r"/|::")
_TEMPLATE = re.compile(r"<[^<>]*>")


class Screen(Value):
    name: str
    width: float
    height: float
    least_share: float
    """What is smaller than this part of the picture shares a cell."""


SCREENS = (
    Screen(name="broad", width=956.0, height=420.0, least_share=0.002),
    Screen(name="narrow", width=300.0, height=480.0, least_share=0.008),
)


class ByteCell(Value):
    x: str
    y: str
    width: str
    height: str
    title: str
    label: str
    detail: str
    colour: int


class BytePicture(Value):
    screen: str
    height: str
    cells: tuple[ByteCell, ...]


def draw_map(found: ByteMap) -> tuple[BytePicture, ...]:
    return tuple(
        BytePicture(
            screen=screen.name,
            height=f"{screen.height:.0f}",
            cells=tuple(_iter_components(found, screen)),
        )
        for screen in SCREENS
    )


def _iter_components(found: ByteMap, screen: Screen) -> Iterator[ByteCell]:
    tops = dict.fromkeys(_top(component) for component in found.components)
    colours = {top: number % _COLOURS for number, top in enumerate(tops)}
    single, several = (
        [(each, each.kept_bytes) for each in found.components if each.stands_for_several is rest]
        for rest in (False, True)
    )
    frame = Tile(0.0, 0.0, screen.width, screen.height)
    for parts, kept_bytes, tile in _place(single, several, frame, screen.least_share):
        name = one_line(parts[0].name) if len(parts) == 1 else "smaller ones"
        text = format_bytes(kept_bytes)
        inside = Tile(tile.x, tile.y + _HEAD, tile.width, max(tile.height - _HEAD, 0.0))
        divided = len(parts) == 1 and min(inside.width, inside.height) >= _LEAST_INSIDE
        colour = colours[_top(parts[0])]
        plain_bytes = sum(part.plain_bytes or 0 for part in parts)
        of = f" of {format_bytes(plain_bytes)}" if plain_bytes else ""
        yield _cell(
            tile,
            screen,
            name=name,
            head=text if divided else "",
            detail="" if divided else text,
            title=f"{name}: {text}{of} ({percent(kept_bytes / found.kept_bytes)} of the file)",
            colour=colour,
        )
        if divided:
            yield from _iter_symbols(parts[0], inside, screen, colour)


def _top(component: MappedComponent) -> str:
    return component.name.partition("/")[0]


def _iter_symbols(
    component: MappedComponent, frame: Tile, screen: Screen, colour: int
) -> Iterator[ByteCell]:
    sizes = [(symbol.label, symbol.kept_bytes) for symbol in component.symbols]
    rest_bytes = component.kept_bytes - sum(size_bytes for _, size_bytes in sizes)
    if max((size_bytes for _, size_bytes in sizes), default=0) in (0, component.kept_bytes):
        return
    least_share = screen.least_share * screen.width * screen.height / (frame.width * frame.height)
    for labels, size_bytes, tile in _place(sizes, [("", rest_bytes)], frame, least_share):
        text = format_bytes(size_bytes)
        name = one_line(labels[0]) if len(labels) == 1 and labels[0] else "others"
        yield _cell(
            tile,
            screen,
            name=_shorten_symbol(name),
            detail=text,
            title=f"{one_line(component.name)}: {name}: {text}",
            colour=colour,
        )


def _place(
    sizes: Sequence[tuple[Part, int]], rest: Sequence[tuple[Part, int]], frame: Tile, least: float
) -> Iterator[tuple[list[Part], int, Tile]]:
    """``rest`` stands for several, so it comes last; ``least`` is a share of all bytes."""
    total = sum(size for _, size in (*sizes, *rest))
    ordered = [*sorted(sizes, key=lambda each: -each[1]), *rest]
    large = [([part], size) for part, size in ordered if size > 0 and size >= total * least]
    small = [(part, size) for part, size in ordered if 0 < size < total * least]
    if small:
        large.append(([part for part, _ in small], sum(size for _, size in small)))
    tiles = layout([size for _, size in large], width=frame.width, height=frame.height)
    for (parts, size), tile in zip(large, tiles, strict=True):
        yield parts, size, tile._replace(x=frame.x + tile.x, y=frame.y + tile.y)


def _shorten_symbol(name: str) -> str:
    *_, name = (name, *without_arguments(name))
    while (brief := _TEMPLATE.sub("", name)) != name:
        name = brief
    return name


def _cell(
    tile: Tile,
    screen: Screen,
    *,
    name: str,
    title: str,
    detail: str = "",
    head: str = "",
    colour: int,
) -> ByteCell:
    """``head`` follows its name on one line, ``detail`` is the line below."""
    lines = int((tile.height - _MARGIN) / _LINE_HEIGHT)
    label = _fit(name, tile.width) if lines >= 1 else ""
    if head and lines >= 1 and _fit(f"{label} {head}", tile.width) == f"{label} {head}":
        label = f"{label} {head}"
    fits = (
        bool(detail)
        and lines >= (2 if label else 1)
        and len(_fit(detail, tile.width)) == len(detail)
    )
    return ByteCell(
        x=f"{100 * tile.x / screen.width:.2f}%",
        y=f"{tile.y:.1f}",
        width=f"{100 * tile.width / screen.width:.2f}%",
        height=f"{tile.height:.1f}",
        title=title,
        label=label,
        detail=detail if fits else "",
        colour=colour,
    )


def _fit(text: str, width: float) -> str:
    characters = int((width - 2 * _MARGIN) / _CHARACTER_WIDTH)
    ends = [text, *(text[found.end() :] for found in _SEPARATOR.finditer(text))]
    whole = next((end for end in ends if len(end) <= characters), "")
    if whole or characters < _SHORTEST_LABEL:
        return whole
    return f"{ends[-1][: characters - 1]}…"
