"""How far the engine was trimmed, and what its switches save. Pure; part of the verdict room."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.strict_json import SignedFloat, SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFlagResult:
    """One size optimisation beyond the documented recipe."""

    name: str
    value: str
    """As megtrim.yaml spells it."""
    why_not: str
    """Why it was not used; empty: it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimChoice:
    """How far it was trimmed."""

    level: str
    layout: str
    minimum_size: bool
    optimize: str
    switched_off: tuple[str, ...] = ()
    """Switches that are off individually, besides those of the minimum size."""
    means: tuple[SizeFlagResult, ...] = ()
    """Those that were requested, or that ``optimize: size`` implies."""
    quick: bool = False
    """By functions from the plain build, whatever level is configured."""

    @property
    def used(self) -> tuple[str, ...]:
        """The size optimisations that were used, such as ``small_code Oz``."""
        return tuple(f"{each.name} {each.value}" for each in self.means if not each.why_not)

    @property
    def unused(self) -> tuple[str, ...]:
        """The others, each with the reason."""
        return tuple(f"{each.name}: {each.why_not}" for each in self.means if each.why_not)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsUse:
    """The functions of one program, where they are trimmed beyond regions."""

    artifact: str
    held: int
    """How many the build has that it was linked from."""
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What the build by regions compiled; its tree may hold a previous build."""

    predicted: int | None
    """Source files that depend on what changed; None: all, because there was no previous build."""
    compiled: int
    units: int
    """Source files that the program is made from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchSize:
    """One artifact in one build that was made to measure switches."""

    artifact: str
    build: str
    """``all-on``, with which the others are compared; ``NAME-off``; ``all-off``."""
    off: tuple[str, ...]
    """Switches that are off in it."""
    size_bytes: int | None
    """Stripped; None if there is no such build."""
    saved_bytes: SignedInt | None
    """Compared with all on; below 0: it grew."""
    saved_share: SignedFloat | None
    """Of all on: 0.067 is 6.7%."""
    note: str = ""
    """Why there is no such build, or empty."""
