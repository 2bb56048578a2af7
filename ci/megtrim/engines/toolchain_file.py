"""The CMake toolchain file that tells a build about the toolchain that was found. Pure text."""

from __future__ import annotations

from megtrim.recipe import Toolchain


def render(toolchain: Toolchain, *, quoted_include: bool, link_flags: tuple[str, ...] = ()) -> str:
    """Return the file's text, for a tree whose sources lie in ``src`` beside the file.

    With ``quoted_include``, the folder ``include`` beside it comes first for quoted includes:
    the generated ``midout.h`` then wins, whatever order CMake gives the engine's own folders.
    """
    flags = " ".join(toolchain.compile_flags)
    link = " ".join((*toolchain.link_flags, *link_flags))
    options = (
        # Debug information is never shipped and triples what is written and linked. Without it
        # and without the tree's own path, equal sources compile to equal bytes anywhere.
        "-g0",
        "-ffile-prefix-map=${MEGTRIM_TREE}/src=.",
        "-ffile-prefix-map=${MEGTRIM_TREE}/build=build",
        *(("SHELL:-iquote ${MEGTRIM_TREE}/include",) if quoted_include else ()),
    )
    lines = [
        "# Written by megtrim: the toolchain that was found on this machine.",
        "set(CMAKE_SYSTEM_NAME Linux)",
        f"set(CMAKE_SYSTEM_PROCESSOR {toolchain.machine})",
        # The engine's own switch for cross builds on Linux.
        f"set(ARM_CROSS_BUILD_ARCH {toolchain.machine})",
        *_compiler("C", toolchain.c_compiler),
        *_compiler("CXX", toolchain.cxx_compiler),
        *(f'set({name} "{path}")' for name, path in _archivers(toolchain)),
        f'set(CMAKE_EXE_LINKER_FLAGS_INIT "{link}")',
        f'set(CMAKE_SHARED_LINKER_FLAGS_INIT "{link}")',
        f'set(CMAKE_C_FLAGS_INIT "{flags}")',
        f'set(CMAKE_CXX_FLAGS_INIT "{flags}")',
        'get_filename_component(MEGTRIM_TREE "${CMAKE_CURRENT_LIST_DIR}" ABSOLUTE)',
        *(f'add_compile_options("{option}")' for option in options),
    ]
    return "\n".join(lines) + "\n"


def _compiler(language: str, command: tuple[str, ...]) -> list[str]:
    lines = [f'set(CMAKE_{language}_COMPILER "{command[0]}")']
    if len(command) > 1:
        lines.append(f'set(CMAKE_{language}_COMPILER_ARG1 "{" ".join(command[1:])}")')
    return lines


def _archivers(toolchain: Toolchain) -> list[tuple[str, str]]:
    pairs = (("CMAKE_AR", toolchain.archiver), ("CMAKE_RANLIB", toolchain.ranlib))
    return [(name, path) for name, path in pairs if path]
