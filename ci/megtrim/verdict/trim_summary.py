"""How far the engine was trimmed. Pure; part of the verdict room."""

from __future__ import annotations

from dataclasses import dataclass


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

    compiled: int
    units: int
    """Source files that the program is made from."""
