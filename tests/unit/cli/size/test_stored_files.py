"""Where ``sizes.json`` files of runs are looked for."""

from __future__ import annotations

from unit.cli.support import Shell


def test_a_folder_without_sizes_is_an_error(shell: Shell) -> None:
    """Most likely nothing was downloaded."""
    (shell.folder / "runs").mkdir()

    answer = shell("size", "history", "runs")

    assert answer.status == 2
    assert "runs: found no sizes.json in this folder, expected at least one" in answer.err
