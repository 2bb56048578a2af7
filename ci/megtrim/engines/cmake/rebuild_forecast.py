"""Which sources a build will compile, and which ones it did compile.

Both come from the build's records in its work tree: which files each unit opened when it was last
compiled, and what Ninja made. Nothing is built or written here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from megtrim.engines.cmake import build_records
from megtrim.engines.cmake.build_records import TranslationUnit
from megtrim.engines.cmake.driver import WorkTree
from megtrim.process import ProcessRunner

COMMANDS = "compile_commands.json"
LOG = ".ninja_log"
_DEPENDENCIES = ".ninja_deps"
_DEPENDENCIES_TIMEOUT_S = 300.0
_CONFIGURES = ("CMakeLists.txt", ".cmake")


def dependencies(tree: WorkTree, processes: ProcessRunner) -> str:
    """Return which files each unit opened when it was compiled, as ``ninja -t deps`` prints it."""
    ninja = processes.build_tool("ninja")
    argv = (ninja, "-C", str(tree.build), "-t", "deps")
    return processes.capture(*argv, timeout_s=_DEPENDENCIES_TIMEOUT_S)


def commands(tree: WorkTree) -> str:
    """Return CMake's JSON of compile commands."""
    return (tree.build / COMMANDS).read_text(encoding="utf-8")


def predict_sources(
    tree: WorkTree, changed: Collection[Path], processes: ProcessRunner
) -> tuple[str, ...] | None:
    """Return the sources that depend on ``changed`` files; None: not known, maybe all."""
    stale = _find_stale(tree, changed, processes)
    return None if stale is None else _sources(tree, stale, _read_units(tree))


def _find_stale(
    tree: WorkTree, changed: Collection[Path], processes: ProcessRunner
) -> frozenset[Path] | None:
    """Return the objects that depend on ``changed`` files; None: not known, maybe all."""
    records = (tree.build / name for name in (COMMANDS, _DEPENDENCIES, LOG))
    if not all(record.is_file() for record in records):
        return None
    if any(path.name.endswith(_CONFIGURES) for path in changed):
        return None
    if not changed:
        return frozenset()
    opened = build_records.parse_dependencies(dependencies(tree, processes), tree.build)
    touched = set(changed)
    return frozenset(out for out, files in opened.items() if not touched.isdisjoint(files))


def read_steps(tree: WorkTree) -> Mapping[Path, str]:
    """Return Ninja's record of each file that it has made."""
    path = tree.build / LOG
    if not path.is_file():
        return {}
    return build_records.steps(path.read_text(encoding="utf-8", errors="replace"), tree.build)


def list_compiled(tree: WorkTree, before: Mapping[Path, str]) -> tuple[tuple[str, ...], int]:
    """Return the sources compiled since :func:`read_steps` returned ``before``.

    And how many there are in all, compiled then or earlier.
    """
    steps, units = read_steps(tree), _read_units(tree)
    again = (file for file, step in steps.items() if before.get(file) != step)
    return _sources(tree, again, units), len(_sources(tree, steps, units))


def _read_units(tree: WorkTree) -> Mapping[Path, TranslationUnit]:
    return build_records.units(commands(tree), tree.build)


def _sources(
    tree: WorkTree, objects: Iterable[Path], units: Mapping[Path, TranslationUnit]
) -> tuple[str, ...]:
    """Return the sources of ``objects``, as paths in the tree; other files are skipped."""
    found = {units[file].source for file in objects if file in units}
    return tuple(sorted(_in_tree(path, tree) for path in found))


def _in_tree(path: Path, tree: WorkTree) -> str:
    inside = path.is_relative_to(tree.source)
    return str(path.relative_to(tree.source)) if inside else str(path)
