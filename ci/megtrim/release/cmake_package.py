"""The CMake package of a release: ``find_package(MegEngineTrimmed)``. Pure: values in, text out.

``MegEngineTrimmed::shared`` is the library, with its headers; ``MegEngineTrimmed::NAME`` is the
program of that name. Paths are relative to the file, so a release may be moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from megtrim.release.contents import HEADERS, LIBRARIES, PROGRAMS

PACKAGE = "MegEngineTrimmed"
CONFIG_PATH = f"{LIBRARIES}/cmake/{PACKAGE}/{PACKAGE}Config.cmake"

_ROOT = "_megtrim_root"
_HEAD = f"""\
# Written by megtrim. Says where the files of this release are, relative to this one.
get_filename_component({_ROOT} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)
"""
_FOOT = f"unset({_ROOT})\n"


def render_config(*, library: str, programs: Iterable[str]) -> str:
    """Return the text of the package; ``library``: file of the shared library, empty without."""
    parts = [
        *([_render_library(library)] if library else []),
        *(_render_program(name) for name in sorted(programs)),
    ]
    return "\n".join((_HEAD, *parts, _FOOT))


def _render_library(file: str) -> str:
    properties = {
        "IMPORTED_LOCATION": f"{LIBRARIES}/{file}",
        "INTERFACE_INCLUDE_DIRECTORIES": HEADERS,
    }
    return "\n".join(_list_lines("add_library", "shared", "SHARED IMPORTED", properties))


def _render_program(name: str) -> str:
    properties = {"IMPORTED_LOCATION": f"{PROGRAMS}/{name}"}
    return "\n".join(_list_lines("add_executable", name, "IMPORTED", properties))


def _list_lines(command: str, name: str, kind: str, properties: dict[str, str]) -> Iterator[str]:
    target = f"{PACKAGE}::{name}"
    yield f"if(NOT TARGET {target})"
    yield f"  {command}({target} {kind})"
    yield f"  set_target_properties({target} PROPERTIES"
    yield from (f'    {key} "${{{_ROOT}}}/{path}"' for key, path in properties.items())
    yield "  )"
    yield "endif()\n"
