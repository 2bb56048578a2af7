"""Growth divided by building: the base once more for each cause, with only that one put forward.

What a cause adds to the base by itself is its own growth, to the byte. What is left of the whole
growth is what causes add only together: a new kernel and the model that keeps it, for example.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from megtrim.size.growth.causes import Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseBuild:
    """The base with one cause as the head has it."""

    cause: Cause
    sizes: Mapping[str, int]
    """Bytes of each artifact; empty if it could not be built."""
    failure: str = ""
    """Why it could not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactGrowth:
    """The growth of one artifact."""

    artifact: str
    base_bytes: int
    head_bytes: int
    own: tuple[tuple[Cause, int], ...]
    """What each cause adds by itself."""
    unknown: tuple[Cause, ...] = ()
    """Causes that cannot be built by themselves."""

    @property
    def growth_bytes(self) -> int:
        """Return the whole growth."""
        return self.head_bytes - self.base_bytes

    @property
    def together_bytes(self) -> int:
        """Return what no cause adds by itself, with all that the unknown ones add."""
        return self.growth_bytes - sum(size_bytes for _, size_bytes in self.own)


def divide_exactly(
    base: Mapping[str, int], head: Mapping[str, int], builds: tuple[CauseBuild, ...]
) -> tuple[ExactGrowth, ...]:
    """Return the growth of each artifact that both have; one cause alone has all of it."""
    return tuple(
        ExactGrowth(
            artifact=name,
            base_bytes=base[name],
            head_bytes=head[name],
            own=tuple(
                (each.cause, each.sizes[name] - base[name]) for each in builds if name in each.sizes
            ),
            unknown=tuple(each.cause for each in builds if name not in each.sizes),
        )
        for name in sorted(base.keys() & head.keys())
    )
