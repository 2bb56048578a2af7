"""Which builds are measured to show what each switch saves. Pure: from the configuration alone."""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.build_spec import MINIMUM_SIZE, Switch
from megtrim.config.model import Config

ALL_ON = "all-on"
ALL_OFF = "all-off"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchBuild:
    """One build of the table."""

    name: str
    """``all-on``, ``NAME-off`` for each measured switch, ``all-off``."""
    off: tuple[Switch, ...]
    """Switches that are off, in the order of :class:`Switch`."""


def list_measured_builds(config: Config) -> tuple[SwitchBuild, ...]:
    """Return the builds to compare, the one with everything on first; none without trim.measure.

    The last is the engine's minimum size. It has FlatBuffers off only if they are measured,
    because hardly any model works without them.
    """
    names = config.trim.measure
    if not names:
        return ()
    all_off = (*MINIMUM_SIZE, *(each for each in names if each not in MINIMUM_SIZE))
    return (
        SwitchBuild(name=ALL_ON, off=()),
        *(SwitchBuild(name=f"{each}-off", off=(each,)) for each in Switch if each in names),
        SwitchBuild(name=ALL_OFF, off=all_off),
    )
