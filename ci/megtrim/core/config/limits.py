"""What a budget limits, and the leave to exceed it: sections of megtrim.yaml."""

from typing import Annotated, Literal

from pydantic import Field

from megtrim.core.build_spec import Variant
from megtrim.core.config.units import name_budget, name_measure
from megtrim.core.config.value_types import (
    ComponentName,
    ConfigSection,
    Day,
    Growth,
    Limit,
    Line,
    Name,
    Requirement,
    SectionName,
    SizeBytes,
    Text,
    Toolchains,
)


class Budget(ConfigSection):
    """The largest size of an artifact, or of a part of it, and the largest growth."""

    artifact: Name
    variant: Literal[Variant.PLAIN, Variant.PROFILE, Variant.REGION, Variant.REDUCED] = (
        Variant.REDUCED
    )
    """Build that is measured."""
    size: Literal["stripped", "unstripped", "loaded", "deflated", "aar", "rest", "download"] = (
        "stripped"
    )
    """stripped: the file without symbols. unstripped: the file with symbols. loaded: the bytes that
    the loader maps. deflated: the stripped file as an app package stores it, which is what users
    download. aar: the AAR with this library, which app teams download; only with ndk. rest: the
    companion file with deferred functions. download: both files, deflated."""
    section: SectionName | None = None
    """Instead of the file: one of its sections, such as .text."""
    component: ComponentName | None = None
    """Instead of the file: one of its components with everything below it, such as kernels/x86."""
    model: Name | None = None
    """Instead of the file: the bytes that would go if this model were removed (its price)."""
    max_size: Annotated[Growth | None, Limit()] = Field(default=None, alias="max")
    """Largest size, such as 2.5 MiB, or a share of the plain build's size, such as 8%."""
    growth: Annotated[Growth | None, Limit()] = None
    """Largest growth since the baseline, such as 16 KiB or 1%."""
    warn: Annotated[Growth | None, Limit(below="max", takes_share=True)] = None
    """Size from which on reports warn, such as 2.4 MiB, or 95% of max. You can set it without
    max."""
    warn_growth: Annotated[Growth | None, Limit(below="growth")] = None
    """Growth from which on reports warn, such as 8 KiB or 0.5%. You can set it without growth."""
    ratchet: Annotated[Growth | None, Requirement(key="max")] = None
    """Room that max should leave, such as 16 KiB or 2% of the size: if there is more, reports
    propose a lower max. Default: if the artifact shrank, reports propose a max that leaves as much
    room as before."""
    owner: Line | None = None
    """Who decides about this budget; reports name them."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""

    @property
    def measure(self) -> str:
        """What is measured, as :mod:`megtrim.core.config.units` names it; empty: the stripped
        file.
        """
        return name_measure(
            self.size, section=self.section, component=self.component, model=self.model
        )

    @property
    def id(self) -> str:
        return name_budget(self.artifact, str(self.variant), self.measure)


class Waiver(ConfigSection):
    """Permission to exceed a budget, with a reason and for a limited time."""

    budget: Text
    """The budget's artifact (artifact/plain for another variant), followed by the size that it
    limits if that is not the stripped file: `app section .text`, `app deflated`."""
    extra_bytes: SizeBytes = Field(alias="bytes")
    """How much the budget may be exceeded by, such as 64 KiB."""
    reason: Text
    owner: Text
    """Who is responsible for it."""
    expires: Day
    """Last day on which it counts, such as 2027-01-31."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""
