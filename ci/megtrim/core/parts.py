"""What parts hand the core: where it finds what they add, as text, so that nothing is loaded early.

The core imports no part. Who starts megtrim hands them in, once, before anything else.
"""

import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from megtrim.libs.util.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVerb:
    name: str
    place: str
    after: str
    """The verb that it follows in the list of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Each place is ``module:attribute`` or ``module`` below ``megtrim``; empty: no part has it."""

    engines: Mapping[str, str] = field(default_factory=dict)
    """By kind: the class that opens a tree."""
    program: str = ""
    """A module: composes the command line of an engine's own program, and reads its outputs."""
    traces: str = ""
    """What programs of engines with marks leave of their regions, and how it is read."""
    components: str = ""
    """A module: which component of an engine, or of what it links, bytes are of."""
    experiments: str = ""
    """Experiments in their order."""
    verbs: tuple[PartVerb, ...] = ()
    stages: Mapping[str, str] = field(default_factory=dict)
    """By stage: the module of it."""
    preflights: tuple[str, ...] = ()
    """Each takes a session that is about to start, and raises InputError if it must not."""
    notes: tuple[str, ...] = ()
    """Each takes a configuration: lines that `check` and `doctor` print below theirs."""
    pools: str = ""
    """A module: devices that jobs share, and take turns on."""
    performance: str = ""
    """Takes the wanted tasks and the session: what a verdict holds of times, or None."""
    measuring_devices: str = ""
    """Takes the wanted tasks and the session: the devices that times were taken on."""
    times_tables: str = ""
    """A module: times in reports, as tables."""
    times_page: str = ""
    """Takes what a verdict holds of times: values for the template of the page."""
    callers: str = ""
    """Takes what `megtrim init` was asked about workflows: a plan of their files."""
    reached: str = ""
    """Takes options, configuration and console: a configuration that keeps what was reached."""
    against: str = ""
    """Leaves the sizes of the commit that `--against` names, and returns their file."""


class _Hands:
    """What was handed in; nothing before that."""

    parts = Parts()


def hand_in(parts: Parts) -> None:
    _Hands.parts = parts


def find_parts() -> Parts:
    return _Hands.parts


def add_verbs(own: Mapping[str, str], added: Iterable[PartVerb]) -> Mapping[str, str]:
    """Return the place of each verb, in the order of the list; a lone one comes last."""
    names = list(own)
    places = dict(own)
    for verb in added:
        at = names.index(verb.after) + 1 if verb.after in places else len(names)
        names.insert(at, verb.name)
        places[verb.name] = verb.place
    return {name: places[name] for name in names}


def list_notes(loaded: object) -> tuple[str, ...]:
    """``loaded``: a configuration."""
    found: list[str] = []
    for place in find_parts().notes:
        describe = load(place, "notes on a configuration")
        found += describe(loaded)
    return tuple(found)


def load(place: str, what: str) -> Any:
    """Return what is at a place. Raises InputError where no part has handed ``what`` in."""
    if not place:
        msg = f"this copy of megtrim has no part for {what}"
        raise InputError(msg, hint="install megtrim as it is released, with all of its parts")
    return pkgutil.resolve_name(f"megtrim.{place}")
