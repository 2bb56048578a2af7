#!/usr/bin/env python3
"""Show that the core stands alone: `nox -s core_alone`.

Copies the tree without the parts (times, lab, hosting, ship), MegEngine's package and their tests,
installs it, trims the sample engine with it, and runs the unit tests that need nothing of these.
Exit status: 0 (all passed), 1 (something failed).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import click
import yaml
from check_changes import find_imports

from megtrim.libs.util.process import Command, ProcessRunner

ROOT = Path(__file__).resolve().parent.parent
ABSENT = ("times", "lab", "hosting", "ship", "engines/megengine")
"""Folders of ``ci/megtrim``, and of the unit tests."""
_TESTED = ("core", "libs", "places", "engines", "sample_engine")
ASKING = (
    "core/cli/session/test_odd_trees.py",
    "core/cli/session/test_setup.py",
    "core/cli/session/test_trees.py",
    "core/cli/test_check.py",
    "core/cli/test_init.py",
    "core/cli/test_main.py",
    "core/cli/test_trim.py",
    "core/config/test_json_schema.py",
    "core/config/test_load.py",
    "core/config/test_references.py",
    "core/config/test_removed.py",
    "core/report/test_comment.py",
    "core/report/test_golden.py",
    "core/size/test_stage.py",
    "core/test_stages.py",
    "places/devices/test_device.py",
)
"""Tests that import nothing of it, but some of which name a verb, a key or an engine of a part."""
_COPIED = ("ci", "docker", "docs", "examples", "tests")
_FILES = ("LICENSE", "README.md", "pyproject.toml")
_LEFT = shutil.ignore_patterns("__pycache__", "build", "megtrim-out")
_MODEL = "tiny-mobile"
_LIMIT_S = 1800.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--no-tests", action="store_true", help="install and trim, no more")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        tree = place / "tree"
        copy_core(ROOT, tree)
        site = place / "site"
        passed = _install(tree, site) and _trim(site, place / "project")
        if passed and not options.no_tests:
            passed = _test(tree, site)
    return 0 if passed else 1


def copy_core(root: Path, tree: Path) -> None:
    for name in _COPIED:
        shutil.copytree(root / name, tree / name, symlinks=True, ignore=_LEFT)
    for name in _FILES:
        shutil.copy(root / name, tree / name)
    for name in ABSENT:
        shutil.rmtree(tree / "ci/megtrim" / name)
        shutil.rmtree(tree / "tests/unit" / name)
    parts = tree / "ci/megtrim/parts.py"
    parts.write_text(without_absent(parts.read_text(encoding="utf-8")), encoding="utf-8")


def without_absent(parts: str) -> str:
    """Return the text of ``parts.py`` without the lines that name a place which is gone."""
    gone = tuple(f'"{name.replace("/", ".")}.' for name in ABSENT)
    lines = parts.splitlines(keepends=True)
    return "".join(line for line in lines if not any(place in line for place in gone))


def list_tests(tree: Path) -> tuple[list[str], list[str]]:
    """Return the unit tests that need nothing that is gone, and the others."""
    modules = dict(_name_modules(tree))

    @cache
    def read_imports(name: str) -> frozenset[str]:
        path = modules[name]
        return frozenset(find_imports(path.read_text(encoding="utf-8")))

    alone: list[str] = []
    left: list[str] = []
    paths = (path for room in _TESTED for path in (tree / "tests/unit" / room).rglob("test_*.py"))
    for path in sorted(paths):
        name = ".".join(path.relative_to(tree / "tests").with_suffix("").parts)
        if _is_absent(name):
            continue
        seen = {name}
        queue = [name]
        while queue:
            new = read_imports(queue.pop()) - seen
            seen |= new
            queue += (each for each in new if each in modules)
        asks = str(path.relative_to(tree / "tests/unit")) in ASKING
        listed = left if asks or any(map(_is_absent, seen)) else alone
        listed.append(str(path.relative_to(tree)))
    return alone, left


def _name_modules(tree: Path) -> Iterator[tuple[str, Path]]:
    for folder in ("ci", "tests", "examples/sample-engine"):
        for path in (tree / folder).rglob("*.py"):
            parts = path.relative_to(tree / folder).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), path


def _is_absent(module: str) -> bool:
    rooms = (name.replace("/", ".") for name in ABSENT)
    names = (f"{top}.{room}" for room in rooms for top in ("megtrim", "unit"))
    return any(f"{module}.".startswith(f"{name}.") for name in names)


def _install(tree: Path, site: Path) -> bool:
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index")
    return _run(*pip, "--no-deps", "--no-build-isolation", "--target", str(site), str(tree))


def _trim(site: Path, project: Path) -> bool:
    shutil.copytree(ROOT / "examples/sample-engine", project, ignore=_LEFT)
    path = project / "megtrim.yaml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config["toolchain"] = {"kind": "host"}
    config["models"] = [model for model in config["models"] if model["name"] == _MODEL]
    config["budgets"] = []
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    words = ("-P", "-m", "megtrim", "trim", "--config", str(path), "--out", str(project / "out"))
    return _run(*words, env={"PYTHONPATH": str(site)})


def _test(tree: Path, site: Path) -> bool:
    alone, left = list_tests(tree)
    click.echo(f"core_alone: {len(left)} files of tests need what is gone: {', '.join(left)}")
    words = (
        "-P",
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "--rootdir",
        str(tree),
        "-c",
        str(tree / "pyproject.toml"),
    )
    path = os.pathsep.join((str(site), str(tree / "tests")))
    return _run(*words, *alone, cwd=tree, env={"PYTHONPATH": path})


def _run(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> bool:
    command = Command(
        argv=(sys.executable, *words),
        timeout_s=_LIMIT_S,
        cwd=cwd,
        env=dict(env or {}),
        merge_stderr=True,
    )
    done = ProcessRunner(os.environ).run(command)
    click.echo(done.stdout)
    return done.ok


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
