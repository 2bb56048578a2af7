"""The experiments that were handed in: what a configuration and a verdict know of them."""

from typing import Protocol

from megtrim.core.parts import find_parts, load

BASELINE = "baseline"
"""The experiment that others are compared with."""


class ListedExperiment(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def searches(self) -> bool: ...


def list_experiments() -> tuple[ListedExperiment, ...]:
    place = find_parts().experiments
    listed: tuple[ListedExperiment, ...] = load(place, "experiments") if place else ()
    return listed
