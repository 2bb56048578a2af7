"""Numbers and columns as every report writes them. Pure."""

from collections.abc import Collection, Iterable, Sequence
from unicodedata import east_asian_width


def percent(share: float) -> str:
    """0.067 is ``6.7%``."""
    return f"{share:.1%}"


def width_of(part: float, whole: float) -> str:
    """``12.500%``."""
    return f"{100 * part / whole:.3f}%" if whole > 0 else "0%"


def group_digits(number: int) -> str:
    """``39,300,016``."""
    return f"{number:,}"


def seconds(time_s: float) -> str:
    """``0.75 s``, ``12 s``, ``27 min 1 s``."""
    if time_s < 10:
        return f"{time_s:.2f} s"
    whole = round(time_s)
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def kept_of_held(kept: int, held: int) -> str:
    return f"{group_digits(kept)} of {group_digits(held)}" if held else group_digits(kept)


def align_columns(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    words: Collection[str],
    *,
    width: int = 0,
    spare: Collection[str] = (),
) -> list[str]:
    """``spare``: columns to leave out, the first first, until lines fit ``width``; 0: any fits."""
    columns = list(zip(head, *rows, strict=True))
    for name in spare if width else ():
        if sum(max(map(_measure, column)) + 2 for column in columns) - 2 > width:
            columns = [column for column in columns if column[0] != name]
    head, *table = zip(*columns, strict=True)
    table = [head, *table]
    widths = [max(map(_measure, column)) for column in columns]
    lines = [
        "  ".join(
            _pad(cell, width, left=name in words)
            for cell, width, name in zip(row, widths, head, strict=True)
        ).rstrip()
        for row in table
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def _pad(cell: str, width: int, *, left: bool) -> str:
    space = " " * (width - _measure(cell))
    return cell + space if left else space + cell


def _measure(cell: str) -> int:
    """A Chinese character takes two columns of a terminal."""
    return len(cell) + sum(east_asian_width(character) in "WF" for character in cell)


def milliseconds(time_ms: float) -> str:
    """Show at least four digits that count: ``5.213``, ``1,821``."""
    if time_ms >= 1000:
        return f"{time_ms:,.0f}"
    if time_ms >= 100:
        return f"{time_ms:.1f}"
    if time_ms >= 10:
        return f"{time_ms:.2f}"
    return f"{time_ms:.3f}"
