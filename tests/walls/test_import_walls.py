"""What may import what: the linter's contracts catch a planted import."""

from __future__ import annotations

import ast
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.process import Command, CompletedCommand, ProcessRunner

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "ci"
OF_MEGTRIM = {"megtrim.errors", "megtrim.process"}
"""What a program beside megtrim shares with it: one way to start programs and to fail."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages, with the contracts that they keep."""
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(SOURCES, folder / "ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder: Path) -> CompletedCommand:
    linter = str(Path(sys.executable).parent / "lint-imports")
    # Wide, or a contract's name is broken into two lines.
    env = {**os.environ, "PYTHONPATH": str(folder / "ci"), "COLUMNS": "200"}
    command = Command(argv=(linter, "--no-cache"), cwd=folder, timeout_s=120)
    return ProcessRunner(env).run(command)


@pytest.mark.parametrize(
    ("module", "planted", "contract"),
    [
        (
            "megtrim/devices/virtual_phone.py",
            "from virtual_phone import manager",
            "the virtual phone is a program to megtrim, started like any other",
        ),
        (
            "megtrim/verdict/model.py",
            "from megtrim.report import text",
            "the command line over the stages over the doers over the ground over the pure rooms",
        ),
        (
            "megtrim/devices/local.py",
            "from megtrim.engines import builder",
            "doers do not know each other",
        ),
        (
            "virtual_phone/phone.py",
            "from virtual_phone.faults import relay",
            "the virtual phone: the command line over the phone over what it is made of",
        ),
    ],
)
def test_a_planted_import_is_seen(copy: Path, module: str, planted: str, contract: str) -> None:
    """The linter names the contract that is broken."""
    path = copy / "ci" / module
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n{planted}\n", encoding="utf-8")
    try:
        outcome = lint(copy)
    finally:
        path.write_text(text, encoding="utf-8")

    assert outcome.rc == 1, outcome.stdout
    assert f"\n{contract} BROKEN\n" in outcome.stdout


def shared_imports(text: str) -> Iterator[str]:
    """Yield the modules of megtrim that a module's text imports."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names) if module == "megtrim":
                found = [f"megtrim.{alias.name}" for alias in names]
            case ast.ImportFrom(module=str(module)):
                found = [module]
            case _:
                found = []
        yield from (name for name in found if name.split(".")[0] == "megtrim")


def test_the_virtual_phone_shares_two_modules_with_megtrim() -> None:
    """Its image needs no more than Python, click and filelock."""
    texts = (path.read_text("utf-8") for path in (SOURCES / "virtual_phone").rglob("*.py"))

    assert {name for text in texts for name in shared_imports(text)} == OF_MEGTRIM


@pytest.mark.parametrize(
    "planted", ["import megtrim.store", "from megtrim import store", "from megtrim.store import x"]
)
def test_another_shared_module_is_seen(planted: str) -> None:
    """This wall can fall."""
    assert set(shared_imports(planted)) == {"megtrim.store"}
