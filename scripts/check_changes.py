#!/usr/bin/env python3
"""Check what a change can have broken, within 15 seconds: `nox -s check`.

Ruff, then the unit tests that reach a changed file through imports, the nearest first. What is
left after 15 seconds of CPU is named; `--all` runs it, and the walls (types among them).
Exit status: 0 (all passed), 1 (a check failed), 2 (no such commit).
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import click
import pytest

from megtrim.libs.util.errors import InputError, MegtrimError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner

ROOT = Path(__file__).resolve().parent.parent
SOURCE_FOLDERS = ("ci", "tests", "scripts", "examples/sample-engine")
"""Folders that Python finds modules in."""
UNIT = "tests/unit"
WALLS = "tests/walls"
LONGEST_S = 3600.0
CPU_S = 15.0

_IMPORT = re.compile(
    r"^\s*(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE
)
_VERB = re.compile(r'(?:"|name=")([a-z-]+)"(?:: |, place=)"([a-z_.]+):([a-z_]+)"')
"""A verb in a list of a group's members, or of a part: no one imports its module by name."""
_DO_LATER = re.compile(r"^do_later\('([a-z_.]+):", re.MULTILINE)
_GROUP = re.compile(r"^([a-z_]+)\.command\b", re.MULTILINE)
_CALL_LATER = re.compile(r'\bcall_later\("([a-z_.]+):')
"""Where a verb's declaration names its work, which is imported when it is called."""
_CALLS_VERBS = re.compile(r"\bshell\b|\bcli\.main\b|\bcli import main\b")
_QUOTED_MODULE = re.compile(r'"((?:megtrim|virtual_phone)\.[\w.]+)"')
_STARTED = re.compile(r'"-m", "([\w.]+)"')
_SCRIPT = re.compile(r'\bscript\("(\w+)"\)')


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--since", default="HEAD", metavar="COMMIT", help="default: %(default)s")
    parser.add_argument(
        "--all", action="store_true", help="all of these tests, and the walls, however long"
    )
    options = parser.parse_args(arguments)
    processes = ProcessRunner(os.environ)
    try:
        changed = find_changes(options.since, ROOT, processes)
    except MegtrimError as error:
        click.echo(f"check: {error.message}; {error.hint}", err=True)
        return error.exit_code
    if not changed:
        click.echo(
            f"check: nothing differs from {options.since}; --since COMMIT compares with another"
        )
        return 0
    tests = select_tests(changed, ROOT)
    click.echo(f"check: {len(changed)} changed files may break {len(tests)} files of unit tests")
    clean = _run(processes, "ruff", "check", "--quiet")
    formatted = _run(processes, "ruff", "format", "--check", "--quiet")
    if options.all:
        passed = _run(processes, "pytest", "-q", "-n", "2", *tests, WALLS)
    else:
        passed = _run_nearest(tests)
    return 0 if clean and formatted and passed else 1


def _run(processes: ProcessRunner, module: str, *words: str) -> bool:
    command = Command(
        argv=(sys.executable, "-m", module, *words),
        cwd=ROOT,
        timeout_s=LONGEST_S,
        merge_stderr=True,
        on_line=click.echo,
    )
    return processes.run(command).ok


def _run_nearest(tests: tuple[str, ...]) -> bool:
    budget = Budget(tests)
    status = pytest.ExitCode.OK
    if tests:
        os.chdir(ROOT)
        # It collects for itself: the files that it is given here decide nothing but its root.
        words = ("-q", "-o", "console_output_style=classic", UNIT)
        status = pytest.ExitCode(pytest.main([*words], plugins=[budget]))
    left = ["the walls", "types"]
    if budget.left:
        short = (file.removeprefix(f"{UNIT}/") for file in budget.left)
        left.append(f"{len(budget.left)} files of {UNIT}: {' '.join(short)}")
    click.echo(f"check: left for `nox -s check -- --all`: {', '.join(left)}")
    return status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


