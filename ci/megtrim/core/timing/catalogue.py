"""The experiments that were handed in."""

from collections.abc import Iterable

from megtrim.core.parts import find_parts, load
from megtrim.core.timing.experiment import Experiment
from megtrim.libs.util.errors import InputError

BASELINE = "baseline"
"""The experiment that others are compared with."""


def list_experiments() -> tuple[Experiment, ...]:
    place = find_parts().experiments
    listed: tuple[Experiment, ...] = load(place, "experiments") if place else ()
    return listed


def find_experiments(names: Iterable[str]) -> tuple[Experiment, ...]:
    """Return those of these names, or all if there are none."""
    wanted = set(names)
    listed = list_experiments()
    known = [experiment.name for experiment in listed]
    unknown = sorted(wanted - set(known))
    if unknown:
        msg = f"there is no experiment {unknown[0][:60]!r}"
        raise InputError(msg, hint=f"there are: {', '.join(known)}")
    return tuple(each for each in listed if not wanted or each.name in wanted)
