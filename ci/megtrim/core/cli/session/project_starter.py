"""From a CMake project and a command to a configuration that can be trimmed as it is."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from megtrim.core.cli.session.project_template import render_project
from megtrim.core.cli.session.starter import StarterFiles
from megtrim.core.cli.session.templates import name_keep_set
from megtrim.core.config.model import ARCHIVE_SUFFIX, SHARED_SUFFIX
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import FOLDER, kind_at

_LISTS = "CMakeLists.txt"
_FOLDERS = ("", "build/cmake", "cmake", "build", "src", "contrib/cmake")
"""Where projects have their CMakeLists.txt, the usual place first."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def plan_project(source: Path, target: str, words: Sequence[str], config: Path) -> StarterFiles:
    """``words``: arguments of the first command; those that are files become inputs of it."""
    if config.exists():
        msg = f"{config} already exists"
        raise InputError(msg, hint="edit it, or name another file with --config")
    if not target:
        msg = "--cmake: found no --target, expected the program that is to be trimmed"
        raise InputError(msg, hint=f"megtrim init --cmake {source} --target PROGRAM")
    if target.endswith((SHARED_SUFFIX, ARCHIVE_SUFFIX)):
        msg = f"--target: found the library {target}, expected a program"
        hint = "a library is trimmed for `applications` that use it: docs/how-to/cmake-projects.md"
        raise InputError(msg, hint=hint)
    if found := kind_at(source):
        if found != FOLDER:
            msg = f"--cmake {source}: found {found}, expected the folder of a CMake project"
            raise InputError(msg)
    else:
        msg = f"--cmake {source}: found a file, expected the folder of a CMake project"
        raise InputError(msg)
    inputs: dict[str, str] = {}
    args = tuple(_read_word(word, inputs, config) for word in words)
    text = render_project(
        source=_relative(source, config),
        folder=_find_folder(source),
        target=target,
        args=args or ("--version",),
        inputs=inputs,
        keep_set=name_keep_set(config),
    )
    shown = " ".join((target, *(words or ("--version",))))
    line = f"wrote {config}, for the program {target} of {source} and a first command: {shown}"
    return StarterFiles(files={config: text}, lines=(line,), toolchain="host")


def _find_folder(source: Path) -> str:
    for folder in _FOLDERS:
        if (source / folder / _LISTS).is_file():
            return folder
    places = ", ".join(_FOLDERS[1:])
    msg = f"--cmake {source}: found no {_LISTS}, expected one there, or in {places}"
    raise InputError(msg, hint="name the folder of a CMake project")


def _read_word(word: str, inputs: dict[str, str], config: Path) -> str:
    if not word or not Path(word).is_file():
        return word
    stem = _NOT_IN_A_NAME.sub("-", Path(word).stem).strip("-.") or "file"
    file = _relative(Path(word), config)
    name = stem
    number = 2
    while inputs.get(name, file) != file:
        name = f"{stem}-{number}"
        number += 1
    inputs[name] = file
    return f"{{input:{name}}}"


def _relative(path: Path, config: Path) -> str:
    return Path(os.path.relpath(path.absolute(), config.absolute().parent)).as_posix()
