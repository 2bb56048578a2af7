from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.util.errors import InputError
from megtrim.util.process import Command, ProcessRunner
from support.megtrim_cli import ROOT
from workflows.loaded import script

check_changes = script("check_changes")
WALLS = {f"tests/walls/test_{wall}.py" for wall in check_changes.WALLS}


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        ("tests/unit/chain/test_store.py", {"tests/unit/chain/test_store.py"}),
        ("ci/megtrim/no_such_room/module.py", set()),
        ("tests/integration/test_chain.py", set()),
        ("README.md", set()),
    ],
)
def test_a_file_calls_for_the_tests_that_mirror_it(changed: str, selected: set[str]) -> None:
    assert set(check_changes.select_tests([changed], ROOT)) == WALLS | selected


def test_a_module_calls_for_the_tests_that_import_it(tmp_path: Path) -> None:
    for name, text in {
        "a/test_one.py": "from megtrim.elf import symbols",
        "b/test_two.py": "from megtrim.elf.symbols import read",
        "c/test_three.py": "from megtrim.elf import objects",
        "elf/test_symbols.py": "",
    }.items():
        path = tmp_path / "tests" / "unit" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    selected = check_changes.select_tests(["ci/megtrim/elf/symbols.py"], tmp_path)
    assert selected == tuple(
        f"tests/unit/{name}.py" for name in ("a/test_one", "b/test_two", "elf/test_symbols")
    )


def test_every_wall_is_there() -> None:
    """One that was renamed would else be left out without a message."""
    assert {wall for wall in WALLS if not (ROOT / wall).exists()} == set()


def test_changes_are_edits_and_new_files(tmp_path: Path, processes: ProcessRunner) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        assert processes.run(Command(argv=("git", *who, *words), cwd=tmp_path, timeout_s=60)).ok

    for name in ("same", "edited", ".gitignore"):
        (tmp_path / name).write_text("ignored\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "First")
    (tmp_path / "edited").write_text("edited\n", encoding="utf-8")
    for name in ("new", "ignored"):
        (tmp_path / name).touch()

    assert check_changes.find_changes("HEAD", tmp_path, processes) == ("edited", "new")
    with pytest.raises(InputError, match="elsewhere is not a commit of"):
        check_changes.find_changes("elsewhere", tmp_path, processes)
