"""The texts, icons and number formats that all forms of the report share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Protocol

from megtrim.core.build_spec import Origin, Variant
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.kinds import DEFERRING_LEVELS, find_builder
from megtrim.core.config.units import format_bytes, format_growth
from megtrim.libs.render.formatting import group_digits, kept_of_held

if TYPE_CHECKING:
    from megtrim.core.checks.check import Check, DeviceIdentity
    from megtrim.core.size.growth.causes import Cause, CauseNote
    from megtrim.core.size.rows import ArtifactSizes, VariantSize
    from megtrim.core.trim.results import Rebuild, TrimChoice
    from megtrim.core.verdict.model import Verdict


class MeasuredSizes(Protocol):
    """What a verdict and the stage `size` both have."""

    @property
    def artifacts(self) -> tuple[ArtifactSizes, ...]: ...
    @property
    def baseline(self) -> str: ...
    @property
    def causes(self) -> tuple[Cause, ...]: ...
    @property
    def notes(self) -> tuple[CauseNote, ...]: ...


TO_LOOK_AT = (
    CheckStatus.FAIL,
    CheckStatus.INFRASTRUCTURE,
    CheckStatus.UNVERIFIED,
    CheckStatus.INCONCLUSIVE,
)
"""Statuses that keep a verdict from passing, the worst first."""
DEFERRED = "deferred"
TRIMMED = ("reduced", DEFERRED)
"""The demo shows the reduced program twice: without functions, and with deferred ones."""
_TELLING_FACTS = ("model", "cpu")


def list_urgent(verdict: Verdict) -> tuple[Check, ...]:
    return tuple(
        check for status in TO_LOOK_AT for check in verdict.checks if check.status is status
    )


def list_trimmed(found: MeasuredSizes) -> tuple[tuple[str, VariantSize], ...]:
    return tuple(
        (artifact.name, size)
        for artifact in found.artifacts
        for size in artifact.sizes
        if size.variant == "reduced"
    )


def name_variant(variant: str, trim: TrimChoice) -> str:
    """Return what people call a variant: a deferred program is not one whose functions are gone."""
    deferred = variant == Variant.REDUCED and trim.level in DEFERRING_LEVELS and not trim.quick
    return DEFERRED if deferred else variant


_SIMPLER = {"region": "by regions alone", str(Variant.PLAIN): "the plain program"}
"""What costs less to make, in the words of a comparison."""


def list_larger(artifacts: Iterable[ArtifactSizes], level: str) -> tuple[str, ...]:
    """Return a line for each that is larger than what costs less to make."""
    lines = []
    for artifact in artifacts:
        sizes = {size.variant: size.size_bytes for size in artifact.sizes}
        shipped = sizes.get(str(Variant.REDUCED))
        simpler = next((variant for variant in _SIMPLER if variant in sizes), None)
        if shipped is not None and simpler is not None and shipped > sizes[simpler]:
            more = format_bytes(shipped - sizes[simpler])
            lines.append(
                f"{artifact.name} is larger by {more} than {_SIMPLER[simpler]} "
                f"({format_bytes(shipped)}, not {format_bytes(sizes[simpler])}): "
                f"trim.level: {level} costs more here than it saves"
            )
    return tuple(lines)


def has_kernels(verdict: Verdict) -> bool:
    """Tell whether kernels are marked with regions: the words of any other project differ."""
    if find_builder(verdict.engine.kind):
        return False
    return any(scenario.model for scenario in verdict.scenarios) or not verdict.scenarios


def regions_of(size: VariantSize, verdict: Verdict) -> str:
    held = verdict.regions.held
    kept = verdict.regions.kept
    reduced = size.variant in ("region", *TRIMMED)
    if not held:
        return group_digits(kept) if kept and reduced else ""
    if size.variant == "plain":
        return ""
    return f"{group_digits(kept if kept and reduced else held)} of {group_digits(held)}"


def functions_of(size: VariantSize, artifact: str, verdict: Verdict) -> str:
    found = next((each for each in verdict.functions if each.artifact == artifact), None)
    if found is None or size.variant not in TRIMMED:
        return ""
    return kept_of_held(found.kept, found.held)


def describe_origin(origin: Origin) -> str:
    parts = [f"megtrim {origin.megtrim}"] if origin.megtrim else []
    if origin.pull_request:
        parts.append(f"pull request {origin.pull_request}")
    if origin.commit:
        day, _, time = origin.committed_at.partition("T")
        of = f" of {day} {time[:5]} UTC" if origin.committed_at else ""
        changed = " with uncommitted changes" if origin.changed else ""
        parts.append(f"commit {origin.commit[:12]}{of}{changed}")
    return ", ".join(parts)


def describe_device(name: str, devices: Iterable[DeviceIdentity]) -> str:
    """``auto (qemu, cpu max)``: a name alone can be anyone's."""
    found = next((device for device in devices if device.name == name), None)
    if found is None:
        return name
    facts = [f"{fact} {found.facts[fact]}" for fact in _TELLING_FACTS if found.facts.get(fact)]
    kind = [found.kind] if found.kind != name else []
    return f"{name} ({', '.join(kind + facts)})" if kind or facts else name


def origin_facts(origin: Origin) -> Mapping[str, str]:
    known = {name: value for name, value in asdict(origin).items() if value}
    return {name: "yes" if value is True else str(value) for name, value in known.items()}


def describe_rebuild(rebuild: Rebuild) -> str:
    return f"{group_digits(rebuild.compiled)} of {group_digits(rebuild.units)} files"


def format_change(difference_bytes: int, before_bytes: int) -> str:
    """``+59 KiB (+2.3%)``, ``no change``."""
    if not difference_bytes:
        return "no change"
    share = difference_bytes / before_bytes if before_bytes > 0 else 0.0
    if abs(share) < 0.0001:
        return format_growth(difference_bytes)
    digits = 1 if abs(share) >= 0.001 else 2
    return f"{format_growth(difference_bytes)} ({share:+.{digits}%})"


def growth_of(size: VariantSize) -> str:
    return "" if size.growth_bytes is None else format_growth(size.growth_bytes)


def change_of(size: VariantSize) -> str:
    """``+59 KiB (+2.3%)``, ``no change``; empty: there is nothing to compare with."""
    if size.growth_bytes is None:
        return ""
    return format_change(size.growth_bytes, size.size_bytes - size.growth_bytes)
