"""``megtrim size show``: tables that add up, for people and as JSON."""

from __future__ import annotations

import json

from unit.cli.support import Shell
from unit.size.made_files import break_down_engine


def test_the_bytes_of_a_file_are_shown(shell: Shell) -> None:
    """By section, component and symbol, below the different sizes."""
    data, _ = break_down_engine()
    (shell.folder / "one.o").write_bytes(data)

    answer = shell("size", "show", "one.o")

    assert answer.status == 0
    lines = answer.out.splitlines()
    assert lines[2].split()[:2] == ["file", f"{len(data):,}"]
    assert sum(line.startswith("[total]") for line in lines) == 3
    assert all(f"{len(data):,}" in line for line in lines if line.startswith("[total]"))
    assert any(line.startswith("mgb::opr::Add<…>::run()") for line in lines)


def test_one_table_and_a_few_rows_may_be_asked_for(shell: Shell) -> None:
    """The others are one row."""
    data, _ = break_down_engine()
    (shell.folder / "one.o").write_bytes(data)

    lines = shell("size", "show", "one.o", "--by", "symbol", "--top", "1").out.splitlines()

    assert not any(line.startswith("component") for line in lines)
    assert sum("others]" in line for line in lines) == 1


def test_json_has_every_row(shell: Shell) -> None:
    """And every view adds up."""
    data, _ = break_down_engine()
    (shell.folder / "one.o").write_bytes(data)

    found = json.loads(shell("size", "show", "one.o", "--json").out)

    assert found["sizes"]["file_bytes"] == len(data)
    assert found["bytes_by"].keys() == {"section", "component", "symbol", "source"}
    assert {sum(each.values()) for each in found["bytes_by"].values()} == {len(data)}


def test_deflating_takes_time_so_it_is_asked_for(shell: Shell) -> None:
    """One more size."""
    (shell.folder / "one.o").write_bytes(break_down_engine()[0])

    assert "deflated" not in shell("size", "show", "one.o").out
    assert "stripped and deflated" in shell("size", "show", "one.o", "--deflate").out


def test_a_damaged_file_is_refused(shell: Shell) -> None:
    """With one error that names it."""
    (shell.folder / "one.o").write_bytes(break_down_engine()[0][:100])

    answer = shell("size", "show", "one.o")

    assert answer.status == 2
    assert "one.o: a damaged ELF file" in answer.err
