"""``megtrim size show``: tables that add up, for people and as JSON."""

import json

import pytest

from megtrim.cli.size.show import draw_table
from unit.cli.support import Shell
from unit.elf.made_objects import Named, Part, object_file
from unit.size.made_files import break_down_engine


@pytest.fixture
def size_bytes(shell: Shell) -> int:
    data, _ = break_down_engine()
    (shell.folder / "one.o").write_bytes(data)
    return len(data)


def test_the_bytes_of_a_file_are_shown(shell: Shell, size_bytes: int) -> None:
    answer = shell("size", "show", "one.o").expect(0)
    lines = answer.out.splitlines()
    assert lines[2].split()[:2] == ["file", f"{size_bytes:,}"]
    totals = [line for line in lines if line.startswith("[total]")]
    assert [f"{size_bytes:,}" in line for line in totals] == [True] * 3
    assert any(line.startswith("mgb::opr::Add<…>::run()") for line in lines)
    few = shell("size", "show", "one.o", "--by", "symbol", "--top", "1").out.splitlines()
    assert not any(line.startswith("component") for line in few)
    assert sum("others]" in line for line in few) == 1


def test_json_has_every_row(shell: Shell, size_bytes: int) -> None:
    found = json.loads(shell("size", "show", "one.o", "--json").out)

    assert found["sizes"]["file_bytes"] == size_bytes
    assert found["bytes_by"].keys() == {"section", "component", "symbol", "source"}
    assert {sum(each.values()) for each in found["bytes_by"].values()} == {size_bytes}


@pytest.mark.usefixtures("size_bytes")
def test_deflating_takes_time_so_it_is_asked_for(shell: Shell) -> None:
    assert "deflated" not in shell("size", "show", "one.o").out
    assert "stripped and deflated" in shell("size", "show", "one.o", "--deflate").out


def _write(shell: Shell, name: str, size: int) -> int:
    parts = (Part(name=".text", content=b"\1" * size),)
    symbols = (Named(name="_ZN3mgb3opr3Add3runEv", part=".text", size=size),)
    data = object_file(parts, symbols)
    (shell.folder / name).write_bytes(data)
    return len(data)


def test_what_grew_is_shown(shell: Shell) -> None:
    _write(shell, "a.o", 64)
    _write(shell, "b.o", 1088)

    lines = shell("size", "diff", "a.o", "b.o").out.splitlines()

    grown = [line.split() for line in lines if "mgb::opr::Add::run()" in line]
    assert grown == [["operators", "mgb::opr::Add::run()", "64", "1,088", "+1,024"]]
    assert any(line.split() == ["operators", "64", "1,088", "+1,024"] for line in lines)
    assert sum(line.lstrip().startswith("[all changes]") for line in lines) == 2


def test_changes_add_up_as_json(shell: Shell) -> None:
    growth = _write(shell, "b.o", 1088) - _write(shell, "a.o", 64)

    for names, expected in ((("a.o", "b.o"), growth), (("b.o", "a.o"), -growth)):
        found = json.loads(shell("size", "diff", *names, "--json").out)
        for changes in found["changes_by"].values():
            total = sum(each["after_bytes"] - each["before_bytes"] for each in changes)
            assert total == expected


def test_what_is_left_out_is_one_row() -> None:
    table = draw_table(
        ("letter", "bytes"),
        [("a", 5), ("b", 3), ("c", 2)],
        lambda row: (row[0], str(row[1])),
        top=1,
        whole="[total]",
        totals=lambda rows: (str(sum(size for _, size in rows)),),
    )

    assert table.splitlines() == [
        "letter      bytes",
        "----------  -----",
        "a               5",
        "[2 others]      5",
        "[total]        10",
    ]


def test_names_of_a_file_make_no_terminal_obey() -> None:
    table = draw_table(
        ("symbol", "bytes"),
        [("a\x1b[2Jb\nc", 1), ("d" * 9_000, 1)],
        lambda row: (row[0], str(row[1])),
        top=2,
        whole="[total]",
        totals=lambda rows: (str(len(rows)),),
    )

    lines = table.splitlines()
    assert len(lines) == 5
    assert lines[2].split() == ["ab", "c", "1"]
    assert all(line.isprintable() and len(line) < 1_000 for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("size show damaged.o", "damaged.o: a damaged ELF file"),
        ("size diff a.o text", "text: neither an ELF file nor an archive"),
        ("size why nowhere --file a.o", "a.o: an object, expected a program or shared library"),
        ("size", "megtrim.yaml"),
        ("size show gone", "gone"),
        ("size --json show file", "unexpected extra arguments (show file)"),
    ],
)
def test_what_cannot_be_measured_is_one_error(shell: Shell, words: str, said: str) -> None:
    _write(shell, "a.o", 64)
    (shell.folder / "damaged.o").write_bytes((shell.folder / "a.o").read_bytes()[:100])
    (shell.folder / "text").write_bytes(b"no program")

    answer = shell(*words.split()).expect(2, said)
    assert ("megtrim.yaml" in answer.err) is (words == "size")


def test_help_has_both_options_and_verbs(shell: Shell) -> None:
    answer = shell("size", "--help").expect(0)
    assert all(each in answer.out for each in ("--config", "--again", "show", "diff"))
