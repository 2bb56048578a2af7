"""A runner takes some lines of a log for commands: text of others never becomes one."""

from __future__ import annotations

import pytest

from megtrim.github.log_text import one_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("all\n is\t well ", "all is well"),
        ("::error::no", ": :error: :no"),
        ("##[command]", "# #[command]"),
        ("a\x1b[31mb\u202ec", "a [31mb c"),
        ("", ""),
    ],
)
def test_it_is_one_line_and_no_command(text: str, shown: str) -> None:
    """Blanks are joined, what is not printable is a blank, commands fall apart."""
    assert one_line(text) == shown


def test_it_is_bounded() -> None:
    """What is left out shows as an ellipsis."""
    assert one_line("x" * 9, most=9) == "x" * 9
    assert one_line("x" * 10, most=9) == "x" * 8 + "…"
