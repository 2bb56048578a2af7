"""How far the engine was trimmed and what its switches buy. Pure; part of the verdict room."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.strict_json import SignedFloat, SignedInt


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFlagResult:
    """One of the means against size beyond the recipe."""

    name: str
    value: str
    """As megtrim.yaml says it."""
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
    """Switches that are off singly, beside those of the minimum size."""
    means: tuple[SizeFlagResult, ...] = ()
    """Asked for, or wanted by ``optimize: size``."""
    quick: bool = False
    """By functions from the plain build, whatever level is configured."""

    @property
    def used(self) -> tuple[str, ...]:
        """The means that were used, such as ``small_code Oz``."""
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
    """By the build that it was linked from."""
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """What the build by regions compiled, in a tree where there may have been one before it."""

    predicted: int | None
    """Source files that rest on what changed; None: no build before it told, so all of them."""
    compiled: int
    units: int
    """Source files that the program is made from."""


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
    saved_bytes: SignedInt | None
    """Against all on; below 0: it grew."""
    saved_share: SignedFloat | None
    """Of all on: 0.067 is 6.7%."""
    note: str = ""
    """Why there is no such build, or empty."""