class Budget:
    """Collects and runs one file after another, and no further test after 15 seconds of CPU.

    A file is imported when the one before it is done: to import all of them can take longer than
    to run the nearest. Their folders are collected once, since fixtures belong to these nodes.
    """

    def __init__(self, tests: tuple[str, ...], seconds: float = CPU_S) -> None:
        self._seconds = seconds
        self._ahead = list(tests)
        self._files: dict[Path, pytest.Item | pytest.Collector] = {}
        self.left: list[str] = []

    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect the tests of the first file; the loop collects the rest."""
        files = session.perform_collect(self._ahead, genitems=False)
        self._files = {file.path: file for file in files}
        session.items = self._collect_next(session)
        session.testscollected = len(session.items)
        return True

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = session.items
        while items:
            item = items.pop(0)
            if self._is_over():
                file = item.nodeid.partition("::")[0]
                self.left = [file, *self._ahead]
                return True
            # What tests share is kept as long as another test follows.
            items = items or self._collect_next(session)
            following = items[0] if items else None
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                return True
        return True

    def _collect_next(self, session: pytest.Session) -> list[pytest.Item]:
        while self._ahead and not self._is_over():
            file = self._files[Path.cwd() / self._ahead.pop(0)]
            items = list(session.genitems(file))
            hook = session.config.hook
            hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
            if items:
                return items
        return []

    def _is_over(self) -> bool:
        spent = os.times()
        own = spent.user + spent.system
        return own + spent.children_user + spent.children_system > self._seconds


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
    """Return the files of unit tests that reach a changed file, the nearest first."""
    return Tree(root).select_tests(changed)


class Tree:
    """The modules of a checkout, and which of them use which."""

    def __init__(self, root: Path) -> None:
        self._texts = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
            for folder in SOURCE_FOLDERS
            for path in sorted((root / folder).rglob("*.py"))
        }
        self._names = {_name_module(file): file for file in self._texts}
        self._verbs: dict[str, set[str]] = defaultdict(set)
        for text in self._texts.values():
            for verb, module, name in _VERB.findall(text):
                self._verbs[verb].add(f"megtrim.{module}")
                self._verbs[verb] |= self._find_work(f"megtrim.{module}", name)
        self._users = self._find_users()

    def select_tests(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Return the files of unit tests that reach a changed file, the nearest first.

        Of those that are as many imports away, the ones whose path is most alike come first.
        """
        found: dict[str, tuple[int, int]] = {}
        for file in changed:
            for test, distance in self._find_reaching(file).items():
                place = (distance, -_count_shared_folders(file, test))
                found[test] = min(place, found.get(test, place))
        return tuple(sorted(found, key=lambda test: (found[test], test)))

    def _find_reaching(self, file: str) -> Mapping[str, int]:
        """Return of each test that reaches a file by how many steps it does."""
        distances: dict[str, int] = {}
        ahead = list(self._find_named(file))
        distance = 0
        while ahead:
            distances |= dict.fromkeys(ahead, distance)
            users = {user for name in ahead for user in self._users[name]}
            ahead = sorted(users - distances.keys())
            distance += 1
        tests = {
            self._names[name]: distance
            for name, distance in distances.items()
            if name in self._names and _is_unit_test(self._names[name])
        }
        if tests or not file.startswith("ci/"):
            return tests
        return dict.fromkeys(self._find_neighbours(file), 0)

    def _find_neighbours(self, file: str) -> Iterator[str]:
        """Yield the tests that stand nearest to a module that no test reaches."""
        short = file.removeprefix("ci/").removeprefix("megtrim/")
        for folder in PurePosixPath(short).parents:
            tests = [each for each in self._texts if _is_unit_test(each) and _lies_in(each, folder)]
            if tests:
                yield from tests
                return

    def _find_named(self, file: str) -> Iterator[str]:
        """Yield the modules that stand for a file: itself, or those that name it as data."""
        if file.endswith(".py") and file.startswith(tuple(f"{each}/" for each in SOURCE_FOLDERS)):
            yield _name_module(file)
            return
        path = PurePosixPath(file)
        words = [path.name]
        if len(path.parts) > 2:
            words.append(path.parent.name)
        for module, own in self._names.items():
            if any(word in self._texts[own] for word in words):
                yield module

    def _find_users(self) -> Mapping[str, set[str]]:
        users: dict[str, set[str]] = defaultdict(set)
        mirrors = _name_mirrors(self._names)
        for name, file in self._names.items():
            text = self._texts[file]
            used = {*find_imports(text), *_QUOTED_MODULE.findall(text), *_SCRIPT.findall(text)}
            used |= {f"megtrim.{module}" for module in _CALL_LATER.findall(text)}
            if _is_unit_test(file):
                used |= {f"{each}.__main__" for each in _STARTED.findall(text)}
                used |= self._find_verbs(text)
                used |= _name_conftests(file)
                used |= mirrors.get(name, set())
            for each in used - {name}:
                users[each].add(name)
        return users

    def _find_work(self, module: str, name: str) -> set[str]:
        """Return the modules that do the work of a verb, or of all verbs of a group."""
        text = self._texts[self._names[module]] if module in self._names else ""
        return {work for verb, work in find_works(text) if verb == name}

    def _find_verbs(self, text: str) -> set[str]:
        """Return the modules of the verbs that a test calls: `shell("size", "show")`."""
        if not _CALLS_VERBS.search(text):
            return set()
        return {
            module
            for verb, modules in self._verbs.items()
            if re.search(rf"""["' ]{verb}["' ]""", text)
            for module in modules
        }


