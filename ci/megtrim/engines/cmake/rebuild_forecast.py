"""Which sources a build will compile, told before it, and which it compiled, told after it.

Both by the build's own records in its work tree: what every unit opened when it was compiled
last, and what Ninja made. Nothing is built here, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from megtrim.engines.cmake import build_records
from megtrim.engines.cmake.driver import WorkTree
from megtrim.process import ProcessRunner

_COMMANDS = "compile_commands.json"
_LOG = ".ninja_log"
_DEPENDENCIES = ".ninja_deps"
_DEPENDENCIES_TIMEOUT_S = 300.0
_CONFIGURES = ("CMakeLists.txt", ".cmake")


def dependencies(tree: WorkTree, processes: ProcessRunner) -> str:
    """Return what each unit opened when it was compiled, as Ninja recorded it."""
    ninja = processes.build_tool("ninja")
    argv = (ninja, "-C", str(tree.build), "-t", "deps")
    return processes.capture(*argv, timeout_s=_DEPENDENCIES_TIMEOUT_S)


def commands(tree: WorkTree) -> str:
    """Return the compile commands as CMake recorded them."""
    return (tree.build / _COMMANDS).read_text(encoding="utf-8")


def predict_sources(
    tree: WorkTree, changed: Collection[Path], processes: ProcessRunner
) -> tuple[str, ...] | None:
    """Return the sources that rest on ``changed`` files; None: nothing tells, so maybe all."""
    records = (tree.build / name for name in (_COMMANDS, _DEPENDENCIES, _LOG))
    if not all(record.is_file() for record in records):
        return None
    if any(path.name.endswith(_CONFIGURES) for path in changed):
        return None
    if not changed:
        return ()
    opened = build_records.parse_dependencies(dependencies(tree, processes), tree.build)
    touched = set(changed)
    return _sources(tree, (made for made, files in opened.items() if not touched.isdisjoint(files)))


def read_steps(tree: WorkTree) -> Mapping[Path, str]:
    """Return Ninja's record of each file that it made so far."""
    path = tree.build / _LOG
    if not path.is_file():
        return {}
    return build_records.steps(path.read_text(encoding="utf-8", errors="replace"), tree.build)


def list_compiled(tree: WorkTree, before: Mapping[Path, str]) -> tuple[str, ...]:
    """Return the sources that were compiled since ``before`` was :func:`read_steps`."""
    return _sources(
        tree, (file for file, step in read_steps(tree).items() if before.get(file) != step)
    )


def _sources(tree: WorkTree, objects: Iterable[Path]) -> tuple[str, ...]:
    """Name the sources of ``objects``, by their paths in the tree; other files are passed over."""
    units = build_records.units(commands(tree), tree.build)
    found = {units[file].source for file in objects if file in units}
    return tuple(sorted(_in_tree(path, tree) for path in found))


def _in_tree(path: Path, tree: WorkTree) -> str:
    inside = path.is_relative_to(tree.source)
    return str(path.relative_to(tree.source)) if inside else str(path)
