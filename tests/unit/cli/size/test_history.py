"""``megtrim size history``: a table of commits, from files that runs stored."""

from __future__ import annotations

import json

from megtrim.build_spec import Origin
from megtrim.size.baseline import dump_sizes
from unit.cli.support import Shell


def store(shell: Shell, run: int, size_bytes: int) -> None:
    """Keep the sizes of a run as its artifact was unpacked."""
    origin = Origin(
        project="app",
        config="megtrim.yaml",
        commit=f"{run:040x}",
        committed_at=f"2026-11-0{run}T02:00:00Z",
    )
    folder = shell.folder / "runs" / str(run)
    folder.mkdir(parents=True)
    text = dump_sizes({("app", "reduced"): size_bytes}, origin=origin)
    (folder / "sizes.json").write_text(text, encoding="utf-8")


def test_each_commit_has_a_row(shell: Shell) -> None:
    """Oldest first, with what changed."""
    store(shell, 2, 3072)
    store(shell, 1, 2048)

    answer = shell("size", "history", "runs")

    assert answer.status == 0
    title, _, _, *rows = answer.out.splitlines()
    assert title == "app reduced"
    assert [row.split()[0] for row in rows] == ["2026-11-01", "2026-11-02"]
    assert rows[1].endswith("3 KiB  +1 KiB")
    data = json.loads(shell("size", "history", "runs", "--json").out)
    assert [each["growth_bytes"] for each in data["trends"][0]["points"]] == [None, 1024]


def test_a_folder_without_sizes_is_an_error(shell: Shell) -> None:
    """Most likely nothing was downloaded."""
    (shell.folder / "runs").mkdir()

    answer = shell("size", "history", "runs")

    assert answer.status == 2
    assert "runs: found no sizes.json in this folder, expected at least one" in answer.err
