#!/usr/bin/env python3
"""Check what a change can have broken, in about half a minute: `nox -s check`.

It runs the walls (lint and types among them), and the unit tests that mirror or import a module
that differs from a commit. Exit status: 0 (all passed), 1 (a check failed), 2 (no such commit).
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import click

from megtrim.libs.util.errors import InputError, MegtrimError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner

ROOT = Path(__file__).resolve().parent.parent
SOURCES = PurePosixPath("ci")
UNIT = PurePosixPath("tests/unit")
WALLS = ("architecture", "checkers", "docs_are_current", "plants", "printed_commands", "names")
"""Modules of tests/walls; lint and types are in ``checkers``."""
LONGEST_S = 900.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="default: %(default)s")
    since = parser.parse_args(arguments).since
    processes = ProcessRunner(os.environ)
    try:
        changed = find_changes(since, ROOT, processes)
    except MegtrimError as error:
        click.echo(f"check: {error.message}; {error.hint}", err=True)
        return error.exit_code
    if not changed:
        click.echo(f"check: nothing differs from {since}; --since COMMIT compares with another")
        return 0
    tests = select_tests(changed, ROOT)
    click.echo(f"check: {len(changed)} changed files; tests: {' '.join(tests)}")
    argv = (sys.executable, "-m", "pytest", "-q", "-n", "2", *tests)
    command = Command(
        argv=argv, cwd=ROOT, timeout_s=LONGEST_S, merge_stderr=True, on_line=click.echo
    )
    return 0 if processes.run(command).ok else 1


def find_changes(since: str, root: Path, processes: ProcessRunner) -> tuple[str, ...]:
    """Untracked files are included. Raises InputError."""

    def git(*words: str) -> CompletedCommand:
        return processes.run(Command(argv=("git", *words), cwd=root, timeout_s=60))

    commit = git("rev-parse", "--verify", "--quiet", f"{since}^{{commit}}")
    if not commit.ok:
        msg = f"{since} is not a commit of {root}"
        raise InputError(msg, hint="`git log` lists them")
    differing = git("diff", "--name-only", "-z", commit.stdout.strip()).stdout
    untracked = git("ls-files", "--others", "--exclude-standard", "-z").stdout
    return tuple(sorted({name for name in (differing + untracked).split("\0") if name}))


def select_tests(changed: Iterable[str], root: Path) -> tuple[str, ...]:
    paths = {PurePosixPath(name) for name in changed}
    modules = {
        ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
        for path in paths
        if path.suffix == ".py" and path.is_relative_to(SOURCES)
    }
    mirrored = {module.removeprefix("megtrim.") for module in modules}
    selected = {f"tests/walls/test_{wall}.py" for wall in WALLS}
    for test in (root / UNIT).rglob("test_*.py"):
        name = PurePosixPath(test.relative_to(root).as_posix())
        mirrors = ".".join(name.relative_to(UNIT).with_suffix("").parts).replace("test_", "")
        if name in paths or mirrors in mirrored or modules & set(_list_imports(test)):
            selected.add(str(name))
    return tuple(sorted(name for name in selected if (root / name).exists()))


def _list_imports(test: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
