"""The charts of the HTML report as numbers: bars of sections, and a map of regions.

Pure; part of the report room. Positions are percentages of the chart's width or height, as text,
so that a chart fills the width of any screen without stretching its text.
"""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.config.units import format_bytes
from megtrim.render.formatting import group_digits, percent, width_of
from megtrim.render.treemap import layout
from megtrim.size.artifact_sizes import ArtifactSizes, VariantSize
from megtrim.trim.usage import RegionsUse
from megtrim.verdict.wording import growth_of

_COLOURS = 8
_MOST_TILES = 60
_MAP_WIDTH, _MAP_HEIGHT = 100.0, 34.0
# Least widths in percent at which text fits: on a wide screen (960 pixels), and on any (300).
_FITS_WIDE, _FITS_ANY = 9.0, 25.0
_COUNT_FITS_WIDE = 6.0
_LEAST_TILE_HEIGHT = 6.0
_CHARACTERS_PER_PERCENT = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartSegment:
    """A segment of a bar."""

    name: str
    bytes_text: str
    x: str
    width: str
    colour: int
    label: str
    """Screens on which its name fits: any, wide, none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One variant's bytes, drawn to the scale of its artifact, and again to its own scale."""

    variant: str
    text: str
    exact: str
    share: str
    growth: str
    """Growth since the baseline; empty if there is none."""
    width: str
    segments: tuple[ChartSegment, ...]
    enlarged: tuple[ChartSegment, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePicture:
    """All variants of an artifact: their bars, and the table of sections."""

    name: str
    bars: tuple[Bar, ...]
    sections: tuple[tuple[str, int, tuple[int | None, ...]], ...]
    """(section, colour, bytes in each variant or None)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MapTile:
    """One tag: its area is what the profile binary contains, its filled part what was kept."""

    tag: str
    text: str
    x: str
    y: str
    width: str
    height: str
    filled: str
    label: str
    """As much of the tag's name as fits; empty if only numbers fit."""
    shows: str
    """Screens on which the text fits: any, wide, none."""


def size_picture(artifact: ArtifactSizes) -> SizePicture:
    """Return the bars of ``artifact``; the widest is as wide as the chart."""
    parts = {size.variant: _parts(size) for size in artifact.sizes}
    names = tuple(dict.fromkeys(name for part in parts.values() for name, _ in part))
    colours = {name: number % _COLOURS for number, name in enumerate(names)}
    totals = {variant: sum(size for _, size in part) for variant, part in parts.items()}
    scale = max(totals.values(), default=0)
    bars = tuple(
        Bar(
            variant=size.variant,
            text=format_bytes(size.size_bytes),
            exact=group_digits(size.size_bytes),
            share=percent(size.share),
            growth=growth_of(size),
            width=width_of(totals[size.variant], scale),
            segments=_segments(parts[size.variant], colours, scale),
            enlarged=_segments(parts[size.variant], colours, totals[size.variant]),
        )
        for size in artifact.sizes
    )
    sections = tuple(
        (name, colours[name], tuple(dict(parts[size.variant]).get(name) for size in artifact.sizes))
        for name in names
    )
    return SizePicture(name=artifact.name, bars=bars, sections=sections)


def _parts(size: VariantSize) -> tuple[tuple[str, int], ...]:
    """Return a variant's sections; bytes outside any section are one more."""
    rest = size.size_bytes - sum(part for _, part in size.sections)
    unnamed = (("not in a section", rest),) if rest > 0 else ()
    return (*size.sections, *unnamed)


def _segments(
    parts: tuple[tuple[str, int], ...], colours: dict[str, int], scale: int
) -> tuple[ChartSegment, ...]:
    segments = []
    before = 0
    for name, size in parts:
        segments.append(
            ChartSegment(
                name=name,
                bytes_text=format_bytes(size),
                x=width_of(before, scale),
                width=width_of(size, scale),
                colour=colours[name],
                label=_screens(100 * size / scale if scale else 0.0),
            )
        )
        before += size
    return tuple(segments)


def region_map(regions: RegionsUse) -> tuple[MapTile, ...]:
    """Return the map of all tags, the largest first; all after the sixtieth share a tile."""
    held = [use for use in regions.by_tag if max(use.held, use.kept) > 0]
    ordered = sorted(held, key=lambda use: (-max(use.held, use.kept), use.tag))
    shown = [(use.tag, use.kept, max(use.held, use.kept)) for use in ordered[:_MOST_TILES]]
    others = ordered[_MOST_TILES:]
    if others:
        kept = sum(use.kept for use in others)
        total = sum(max(use.held, use.kept) for use in others)
        shown.append((f"{len(others)} further tags", kept, total))
        shown.sort(key=lambda entry: (-entry[2], entry[0]))
    tiles = layout([total for _, _, total in shown], width=_MAP_WIDTH, height=_MAP_HEIGHT)
    return tuple(
        MapTile(
            tag=tag,
            text=f"{group_digits(kept)} of {group_digits(total)}",
            x=width_of(tile.x, _MAP_WIDTH),
            y=width_of(tile.y, _MAP_HEIGHT),
            width=width_of(tile.width, _MAP_WIDTH),
            height=width_of(tile.height, _MAP_HEIGHT),
            filled=width_of(kept, total),
            label=_short(tag, tile.width),
            shows=_screens(tile.width, _COUNT_FITS_WIDE)
            if tile.height >= _LEAST_TILE_HEIGHT
            else "none",
        )
        for (tag, kept, total), tile in zip(shown, tiles, strict=True)
    )


def _screens(width: float, least: float = _FITS_WIDE) -> str:
    if width >= _FITS_ANY:
        return "any"
    return "wide" if width >= least else "none"


def _short(tag: str, width: float) -> str:
    """Shorten ``tag`` to fit: tags differ at their ends, so the end is kept."""
    if width < _FITS_WIDE:
        return ""
    characters = int(width * _CHARACTERS_PER_PERCENT)
    return tag if len(tag) <= characters else f"…{tag[1 - characters :]}"
