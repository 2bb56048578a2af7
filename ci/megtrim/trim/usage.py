"""Regions and operators that are kept, and which scenario needs each. Pure."""

from __future__ import annotations

from megtrim.util.value import Value


class SizeFlagResult(Value):
    """One size optimisation beyond the documented recipe."""

    name: str
    value: str
    """As megtrim.yaml spells it."""
    why_not: str
    """Why it was not used; empty: it was."""


class TrimChoice(Value):
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


class FunctionsUse(Value):
    """The functions of one program, where they are trimmed beyond regions."""

    artifact: str
    held: int
    """How many the build has that it was linked from."""
    kept: int


class Rebuild(Value):
    """What the build by regions compiled; its tree may hold a previous build."""

    compiled: int
    units: int
    """Source files that the program is made from."""


class RegionUse(Value):
    """A region that was kept, and for whom."""

    name: str
    meaning: str = ""
    """Its hash ints decoded to names, or empty."""
    scenarios: tuple[str, ...]


class TagUse(Value):
    """The regions of one tag."""

    tag: str
    kept: int
    held: int
    """By the profile binary."""
    regions: tuple[RegionUse, ...]
    """Those that were kept."""


class RegionsUse(Value):
    """All regions. None kept: nothing was traced, so nothing was trimmed by trace."""

    held: int
    kept: int
    by_tag: tuple[TagUse, ...]


class OperatorUse(Value):
    """An operator, dtype or elementwise mode, and the models that need it."""

    name: str
    models: tuple[str, ...]


class OperatorsUse(Value):
    """What the models need. No operator kept: nothing was trimmed by operator."""

    kept: tuple[OperatorUse, ...]
    dtypes: tuple[OperatorUse, ...]
    elemwise_modes: tuple[OperatorUse, ...]
