"""The engine's switches that a configuration sets, and contradictions between its keys.

Pure. ``minimum_size`` switches three of them off at once, as the engine's own option does; the
keys of ``trim.switches`` set them one by one.
"""

from __future__ import annotations

from collections.abc import Mapping

from megtrim.build_spec import MINIMUM_SIZE, Switch
from megtrim.config.model import TrimConfig

OPTIONS: Mapping[Switch, str] = {
    Switch.RTTI: "MGE_ENABLE_RTTI",
    Switch.LOGGING: "MGE_ENABLE_LOGGING",
    Switch.EXCEPTIONS: "MGE_ENABLE_EXCEPTIONS",
    Switch.FLATBUFFERS: "MGB_WITH_FLATBUFFERS",
}
"""CMake options of the engine; read in its CMakeLists.txt at v1.6.0 and 47952c075d86."""

MINIMUM_SIZE_OPTION = "MGE_WITH_MINIMUM_SIZE"


def switched_off(trim: TrimConfig) -> tuple[Switch, ...]:
    """Return the switches that are off in the reduced build, in the order of :class:`Switch`."""
    said = trim.switches.model_dump()
    minimum = MINIMUM_SIZE if trim.minimum_size else ()
    return tuple(each for each in Switch if said[each] is False or each in minimum)


def switched_on(trim: TrimConfig) -> tuple[Switch, ...]:
    """Return the switches that are explicitly on: an engine's default may be off."""
    said = trim.switches.model_dump()
    return tuple(each for each in Switch if said[each] is True)
