"""``megtrim size diff``: the changes between two files, which add up."""

from __future__ import annotations

import json

from unit.cli.support import Shell
from unit.elf.made_objects import Named, Part, object_file


def _write(shell: Shell, name: str, size: int) -> int:
    parts = (Part(name=".text", content=b"\1" * size),)
    symbols = (Named(name="_ZN3mgb3opr3Add3runEv", part=".text", size=size),)
    data = object_file(parts, symbols)
    (shell.folder / name).write_bytes(data)
    return len(data)


def test_what_grew_is_shown(shell: Shell) -> None:
    """By component, and by symbol with its component."""
    _write(shell, "a.o", 64)
    _write(shell, "b.o", 1088)

    lines = shell("size", "diff", "a.o", "b.o").out.splitlines()

    grown = [line.split() for line in lines if "mgb::opr::Add::run()" in line]
    assert grown == [["operators", "mgb::opr::Add::run()", "64", "1,088", "+1,024"]]
    assert any(line.split() == ["operators", "64", "1,088", "+1,024"] for line in lines)
    assert sum(line.lstrip().startswith("[all changes]") for line in lines) == 2


def test_changes_add_up_as_json(shell: Shell) -> None:
    """In both directions."""
    growth = _write(shell, "b.o", 1088) - _write(shell, "a.o", 64)

    for names, expected in ((("a.o", "b.o"), growth), (("b.o", "a.o"), -growth)):
        found = json.loads(shell("size", "diff", *names, "--json").out)
        for changes in found["changes_by"].values():
            total = sum(each["after_bytes"] - each["before_bytes"] for each in changes)
            assert total == expected


def test_the_second_file_is_named_in_its_error(shell: Shell) -> None:
    """Each may be the damaged one."""
    _write(shell, "a.o", 64)
    (shell.folder / "b.o").write_bytes(b"no program")

    answer = shell("size", "diff", "a.o", "b.o")

    assert answer.status == 2
    assert "b.o: neither an ELF file nor an archive" in answer.err
