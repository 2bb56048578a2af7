"""The CMake package: targets for what is there, by paths that may move."""

from __future__ import annotations

from megtrim.release.packages import render_config

LIBRARY = """\
if(NOT TARGET MegEngineTrimmed::shared)
  add_library(MegEngineTrimmed::shared SHARED IMPORTED)
  set_target_properties(MegEngineTrimmed::shared PROPERTIES
    IMPORTED_LOCATION "${_megtrim_root}/lib/libengine.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_megtrim_root}/include"
  )
endif()
"""


def test_a_library_brings_its_headers() -> None:
    """It is one target that says all."""
    assert LIBRARY in render_config(library="libengine.so", programs=())


def test_programs_are_targets_in_one_order() -> None:
    """Whatever the order in which they are given."""
    text = render_config(library="", programs=["viewer", "load_and_run"])

    assert text == render_config(library="", programs=["load_and_run", "viewer"])
    assert text.index("MegEngineTrimmed::load_and_run") < text.index("MegEngineTrimmed::viewer")
    assert "shared" not in text
