"""What a plan says of the sources that a build would compile. Pure."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 5


def describe_forecast(predicted: Sequence[str] | None) -> str:
    """Say how many and which sources will be compiled; None: nothing tells, so maybe all."""
    if predicted is None:
        return "all files may be compiled"
    if not predicted:
        return "no file is compiled"
    shown = ", ".join(predicted[:_SHOWN])
    more = f" and {len(predicted) - _SHOWN} more" if len(predicted) > _SHOWN else ""
    files = "file is" if len(predicted) == 1 else "files are"
    return f"{len(predicted)} {files} compiled: {shown}{more}"
