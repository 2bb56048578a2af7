"""Which history a command means."""

from pathlib import Path

import pytest

from megtrim.cli.history_options import HistorySelector
from megtrim.history.folder import append_to_folder
from megtrim.perf.nights.history import RUN_FILES
from support.history_entries import make_run
from unit.cli.support import Shell


def test_a_folder_is_read_unless_a_branch_is_named(tmp_path: Path) -> None:
    selector = HistorySelector(folder=tmp_path, branch="", remote="origin", repository=tmp_path)

    assert selector.append([make_run()]) == str(tmp_path)
    assert selector.read(RUN_FILES).entries == (make_run(),)


def test_a_damaged_file_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = append_to_folder(tmp_path, [make_run(0), make_run(1)])
    (tmp_path / names[0]).write_text("{", encoding="utf-8")
    selector = HistorySelector(folder=tmp_path, branch="", remote="origin", repository=tmp_path)

    assert selector.read(RUN_FILES).entries == (make_run(1),)
    assert f"left out: {names[0]}:1:" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("perf", "history"), ("size", "history")])
def test_a_day_is_a_day(shell: Shell, verb: tuple[str, str]) -> None:
    shell(*verb, "--since", "yesterday").expect(2, "expected a day such as 2026-10-01")
