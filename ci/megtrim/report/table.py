"""The verdict as plain text for a terminal: a table of sizes, and what needs a person.

Pure; no colour, so that it reads the same in a log.
"""

from __future__ import annotations

from megtrim.config.units import format_bytes
from megtrim.report.text import one_line
from megtrim.report.words import grouped, percent, regions_of, to_look_at
from megtrim.verdict.model import ArtifactSizes, Verdict

_HEAD = ("variant", "bytes", "size", "% of plain", "regions kept", "verdict")
_RIGHT = (False, True, True, True, True, False)


def render(verdict: Verdict) -> str:
    """Return the table of each artifact, the headline, and one line for each thing to look at."""
    parts = [_table(artifact, verdict) for artifact in verdict.artifacts]
    parts.append(f"verdict: {verdict.verdict}. {one_line(verdict.headline)}")
    checks = [
        f"  {check.status}: {one_line(check.id)}: {one_line(check.text)}"
        for check in to_look_at(verdict)
    ]
    warnings = [f"  warning: {one_line(warning)}" for warning in verdict.warnings]
    parts += ["\n".join(lines) for lines in (checks, warnings) if lines]
    return "\n\n".join(parts) + "\n"


def _table(artifact: ArtifactSizes, verdict: Verdict) -> str:
    rows = [_HEAD]
    for size in artifact.sizes:
        last = str(verdict.verdict) if size.variant == "reduced" else ""
        rows.append(
            (
                one_line(size.variant),
                grouped(size.size_bytes),
                format_bytes(size.size_bytes),
                percent(size.share),
                regions_of(size, verdict) or "-",
                last,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, _RIGHT, strict=True)
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([one_line(artifact.name), *(f"  {line}" for line in lines)])
