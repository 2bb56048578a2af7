"""Foreign text made fit to be shown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.report.text import clean, command, one_line, path_in_project


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;5;196;1mred\x1b[K", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdevice\x1b\\after", "after"),
        ("\x1bMup", "up"),
        ("lone \x1b", "lone \ufffd"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("a\x00b\x07c\x7fd\x9be", "a\ufffdb\ufffdc\ufffdd\ufffde"),
        ("\ud800x\udfff", "\ufffdx\ufffd"),
        ("\ufdd0\ufffe\uffff\U0001fffe\U0010ffff", "\ufffd" * 5),
        ("safe\u202etxt.exe\u2066", "safe\ufffdtxt.exe\ufffd"),
        ("größe → 大きさ 🙂", "größe → 大きさ 🙂"),
    ],
)
def test_control_codes_go_and_letters_stay(text: str, expected: str) -> None:
    """Escape sequences vanish whole; a character that cannot be shown is replaced visibly."""
    assert clean(text, limit=1000) == expected


def test_of_a_long_text_the_start_and_the_end_are_kept() -> None:
    """The end of a log holds the cause, the start what was run."""
    text = "a" * 30 + "b" * 1000 + "c" * 70

    assert clean(text, limit=100) == (
        "a" * 25 + "\n… 1,000 characters left out …\n" + "b" * 5 + "c" * 70
    )
    assert clean("x" * 100, limit=100) == "x" * 100


def test_ten_megabytes_are_cut_before_they_are_cleaned() -> None:
    """A log of any size costs no time."""
    assert len(clean("\x1b[31m" * 2_000_000, limit=20_000)) < 20_100


def test_a_command_is_one_line_or_not_shown() -> None:
    """A part of a command does something else, and a line break may end what shows it."""
    shown = "megtrim verify m/s@c"

    assert command(shown) == shown
    for hostile in ("megtrim verify 'a\nb'", "a\x85b", "a\n", "\x1b[31ma", "a" * 2_001):
        assert command(hostile) == "(the command cannot be shown here: see verdict.json)"


def test_one_line_has_one_line() -> None:
    """Line breaks and runs of spaces become one space."""
    assert one_line("  a\n b\t\tc\r\nd ") == "a b c d"
    assert one_line("a" * 600).startswith("a" * 125 + " … 100 characters left out … ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("megtrim.yaml", "megtrim.yaml"),
        ("/home/me/app/megtrim.yaml", "home/me/app/megtrim.yaml"),
        ("../../etc/./passwd", "etc/passwd"),
        ("", "megtrim.yaml"),
        ("//", "megtrim.yaml"),
        ("a\nb.yaml", "a b.yaml"),
    ],
)
def test_a_path_stays_below_the_project(text: str, expected: str) -> None:
    """What annotates a line must be relative to the repository."""
    assert path_in_project(text) == expected


@given(st.text(st.characters(exclude_categories=[])))
def test_whatever_comes_in_xml_can_hold_what_goes_out(text: str) -> None:
    """No escape, no surrogate, no character that XML forbids; cleaning twice changes nothing."""
    shown = clean(text, limit=100_000)

    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", shown) is None
    assert clean(shown, limit=200_000) == shown
    shown.encode()
