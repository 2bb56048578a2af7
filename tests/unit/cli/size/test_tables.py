"""Tables of a bounded number of rows."""

from __future__ import annotations

from megtrim.cli.size.tables import draw_table


def test_what_is_left_out_is_one_row() -> None:
    """So a table adds up, however short it is."""
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
    """They are one line of plain text each, of a bounded width."""
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
