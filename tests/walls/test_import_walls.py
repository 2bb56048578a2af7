from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from megtrim.util.process import Command, CompletedCommand, ProcessRunner

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "ci"


def lint_imports(root: Path) -> CompletedCommand:
    linter = str(Path(sys.executable).parent / "lint-imports")
    # Wide, or the name of a contract is broken into two lines.
    env = {**os.environ, "PYTHONPATH": str(root / "ci"), "COLUMNS": "200"}
    command = Command(argv=(linter, "--no-cache"), cwd=root, timeout_s=120, merge_stderr=True)
    return ProcessRunner(env).run(command)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(SOURCES, folder / "ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


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
            "from megtrim.report import html",
            "the command line over the features over the chain over the ground",
        ),
        (
            "megtrim/devices/local.py",
            "from megtrim.build.engines import builder",
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
    path = copy / "ci" / module
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n{planted}\n", encoding="utf-8")
    try:
        outcome = lint_imports(copy)
    finally:
        path.write_text(text, encoding="utf-8")

    assert outcome.rc == 1, outcome.stdout
    assert f"\n{contract} BROKEN" in outcome.stdout
