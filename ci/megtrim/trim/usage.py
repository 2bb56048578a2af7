"""Regions and operators that are kept, and which scenario needs each. Pure."""

from __future__ import annotations

from megtrim.util.value import Value


class SizeFlagResult(Value):
    name: str
    value: str
    why_not: str
    """Empty if it was."""


class TrimChoice(Value):
    level: str
    layout: str
    minimum_size: bool
    optimize: str
    switched_off: tuple[str, ...] = ()
    """Besides those of the minimum size."""
    means: tuple[SizeFlagResult, ...] = ()
    quick: bool = False
    """By functions from the plain build, whatever level is configured."""

    @property
    def used(self) -> tuple[str, ...]:
        """Such as ``small_code Oz``."""
        return tuple(f"{each.name} {each.value}" for each in self.means if not each.why_not)

    @property
    def unused(self) -> tuple[str, ...]:
        return tuple(f"{each.name}: {each.why_not}" for each in self.means if each.why_not)


class FunctionsUse(Value):
    artifact: str
    held: int
    """In the build that it was linked from."""
    kept: int


class Rebuild(Value):
    """Its tree may hold a previous build."""

    compiled: int
    units: int


class RegionUse(Value):
    name: str
    meaning: str = ""
    """Its hash ints decoded to names, or empty."""
    scenarios: tuple[str, ...]


class TagUse(Value):
    tag: str
    kept: int
    held: int
    """By the profile binary."""
    regions: tuple[RegionUse, ...]


class RegionsUse(Value):
    held: int
    kept: int
    by_tag: tuple[TagUse, ...]


class OperatorUse(Value):
    name: str
    models: tuple[str, ...]


class OperatorsUse(Value):
    kept: tuple[OperatorUse, ...]
    dtypes: tuple[OperatorUse, ...]
    elemwise_modes: tuple[OperatorUse, ...]
