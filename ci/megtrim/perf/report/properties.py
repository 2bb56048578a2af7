"""The numbers of all rows as properties of the JUnit suite, which tools plot without parsing text.

Pure. A property's name is ``ROW.stage.what``. The format has properties for suites, not for cases.
"""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.perf.rows.checks import ratios_of, times_of
from megtrim.perf.rows.model import Performance
from megtrim.render.markup import one_line

LIMIT = 2 * 1024 * 1024
"""Bytes of all names and values, escaped at worst. Later rows are omitted as a whole."""

_TAGS_BYTES = 40
_WORST_ESCAPE = 6
"""Bytes that one byte of text becomes at most (``&quot;``)."""


def properties(performance: Performance) -> dict[str, str]:
    """Return the numbers by name; rows that would exceed the limit are left out."""
    found: dict[str, str] = {}
    room = LIMIT
    for subject, numbers in _rows(performance):
        row = {f"{one_line(subject)}.{name}": value for name, value in numbers}
        room -= sum(_weigh(name) + _weigh(value) + _TAGS_BYTES for name, value in row.items())
        if room < 0:
            break
        found |= row
    return found


def _weigh(text: str) -> int:
    return _WORST_ESCAPE * len(text.encode())


def _rows(performance: Performance) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    for row in performance.all_rows:
        numbers = [("status", str(row.status))]
        for name, time in times_of(row):
            upper = "" if time.upper_ms is None else f"{time.upper_ms:.6g}"
            numbers += [
                (f"{one_line(name)}.median_ms", f"{time.median_ms:.6g}"),
                (f"{one_line(name)}.lower_ms", f"{time.lower_ms:.6g}"),
                (f"{one_line(name)}.upper_ms", upper),
                (f"{one_line(name)}.processes", str(time.processes)),
                (f"{one_line(name)}.spread", f"{time.spread:.4g}"),
            ]
        for name, ratio in ratios_of(row):
            prefix = f"{ratio.stage}.against {one_line(name)}"
            upper = "" if ratio.upper is None else f"{ratio.upper:.6g}"
            numbers += [
                (f"{prefix}.ratio", f"{ratio.ratio:.6g}"),
                (f"{prefix}.lower", f"{ratio.lower:.6g}"),
                (f"{prefix}.upper", upper),
                (f"{prefix}.different", str(ratio.different)),
                (f"{prefix}.exceeds", str(ratio.exceeds)),
            ]
        yield row.subject, numbers
