"""scripts/check_changes.py: which tests a change calls for."""

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
        ("ci/megtrim/verdict/model.py", {"tests/unit/verdict"}),
        ("ci/megtrim/build/engines/cmake/driver.py", {"tests/unit/build/engines"}),
        ("ci/virtual_phone/faults/relay.py", {"tests/unit/virtual_phone"}),
        ("ci/megtrim/util/process.py", {"tests/unit/util/test_process.py"}),
        ("tests/unit/chain/test_store.py", {"tests/unit/chain/test_store.py"}),
        ("ci/megtrim/no_such_room/module.py", set()),
        ("tests/integration/test_chain.py", set()),
        ("README.md", set()),
    ],
)
def test_a_file_calls_for_the_tests_at_its_mirrored_path(changed: str, selected: set[str]) -> None:
    assert set(check_changes.select_tests([changed], ROOT)) == WALLS | selected


def test_a_file_within_a_selected_folder_is_not_run_twice() -> None:
    """Pytest would collect it once more."""
    changed = ["ci/megtrim/verdict/model.py", "tests/unit/verdict/test_model.py"]

    assert set(check_changes.select_tests(changed, ROOT)) == WALLS | {"tests/unit/verdict"}


def test_every_wall_is_there() -> None:
    """One that was renamed would else be left out without a message."""
    assert {wall for wall in WALLS if not (ROOT / wall).exists()} == set()


def test_changes_are_edits_and_new_files(tmp_path: Path, processes: ProcessRunner) -> None:
    """Those that git ignores are not."""

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
