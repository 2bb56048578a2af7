"""Regions and operators that are kept, and which scenario needs each. Pure."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionUse:
    """A region that was kept, and for whom."""

    name: str
    meaning: str = ""
    """Its hash ints decoded to names, or empty."""
    scenarios: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TagUse:
    """The regions of one tag."""

    tag: str
    kept: int
    held: int
    """By the profile binary."""
    regions: tuple[RegionUse, ...]
    """Those that were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionsUse:
    """All regions. None kept: nothing was traced, so nothing was trimmed by trace."""

    held: int
    kept: int
    by_tag: tuple[TagUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorUse:
    """An operator, dtype or elementwise mode, and the models that need it."""

    name: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorsUse:
    """What the models need. No operator kept: nothing was trimmed by operator."""

    kept: tuple[OperatorUse, ...]
    dtypes: tuple[OperatorUse, ...]
    elemwise_modes: tuple[OperatorUse, ...]
