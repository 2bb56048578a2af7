"""The verdicts of several configurations as one table, with a row for each artifact of each.

Pure; no colour, so that it reads the same in a log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.config.units import format_bytes
from megtrim.report.formatting import align_columns, group_digits, growth_of, list_trimmed, percent
from megtrim.report.text import one_line
from megtrim.verdict.model import Verdict

_HEAD = ("toolchain", "artifact", "bytes", "size", "% of plain", "growth", "verdict")
_WORDS = ("toolchain", "artifact", "verdict")
NO_VERDICT = "none"
"""What stands for the verdict of a run that ended before one."""


def render(verdicts: Mapping[str, Verdict | None]) -> str:
    """Return the table; ``verdicts`` are by toolchain, None for a run that ended before one."""
    rows = [row for name, verdict in verdicts.items() for row in _rows(name, verdict)]
    return "\n".join(align_columns(_HEAD, rows, _WORDS)) + "\n"


def _rows(name: str, verdict: Verdict | None) -> Iterator[tuple[str, ...]]:
    shown = NO_VERDICT if verdict is None else str(verdict.verdict)
    sizes = () if verdict is None else list_trimmed(verdict)
    for artifact, size in sizes:
        yield (
            *(name, one_line(artifact), group_digits(size.size_bytes)),
            *(format_bytes(size.size_bytes), percent(size.share), growth_of(size) or "-", shown),
        )
    if not sizes:
        yield (name, *("-",) * 5, shown)
