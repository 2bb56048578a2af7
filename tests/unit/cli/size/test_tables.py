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
