"""CMake options of MegEngine and of what builds as it does: those of megtrim, and one it forces."""

import re
from collections.abc import Mapping

from megtrim.core.build_spec import BuildSpec, Switch, Toolchain
from megtrim.places.compile.projects.checkout import Checkout

_FREE = "CMAKE_PROJECT_INCLUDE, which megtrim leaves to you"
OWN_OPTIONS: Mapping[str, str] = {
    "CMAKE_PROJECT_MegEngine_INCLUDE": _FREE,
    "CMAKE_PROJECT_sample_engine_INCLUDE": _FREE,
    "MGE_BIN_REDUCE": "no such key: megtrim passes the header that it makes",
    "MGE_WITH_MIDOUT_PROFILE": "no such key: megtrim switches it on in the profile build",
    "MGE_WITH_MINIMUM_SIZE": "the key trim.minimum_size in its place",
}
"""Options that megtrim sets, and what to write in their place."""
_KEEPS_RTTI = "x86_64"
_LARGEST_BYTES = 2**20
_TRUE = ("1", "ON", "TRUE", "YES", "Y")
_DROPS_RTTI = re.compile(
    r"^\s{0,99}if\s{0,9}\(([^()]{1,500})\)\s{0,99}set\s{0,9}\(\s{0,9}MGE_ENABLE_RTTI\s{1,9}OFF\b",
    re.MULTILINE,
)


def forced_off(switch: Switch, checkout: Checkout, toolchain: Toolchain, spec: BuildSpec) -> str:
    values = {name: value.upper() for name, value in spec.options}
    tests = values.get("MGE_WITH_TEST") in _TRUE
    release = values.get("CMAKE_BUILD_TYPE") == "RELEASE" and not tests
    affected = switch is Switch.RTTI and toolchain.machine != _KEEPS_RTTI and release
    if not affected:
        return ""
    conditions = _DROPS_RTTI.findall(checkout.text("CMakeLists.txt", most_bytes=_LARGEST_BYTES))
    if not any('"Release"' in each and f'"{_KEEPS_RTTI}"' in each for each in conditions):
        return ""
    return f"always off in this engine's Release build for {toolchain.machine}"
