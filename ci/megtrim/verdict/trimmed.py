"""How far the engine was trimmed and what its switches buy. Pure; part of the verdict room."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimChoice:
    """How far it was trimmed."""

    level: str
    layout: str
    minimum_size: bool
    optimize: str
    switched_off: tuple[str, ...] = ()
    """Switches that are off singly, beside those of the minimum size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSize:
    """One artifact in one build that was made to weigh switches."""

    artifact: str
    build: str
    """``all-on``, which the others are held against; ``NAME-off``; ``all-off``."""
    off: tuple[str, ...]
    """Switches that are off in it."""
    size_bytes: int | None
    """Stripped; None where there is no such build."""
    saved_bytes: int | None
    """Against all on; below 0: it grew."""
    saved_share: float | None
    """Of all on: 0.067 is 6.7%."""
    note: str = ""
    """Why there is no such build, or empty."""
