from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, Switch, Variant
from megtrim.engines.options import forced_off
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import take
from unit.places.compile.projects.support import TOOLCHAIN, write

RTTI = Switch.RTTI
LOGGING = Switch.LOGGING
ORDER = BuildSpec(variant=Variant.REDUCED, targets=(), options=(("CMAKE_BUILD_TYPE", "Release"),))
DROPS_RTTI = """\
if(${CMAKE_BUILD_TYPE} STREQUAL "Release"
   AND NOT MGE_WITH_TEST
   AND NOT ${MGE_ARCH} STREQUAL "x86_64")
  set(MGE_ENABLE_RTTI OFF)
  message(STATUS "x")
endif()
"""
"""As MegEngine has it from 1.5 on, cut to what is looked at."""
OF_MINIMUM_SIZE = "if(MGE_WITH_MINIMUM_SIZE)\n set(MGE_ENABLE_RTTI OFF)\nendif()\n"


@pytest.mark.parametrize(
    ("tree", "machine", "switch", "options", "forced"),
    [
        (DROPS_RTTI, "aarch64", RTTI, {}, True),
        (DROPS_RTTI, "armv7l", RTTI, {}, True),
        (DROPS_RTTI, "x86_64", RTTI, {}, False),
        (DROPS_RTTI, "aarch64", LOGGING, {}, False),
        (DROPS_RTTI, "aarch64", RTTI, {"CMAKE_BUILD_TYPE": "RelWithDebInfo"}, False),
        (DROPS_RTTI, "aarch64", RTTI, {"MGE_WITH_TEST": True}, False),
        (DROPS_RTTI, "aarch64", RTTI, {"MGE_WITH_TEST": False}, True),
        ("", "aarch64", RTTI, {}, False),
        (OF_MINIMUM_SIZE, "aarch64", RTTI, {}, False),
        (DROPS_RTTI.replace("OFF", "ON"), "aarch64", RTTI, {}, False),
    ],
)
def test_what_an_engine_switches_off_of_itself(
    tmp_path: Path,
    processes: ProcessRunner,
    tree: str,
    machine: str,
    switch: Switch,
    options: dict[str, str | bool],
    forced: bool,
) -> None:
    """RTTI in a Release build for anything but x86-64, unless tests are built; the tree says so."""
    checkout = take(write(tmp_path, {"CMakeLists.txt": tree}), processes)
    toolchain = replace(TOOLCHAIN, machine=machine)

    why = forced_off(switch, checkout, toolchain, ORDER.with_options(options))

    expected = f"always off in this engine's Release build for {machine}"
    assert why == (expected if forced else "")
