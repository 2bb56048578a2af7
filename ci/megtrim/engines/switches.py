"""The engine's switches as CMake options, and those that an engine sets by itself.

Read in MegEngine's CMakeLists.txt from v1.0.0 to 47952c075d86: all have the four options.
``MGE_WITH_MINIMUM_SIZE`` sets three of them OFF, overriding any other value, and leaves FlatBuffers
alone. From 1.5 on, a Release build without tests sets RTTI OFF by itself, except for x86-64.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from megtrim.build_spec import MINIMUM_SIZE, BuildSpec, Switch, Toolchain
from megtrim.config.switches import OPTIONS
from megtrim.engines.checkout import Checkout
from megtrim.engines.cmake.options import TreeOptions
from megtrim.engines.cmake.parser import calls
from megtrim.errors import InputError

_KEEPS_RTTI = "x86_64"
_LARGEST_BYTES = 2**20
_TRUE = ("1", "ON", "TRUE", "YES", "Y")


def is_minimum_size(off: Iterable[Switch]) -> bool:
    """Return whether everything is off that the engine's minimum-size option switches off."""
    return set(off) >= set(MINIMUM_SIZE)


def options(off: Sequence[Switch], on: Sequence[Switch] = ()) -> dict[str, bool]:
    """Return the CMake options of switches, without those that the minimum-size option sets."""
    minimum = is_minimum_size(off)
    without = {OPTIONS[each]: False for each in off if not (minimum and each in MINIMUM_SIZE)}
    return {OPTIONS[each]: True for each in on} | without


def expect_known(requested: Mapping[Switch, str], checkout: Checkout) -> None:
    """Raise InputError for a switch that the tree has no option for; CMake would ignore it.

    ``requested`` maps switches to where each is requested, ``FILE:LINE: KEY``.
    """
    declared = TreeOptions(checkout).declared if requested else {}
    for switch, where in requested.items():
        if OPTIONS[switch] not in declared:
            known = ", ".join(each for each in Switch if OPTIONS[each] in declared) or "none"
            msg = f"{where}: the engine at {checkout.root} has no option {OPTIONS[switch]}"
            raise InputError(msg, hint=f"switches that it has: {known}")


def forced_off(switch: Switch, checkout: Checkout, toolchain: Toolchain, spec: BuildSpec) -> str:
    """Return why the engine always sets this switch off; empty if it does not."""
    values = {name: value.upper() for name, value in spec.options}
    tests = values.get("MGE_WITH_TEST") in _TRUE
    release = values.get("CMAKE_BUILD_TYPE") == "RELEASE" and not tests
    affected = switch is Switch.RTTI and toolchain.machine != _KEEPS_RTTI and release
    if not affected or not _drops_rtti(checkout):
        return ""
    return f"always off in this engine's Release build for {toolchain.machine}"


def _drops_rtti(checkout: Checkout) -> bool:
    """Return whether the tree has the condition under which it sets RTTI OFF by itself."""
    text = checkout.text("CMakeLists.txt", most_bytes=_LARGEST_BYTES)
    return any(
        condition.name == "if"
        and {"Release", _KEEPS_RTTI} <= set(condition.arguments)
        and (then.name, then.arguments[:2]) == ("set", (OPTIONS[Switch.RTTI], "OFF"))
        for condition, then in itertools.pairwise(calls(text))
    )
