"""The engine's switches as CMake options, and those that an engine sets by itself.

Read in MegEngine's CMakeLists.txt from v1.0.0 to 47952c075d86: all have the four options.
``MGE_WITH_MINIMUM_SIZE`` sets three of them OFF, overriding any other value, and leaves FlatBuffers
alone. From 1.5 on, a Release build without tests sets RTTI OFF by itself, except for x86-64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from megtrim.build.engines.checkout import Checkout
from megtrim.build_spec import MINIMUM_SIZE, BuildSpec, Switch, Toolchain
from megtrim.config.model import OPTIONS

_KEEPS_RTTI = "x86_64"
_LARGEST_BYTES = 2**20
_TRUE = ("1", "ON", "TRUE", "YES", "Y")
_DROPS_RTTI = re.compile(
    r"^\s{0,99}if\s{0,9}\(([^()]{1,500})\)\s{0,99}set\s{0,9}\(\s{0,9}MGE_ENABLE_RTTI\s{1,9}OFF\b",
    re.MULTILINE,
)


def is_minimum_size(off: Iterable[Switch]) -> bool:
    return set(off) >= set(MINIMUM_SIZE)


def options(off: Sequence[Switch], on: Sequence[Switch] = ()) -> dict[str, bool]:
    """Without those that the minimum-size option sets."""
    minimum = is_minimum_size(off)
    without = {OPTIONS[each]: False for each in off if not (minimum and each in MINIMUM_SIZE)}
    return {OPTIONS[each]: True for each in on} | without


def forced_off(switch: Switch, checkout: Checkout, toolchain: Toolchain, spec: BuildSpec) -> str:
    values = {name: value.upper() for name, value in spec.options}
    tests = values.get("MGE_WITH_TEST") in _TRUE
    release = values.get("CMAKE_BUILD_TYPE") == "RELEASE" and not tests
    affected = switch is Switch.RTTI and toolchain.machine != _KEEPS_RTTI and release
    if not affected or not _drops_rtti(checkout):
        return ""
    return f"always off in this engine's Release build for {toolchain.machine}"


def _drops_rtti(checkout: Checkout) -> bool:
    text = checkout.text("CMakeLists.txt", most_bytes=_LARGEST_BYTES)
    conditions = _DROPS_RTTI.findall(text)
    return any('"Release"' in each and f'"{_KEEPS_RTTI}"' in each for each in conditions)
