import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.render import markup
from megtrim.libs.render.scale import Scale, around, from_zero, round_values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two outputs differ", "two outputs differ"),
        ("@admin", "@<!-- -->admin"),
        ("me@mail.org", "me@<!-- -->mail.org"),
        ("fixes #12", "fixes #<!-- -->12"),
        ("GH-12 and gh-x", "GH<!-- -->-12 and gh-x"),
        ("https://a.b", "https:<!-- -->//a.b"),
        ("www.a.b", "www<!-- -->.a.b"),
        ("_www.a.b awww.a", r"\_www<!-- -->.a.b awww.a"),
        ("mailto:a", "mailto<!-- -->:a"),
        ("<img src=x>", "&#60;img src=x&#62;"),
        ("&lt;", "&#38;lt;"),
        ("$x$", "&#36;x&#36;"),
        ("a | b", r"a \| b"),
        ("`x` *y* _z_ ~w~", r"\`x\` \*y\* \_z\_ \~w\~"),
        ("![a](b) [c](d)", r"\!\[a\](b) \[c\](d)"),
        ("back\\slash", r"back\\slash"),
        ("1. first", r"1\. first"),
        ("12) first", r"12\) first"),
        ("1.5 MiB", "1.5 MiB"),
        ("at 2981d114c5d7", "at <code>2981d114c5d7</code>"),
        ("e" * 40, f"<code>{'e' * 40}</code>"),
        ("abcdef, 1,234,567, deadbeefs", "abcdef, 1,234,567, deadbeefs"),
        ("- item", r"\- item"),
        ("+ item", r"\+ item"),
        ("+16 KiB", "+16 KiB"),
        ("---", r"--\-"),
        ("two\nlines", "two lines"),
        ("\x1b[1mbold\x1b[0m", "bold"),
    ],
)
def test_a_sentence_is_inert(text: str, expected: str) -> None:
    assert markup.prose(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resnet18-s/default@any", "`resnet18-s/default@any`"),
        ("<b>", "`<b>`"),
        ("", ""),
        ("a|b", "<code>a&#124;b</code>"),
        ("`", "<code>&#96;</code>"),
        ("$`x`$", "<code>&#36;&#96;x&#96;&#36;</code>"),
        ("w|www.x.y", "<code>w&#124;www&#46;x&#46;y</code>"),
        ("\\a@b.c", "<code>&#92;a&#64;<!-- -->b&#46;c</code>"),
    ],
)
def test_code_is_one_line_that_a_table_can_hold(text: str, expected: str) -> None:
    assert markup.code(text) == expected


def test_a_block_cannot_be_closed_from_inside() -> None:
    assert markup.block("\na\n") == "```text\na\n```"
    assert markup.block("````\n</details>") == "`````text\n````\n</details>\n`````"


def test_long_texts_are_cut() -> None:
    """The end of a log holds the cause, the start what was run: both are kept."""
    assert markup.code("x" * 200) == "`" + "x" * 200 + "`"
    assert "… 1 characters left out …" in markup.code("x" * 201)
    assert markup.prose("x" * 500) == "x" * 500
    assert "… 1 characters left out …" in markup.prose("x" * 501)
    assert (
        markup.block("x" * 11, limit=10) == "```text\nxx\n… 1 characters left out …\nxxxxxxxx\n```"
    )
    assert markup.clean("a" * 30 + "b" * 1000 + "c" * 70, limit=100) == (
        "a" * 25 + "\n… 1,000 characters left out …\n" + "b" * 5 + "c" * 70
    )
    assert markup.clean("x" * 100, limit=100) == "x" * 100
    assert len(markup.clean("\x1b[31m" * 2_000_000, limit=20_000)) < 20_100
    assert markup.one_line("  a\n b\t\tc\r\nd ") == "a b c d"
    assert markup.one_line("a" * 600).startswith("a" * 125 + " … 100 characters left out … ")


def test_folds_and_tables() -> None:
    assert markup.fold("T", "B") == "<details><summary>T</summary>\n\nB\n\n</details>"
    assert markup.table(("a", "b>"), [("1", "2")]) == "| a | b |\n| --- | ---: |\n| 1 | 2 |"


def test_a_table_shows_a_hundred_rows_and_counts_the_rest() -> None:
    short = markup.bounded_table(("n",), range(100), lambda number: (str(number),))
    assert short == markup.table(("n",), [(str(number),) for number in range(100)])

    long = markup.bounded_table(("n",), range(1_101), lambda number: (str(99 // (100 - number)),))
    assert long.startswith("| n |\n| --- |\n| 0 |\n")
    assert long.endswith("\n| 99 |\n\n*1,001 more in the HTML report.*")


@given(st.text(st.characters(exclude_categories=[]), max_size=100))
def test_any_text_stays_inert(text: str) -> None:
    # What looks like the hash of a commit is written as code.
    line = re.sub(r"<code>([0-9a-f]+)</code>", r"\1", markup.prose(text))
    bare = re.sub(r"\\(.)", "", line.replace("<!-- -->", "\0"))

    assert re.search(r"[`*_{}\[\]~|<>$]", re.sub(r"&#[0-9]+;", "", bare)) is None
    assert re.search(r"[@#](?!\0)", re.sub(r"&#[0-9]+;", "", bare)) is None
    assert "\n" not in line
    assert "|" not in markup.code(text)
    read = unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", line.replace("<!-- -->", "")))
    assert read == markup.one_line(text)


@pytest.mark.parametrize(
    "address", ["", "javascript:alert(1)", "https://a.example", "https://a.example/x)[y](z", "/x"]
)
def test_only_a_plain_address_is_linked(address: str) -> None:
    assert markup.link("this", address) == ""
    assert (
        markup.link("this", "https://a.example:8443/x/1...2")
        == "[this](https://a.example:8443/x/1...2)"
    )


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
    assert markup.clean(text, limit=1000) == expected


def test_a_command_is_one_line_or_not_shown() -> None:
    """A part of a command does something else, and a line break may end what shows it."""
    shown = "megtrim verify m/s@c"

    assert markup.command(shown) == shown
    for hostile in ("megtrim verify 'a\nb'", "a\x85b", "a\n", "\x1b[31ma", "a" * 2_001):
        assert markup.command(hostile) == "(the command cannot be shown here: see verdict.json)"


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
    assert markup.path_in_project(text) == expected


@given(st.text(st.characters(exclude_categories=[])))
def test_whatever_comes_in_xml_can_hold_what_goes_out(text: str) -> None:
    shown = markup.clean(text, limit=100_000)

    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", shown) is None
    assert markup.clean(shown, limit=200_000) == shown
    shown.encode()


@given(st.floats(0, 2.0**62), st.floats(0, 2.0**62))
def test_a_scale_holds_its_values(one: float, other: float) -> None:
    scale = Scale(low=1.0, high=2.0)  # What is outside of it is at its end.
    assert (scale.x(0.0), scale.x(9.0), scale.y(9.0, 100.0)) == ("0.000%", "100.000%", "0.0")
    low, high = sorted((one, other))
    for scale in (around(low, high), from_zero(high)):
        assert scale.low < scale.high
        assert 0 <= scale.part(low) <= scale.part(high) <= 1
        assert len(round_values(scale, 5)) <= 6
        assert all(scale.low <= value * 1.0001 and value <= scale.high * 1.0001
                   for value in round_values(scale, 5))  # fmt: skip
