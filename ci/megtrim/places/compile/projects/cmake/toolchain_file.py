"""The CMake files that megtrim writes: the toolchain, and options for sources by their folder.

CMake reads the latter at the end of the engine's own ``project()`` call, and it acts once every
target is defined: none of the engine's files is changed, and the targets' own options come first.
"""

import re
from collections.abc import Iterable, Iterator

from megtrim.core.build_spec import SourceOptions, Toolchain
from megtrim.libs.util.errors import InputError

_PROJECT = re.compile(
    r"^[ \t]{0,99}project\s{0,9}\(\s{0,99}([A-Za-z_][A-Za-z0-9_.+-]{0,99})[\s)]", re.MULTILINE
)
_PLAIN = re.compile(r"[A-Za-z0-9_./+-]{1,500}")
SOURCES_FILE = "sources.cmake"
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


def render(
    toolchain: Toolchain,
    *,
    quoted_include: bool,
    compile_flags: tuple[str, ...] = (),
    link_flags: tuple[str, ...] = (),
    engine_tree: str = "",
) -> str:
    """For a tree whose sources are in ``src`` next to the file.

    With ``quoted_include``, the folder ``include`` next to it is searched first for quoted
    includes: the generated header of marks is then found before the engine's own, in any order.
    ``engine_tree`` is the way from the tree of an application to the engine's.
    """
    # Debug information is never shipped, and triples the size of objects and links. Without it,
    # and without the tree's own path, equal sources compile to equal bytes everywhere.
    options = ["-g0", *_map_names(engine_tree)]
    if quoted_include:
        options.append("SHELL:-iquote ${MEGTRIM_TREE}/include")
    options += compile_flags
    link = (*toolchain.link_flags, *link_flags)
    lines = [
        "# Written by megtrim: the toolchain that was found.",
        # A person's home may list packages, which no key contains.
        "set(CMAKE_FIND_USE_PACKAGE_REGISTRY OFF)",
    ]
    lines += _render_include(toolchain, link) if toolchain.includes else _own(toolchain, link)
    lines.append('get_filename_component(MEGTRIM_TREE "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)')
    if engine_tree:
        lines += _find_engine(engine_tree)
    lines += [f'add_compile_options("{option}")' for option in options]
    return "\n".join(lines) + "\n"


def _map_names(engine_tree: str) -> Iterator[str]:
    """Source files have equal names (``__FILE__``) everywhere.

    A compiler cache names files as seen from the build folder, other builds by their whole path:
    each folder is mapped by both, but for the build folder itself, whose name is then empty.
    """
    maps = [("${MEGTRIM_TREE}/src", "."), ("../src", "."), ("${MEGTRIM_TREE}/build/", "")]
    if engine_tree:
        for folder, name in (("src", "engine"), ("build", "engine/build")):
            maps.append((f"${{MEGTRIM_ENGINE_TREE}}/{folder}", name))
            maps.append((f"../{engine_tree}/{folder}", name))
    for path, name in maps:
        yield f"-ffile-prefix-map={path}={name}"


def _find_engine(engine_tree: str) -> tuple[str, ...]:
    path = f"${{MEGTRIM_TREE}}/{engine_tree}"
    return (f'get_filename_component(MEGTRIM_ENGINE_TREE "{path}" ABSOLUTE)',)


def _render_include(toolchain: Toolchain, link: tuple[str, ...]) -> list[str]:
    return [
        *(f'set({name} "{value}")' for name, value in toolchain.settings),
        f'include("{toolchain.includes}")',
        *(f'add_link_options("{option}")' for option in link),
    ]


def _own(toolchain: Toolchain, link: tuple[str, ...]) -> list[str]:
    flags = " ".join(toolchain.compile_flags)
    link_flags = " ".join(link)
    lines = [
        "set(CMAKE_SYSTEM_NAME Linux)",
        f"set(CMAKE_SYSTEM_PROCESSOR {toolchain.machine})",
        # The engine's own switch for cross builds on Linux.
        f"set(ARM_CROSS_BUILD_ARCH {toolchain.machine})",
        *_compiler("C", toolchain.c_compiler),
        *_compiler("CXX", toolchain.cxx_compiler),
    ]
    if toolchain.archiver:
        lines.append(f'set(CMAKE_AR "{toolchain.archiver}")')
    if toolchain.ranlib:
        lines.append(f'set(CMAKE_RANLIB "{toolchain.ranlib}")')
    lines += _archive_rules(toolchain.archive)
    lines += [
        f'set(CMAKE_EXE_LINKER_FLAGS_INIT "{link_flags}")',
        f'set(CMAKE_SHARED_LINKER_FLAGS_INIT "{link_flags}")',
        f'set(CMAKE_C_FLAGS_INIT "{flags}")',
        f'set(CMAKE_CXX_FLAGS_INIT "{flags}")',
    ]
    return lines


def _compiler(language: str, command: tuple[str, ...]) -> list[str]:
    lines = [f'set(CMAKE_{language}_COMPILER "{command[0]}")']
    if len(command) > 1:
        lines.append(f'set(CMAKE_{language}_COMPILER_ARG1 "{" ".join(command[1:])}")')
    return lines


def _archive_rules(command: tuple[str, ...]) -> list[str]:
    """CMAKE_AR cannot have arguments."""
    if not command:
        return []
    program, *words = command
    archiver = " ".join((f'\\"{program}\\"', *words))
    return [
        f'set(CMAKE_{language}_ARCHIVE_{step} "{rule}")'
        for language in ("C", "CXX")
        for step, rule in (
            ("CREATE", f"{archiver} qc <TARGET> <LINK_FLAGS> <OBJECTS>"),
            ("APPEND", f"{archiver} q <TARGET> <LINK_FLAGS> <OBJECTS>"),
            ("FINISH", f"{archiver} s <TARGET>"),
        )
    ]


def option_name(cmake_lists: str, *, root: str) -> str:
    """Raises InputError if the tree's project has no plain name."""
    project = _PROJECT.search(cmake_lists)
    if project is None:
        msg = f"{root}/{LISTS} has no project() with a plain name, which source options need"
        raise InputError(msg, hint="is it the engine's own top folder?")
    return f"CMAKE_PROJECT_{project[1]}_INCLUDE"


def render_sources(options: SourceOptions) -> str:
    outside = "|".join(re.sub("[.+]", r"[\g<0>]", _plain(each)) for each in options.outside)
    values = {"@OPTIONS@": _quote(options.options), "@FAST@": _quote(options.fast)}
    text = _TEXT.replace("@OUTSIDE@", outside)
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


def _quote(options: Iterable[str]) -> str:
    return " ".join(f'"{option}"' for option in options)


def _plain(folder: str) -> str:
    if not _PLAIN.fullmatch(folder):
        msg = f"CMake cannot match sources in {folder!r}"
        raise InputError(msg, hint="expected a path with only letters, digits and _ . / + -")
    return folder
