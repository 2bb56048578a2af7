"""Reads CMake's compile commands, Ninja's log and its dependencies.

Paths are made absolute by their text alone: a compiler cache records them relative to the build.
"""

import itertools
import json
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value

_DEPENDENCIES_TIMEOUT_S = 300.0
_RETRY_HINT = "was it compiled before that header existed? clear ccache, and use a new --out"


class TranslationUnit(Value):
    source: Path
    command: str


def read_commands(build: Path) -> str:
    return (build / "compile_commands.json").read_text(encoding="utf-8")


def read_dependencies(build: Path, processes: ProcessRunner) -> str:
    argv = (processes.build_tool("ninja"), "-C", str(build), "-t", "deps")
    return processes.capture(*argv, timeout_s=_DEPENDENCIES_TIMEOUT_S)


def read_steps(build: Path) -> Mapping[Path, str]:
    path = build / ".ninja_log"
    if not path.is_file():
        return {}
    log = path.read_text(encoding="utf-8", errors="replace")
    rows = (line.split("\t") for line in log.splitlines() if not line.startswith("#"))
    return {_resolve(row[3], build): "\t".join(row) for row in rows if len(row) == 5}


def list_compiled(build: Path, before: Mapping[Path, str], *, source: Path) -> tuple[str, ...]:
    """Sources compiled since :func:`read_steps`, relative to ``source`` if they are in it."""
    known = parse_units(read_commands(build), build)
    made = (file for file, step in read_steps(build).items() if before.get(file) != step)
    paths = {known[file].source for file in made if file in known}
    return tuple(
        sorted(str(p.relative_to(source) if p.is_relative_to(source) else p) for p in paths)
    )


def parse_units(compile_commands: str, build: Path) -> Mapping[Path, TranslationUnit]:
    return {
        _resolve(_output(entry), build): TranslationUnit(
            source=_resolve(entry["file"], build), command=entry["command"]
        )
        for entry in json.loads(compile_commands)
    }


def parse_dependencies(dependencies: str, build: Path) -> Mapping[Path, frozenset[Path]]:
    found: dict[Path, frozenset[Path]] = {}
    output: Path | None = None
    files: list[Path] = []
    for line in (*dependencies.splitlines(), ""):
        if line.startswith("    "):
            files.append(_resolve(line.strip(), build))
        elif ": #deps " in line:
            output = _resolve(line.split(": #deps ")[0], build)
        elif output is not None:
            found[output] = frozenset(files)
            output = None
            files = []
    return found


def _output(entry: Mapping[str, str]) -> str:
    """CMake 3.25, which Debian 12 has, does not name it."""
    named = entry.get("output")
    if named is not None:
        return named
    pairs = itertools.pairwise(shlex.split(entry["command"]))
    return next((following for word, following in pairs if word == "-o"), entry["file"])


@lru_cache(maxsize=2**16)
def _resolve(name: str, build: Path) -> Path:
    path = Path(name) if name.startswith("/") else build / name
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        else:
            parts.append(part)
    return Path(*parts)


def prove(
    compile_commands: str, dependencies: str, *, header: Path, marks: Path | None, build: Path
) -> int:
    """Count the units. Raises ProductFailure if one was compiled without the generated files.

    ``marks`` is the generated header of marks, which must be used instead of the engine's of this
    name; None: the forced header has the regions. Only units that Ninja compiled count.
    """
    opened = parse_dependencies(dependencies, build)
    commands = parse_units(compile_commands, build)
    units = [output for output in opened if output in commands]
    forced = [output for output in units if _forces(commands[output].command, header)]
    foreign = [output for output in units if _other_marks(opened[output], marks)]
    if foreign and marks is not None:
        msg = f"{len(foreign)} translation units opened another {marks.name} than the generated one"
        hint = f"the first is {foreign[0]}; {_RETRY_HINT}"
        raise ProductFailure(msg, hint=hint)
    if len(forced) != len(units) or not units:
        missing = next((str(output) for output in units if output not in forced), "all")
        without = len(units) - len(forced)
        msg = f"{without} of {len(units)} translation units do not include the header"
        raise ProductFailure(msg, hint=f"the first without {header} is {missing}")
    read = {file.name for unit in units for file in opened[unit]}
    if marks is not None and marks.name not in read:
        msg = f"none of {len(units)} translation units opened the generated {marks.name}"
        hint = f"does this engine still mark its regions with {marks.name}?"
        raise ProductFailure(msg, hint=hint)
    return len(units)


def _forces(command: str, header: Path) -> bool:
    return any(
        word == "-include" and Path(following) == header
        for word, following in itertools.pairwise(shlex.split(command))
    )


def _other_marks(files: frozenset[Path], marks: Path | None) -> bool:
    return marks is not None and any(f.name == marks.name and f != marks for f in files)
