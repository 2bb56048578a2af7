"""The bars of sections in the HTML report, as numbers.

Pure. Positions are percentages of the chart's width or height, as text,
so that a chart fills the width of any screen without stretching its text.
"""

from __future__ import annotations

from megtrim.config.units import format_bytes
from megtrim.render.formatting import group_digits, percent, width_of
from megtrim.size.rows import ArtifactSizes, VariantSize
from megtrim.util.value import Value
from megtrim.verdict.wording import growth_of

_COLOURS = 8
# Least widths in percent at which text fits: on a wide screen (960 pixels), and on any (300).
_FITS_WIDE, _FITS_ANY = 9.0, 25.0


class ChartSegment(Value):
    name: str
    bytes_text: str
    x: str
    width: str
    colour: int
    label: str
    """Screens on which its name fits: any, wide, none."""


class Bar(Value):
    """The bytes of one variant, to the scale of its artifact, and again to its own."""

    variant: str
    text: str
    exact: str
    share: str
    growth: str
    """Empty if there is no baseline."""
    width: str
    segments: tuple[ChartSegment, ...]
    enlarged: tuple[ChartSegment, ...]


class SizePicture(Value):
    name: str
    bars: tuple[Bar, ...]
    sections: tuple[tuple[str, int, tuple[int | None, ...]], ...]
    """(section, colour, bytes in each variant or None)."""


def size_picture(artifact: ArtifactSizes) -> SizePicture:
    """The widest bar is as wide as the chart."""
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
    """Bytes outside any section are one more."""
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


def _screens(width: float) -> str:
    if width >= _FITS_ANY:
        return "any"
    return "wide" if width >= _FITS_WIDE else "none"