def _name_module(file: str) -> str:
    folder = next(each for each in SOURCE_FOLDERS if file.startswith(f"{each}/"))
    parts = PurePosixPath(file).relative_to(folder).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _name_mirrors(names: Iterable[str]) -> Mapping[str, set[str]]:
    """Return of each unit test the module whose path it has: `unit.core.test_x` tests `core.x`."""
    mirrors: dict[str, set[str]] = defaultdict(set)
    for name in names:
        short = name.removeprefix("megtrim.")
        folder, _, last = short.rpartition(".")
        mirrors[f"unit.{folder}.test_{last}"].add(name)
    return mirrors


def _name_conftests(file: str) -> set[str]:
    folders = PurePosixPath(file).relative_to("tests").parents
    return {".".join((*folder.parts, "conftest")) for folder in folders}


def find_imports(text: str) -> Iterator[str]:
    for module, imported, plain in _IMPORT.findall(text):
        parts = (module or plain).split(".")
        # A package's own file is run before its modules.
        for length in range(1, len(parts) + 1):
            yield ".".join(parts[:length])
        for name in re.findall(r"\w+", imported):
            yield f"{module}.{name}"


@functools.cache
def find_works(text: str) -> tuple[tuple[str, str], ...]:
    """Return each verb that a module declares, and its group, with the module of its work."""
    found: list[tuple[str, str]] = []
    for node in ast.parse(text).body if "do_later" in text else ():
        if not isinstance(node, ast.FunctionDef):
            continue
        decorators = "\n".join(map(ast.unparse, node.decorator_list))
        if (place := _DO_LATER.search(decorators)) is None:
            continue
        found.append((node.name, f"megtrim.{place[1]}"))
        if (group := _GROUP.search(decorators)) is not None:
            found.append((group[1], f"megtrim.{place[1]}"))
    return tuple(found)


def _lies_in(test: str, folder: PurePosixPath) -> bool:
    return PurePosixPath(test).is_relative_to(PurePosixPath(UNIT, folder))


def _count_shared_folders(file: str, test: str) -> int:
    short = file.removeprefix(f"{UNIT}/").removeprefix("ci/").removeprefix("megtrim/")
    folders = PurePosixPath(short).parent
    return len([each for each in (folders, *folders.parents) if _lies_in(test, each)])


def _is_unit_test(file: str) -> bool:
    return file.startswith(f"{UNIT}/") and PurePosixPath(file).name.startswith("test_")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
