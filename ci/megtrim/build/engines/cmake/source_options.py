"""The CMake file that adds compile options to an engine's sources by their folder. Pure text.

CMake reads it at the end of the engine's own ``project()`` call, and it acts once every target is
defined. So none of the engine's files is changed, however it is built, and the targets' own options
come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from megtrim.build_spec import SourceOptions
from megtrim.util.errors import InputError

_PROJECT = re.compile(
    r"^[ \t]{0,99}project\s{0,9}\(\s{0,99}([A-Za-z_][A-Za-z0-9_.+-]{0,99})[\s)]", re.MULTILINE
)
_PLAIN = re.compile(r"[A-Za-z0-9_./+-]{1,500}")

FILE = "sources.cmake"
LISTS = "CMakeLists.txt"

_TEXT = """\
# Written by megtrim: compile options for sources outside of some folders, behind all others.
function(megtrim_give_options folder)
  get_property(subfolders DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(subfolder IN LISTS subfolders)
    megtrim_give_options("${subfolder}")
  endforeach()
  set(options @OPTIONS@)
  string(TOUPPER "CMAKE_CXX_FLAGS_${CMAKE_BUILD_TYPE}" flags)
  if("${CMAKE_CXX_FLAGS} ${${flags}}" MATCHES "-Ofast")
    list(APPEND options @FAST@)
  endif()
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "UTILITY|INTERFACE")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    get_target_property(base ${target} SOURCE_DIR)
    get_target_property(made ${target} BINARY_DIR)
    foreach(source IN LISTS sources)
      if(NOT source MATCHES "[.](c|cc|cpp|cxx)$")
        continue()
      endif()
      get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${base}")
      if(NOT EXISTS "${path}")
        # Made by the build, in the folder that stands for the target's own there.
        get_filename_component(path "${source}" ABSOLUTE BASE_DIR "${made}")
      endif()
      file(RELATIVE_PATH source "${CMAKE_SOURCE_DIR}" "${path}")
      # Two targets of one folder share what is said of a source.
      get_property(given SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY MEGTRIM_GIVEN)
      if(given OR source MATCHES "^(@OUTSIDE@)/")
        continue()
      endif()
      set_property(
        SOURCE "${path}" TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${options})
      set_property(SOURCE "${path}" TARGET_DIRECTORY ${target} PROPERTY MEGTRIM_GIVEN ON)
    endforeach()
  endforeach()
endfunction()

cmake_language(
  DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL megtrim_give_options "${CMAKE_SOURCE_DIR}")
"""


def option_name(cmake_lists: str, *, root: str) -> str:
    """Raises InputError if the tree's project has no plain name."""
    project = _PROJECT.search(cmake_lists)
    if project is None:
        msg = f"{root}/{LISTS} has no project() with a plain name, which source options need"
        raise InputError(msg, hint="is it the engine's own top folder?")
    return f"CMAKE_PROJECT_{project[1]}_INCLUDE"


def render(options: SourceOptions) -> str:
    outside = "|".join(re.sub("[.+]", r"[\g<0>]", _plain(each)) for each in options.outside)
    values = {"@OPTIONS@": _quote(options.options), "@FAST@": _quote(options.fast)}
    text = _TEXT.replace("@OUTSIDE@", outside)
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _quote(options: Iterable[str]) -> str:
    return " ".join(f'"{each}"' for each in options)


def _plain(folder: str) -> str:
    if not _PLAIN.fullmatch(folder):
        msg = f"CMake cannot match sources in {folder!r}"
        raise InputError(msg, hint="expected a path with only letters, digits and _ . / + -")
    return folder
