"""The engine's switches that a configuration sets, and contradictions between its keys.

Pure. ``minimum_size`` switches three of them off at once, as the engine's own option does; the
keys of ``trim.switches`` set them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.build_spec import MINIMUM_SIZE, Switch
from megtrim.config.model import TrimConfig
from megtrim.config.yaml.document import Document
from megtrim.config.yaml.problems import Problem
from megtrim.config.yaml.sections import Section

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


def switch_problems(document: Document) -> Iterator[Problem]:
    """Yield switches that contradict minimum_size, and options that are set in two places."""
    trim = document.data.get("trim")
    if not isinstance(trim, dict):
        return
    switches = trim.get("switches")
    said: Section = switches if isinstance(switches, dict) else {}
    yield from _against_minimum_size(document, trim, said)
    yield from _said_twice(document, said)


def _against_minimum_size(document: Document, trim: Section, said: Section) -> Iterator[Problem]:
    if trim.get("minimum_size") not in (True, None):
        return
    for switch in MINIMUM_SIZE:
        if said.get(switch) is True:
            off = ", ".join(f"{each}: false" for each in MINIMUM_SIZE if said.get(each) is not True)
            yield document.problem(
                ("trim", "switches", switch),
                "true, which minimum_size: true forces off",
                f"minimum_size: false, and each switch that is off{f': {off}' if off else ''}",
            )


def _said_twice(document: Document, said: Section) -> Iterator[Problem]:
    """Options of ``engine.cmake`` override all others: the switch would have no effect."""
    engine = document.data.get("engine")
    cmake = engine.get("cmake") if isinstance(engine, dict) else None
    if not isinstance(cmake, dict) or not said:
        return
    for option in (*OPTIONS.values(), MINIMUM_SIZE_OPTION):
        if option in cmake:
            found = f"{option} together with trim.switches"
            yield document.problem(("engine", "cmake", option), found, "the keys of trim alone")
