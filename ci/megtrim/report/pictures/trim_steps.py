"""What each step of trimming won: a bar for what is left after it, and one for what it took.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from megtrim.config.units import format_bytes, format_growth
from megtrim.report.formatting import group_digits, percent, width_of
from megtrim.size.prices.price_list import list_steps
from megtrim.verdict.model import ArtifactSizes, TrimChoice

_SHIPPED = (("", ("plain", "region", "reduced")),)
_QUICK = (
    ("the quick trim", ("plain", "reduced")),
    ("the full trim, from earlier results", ("plain", "region", "function")),
)
"""Title and variants of each row of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBar:
    """One step."""

    name: str
    size: str
    exact: str
    share: str
    """Of plain."""
    won: str
    """By how much it is smaller than the one before; empty: it is the first."""
    won_share: str
    """Of the one before."""
    width: str
    """Of what is left."""
    gone: str
    """Width of what it took, behind that; or of what it added, at its end."""
    grew: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPicture:
    """The steps from the plain build to one that was trimmed."""

    title: str
    """Which trim; empty if there is only one."""
    bars: tuple[StepBar, ...]


def draw_steps(artifact: ArtifactSizes, trim: TrimChoice) -> tuple[StepPicture, ...]:
    """Return the steps to what ships and, next to a quick trim, those of the full one."""
    sizes = {size.variant: size.size_bytes for size in artifact.sizes}
    chains = _QUICK if trim.quick else _SHIPPED
    return tuple(
        StepPicture(title=title, bars=tuple(_iter_bars(steps, trim)))
        for title, variants in chains
        if len(steps := [(name, sizes[name]) for name in variants if name in sizes]) > 1
    )


def describe_variant(variant: str, trim: TrimChoice) -> str:
    """Return what made a variant smaller than the one before it."""
    by_functions = trim.quick or trim.level == "function"
    return {
        "region": "by regions",
        "function": "by functions",
        "reduced": "by functions" if by_functions else "by regions",
    }.get(variant, variant)


def describe_means(trim: TrimChoice) -> str:
    """Return what else these steps have, which was not built without; empty: nothing."""
    minimum = ("the engine's minimum size",) if trim.minimum_size else ()
    switched_off = (f"{each} off" for each in trim.switched_off)
    return ", ".join((*minimum, *switched_off, *trim.used))


def _iter_bars(sizes: Sequence[tuple[str, int]], trim: TrimChoice) -> Iterator[StepBar]:
    widest = max(size_bytes for _, size_bytes in sizes)
    (_, plain_bytes), *_ = sizes
    for step in list_steps(sizes):
        yield StepBar(
            name=describe_variant(step.name, trim),
            size=format_bytes(step.size_bytes),
            exact=group_digits(step.size_bytes),
            share=percent(step.size_bytes / plain_bytes) if plain_bytes else "",
            won=format_growth(-step.won_bytes) if step.name != "plain" else "",
            won_share="" if step.won_share is None else percent(-step.won_share),
            width=width_of(step.size_bytes, widest),
            gone=width_of(abs(step.won_bytes), widest),
            grew=step.won_bytes < 0,
        )
