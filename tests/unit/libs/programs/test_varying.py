import pytest

from megtrim.libs.programs.varying import check_pattern, mask
from megtrim.libs.util.errors import InputError


@pytest.mark.parametrize(
    ("patterns", "text", "masked"),
    [
        ((), "took 5 ms\n", "took 5 ms\n"),
        (("[0-9.]+ ms",), "took 5.25 ms, 3 ms\n", "took *, *\n"),
        ((r"\d{2}:\d{2}", "0x[0-9a-f]+"), "12:30 at 0xdeadbeef", "* at *"),
        (
            (r"pid=\d+",),
            "pid=1\npid=22\n",
            "pid=*\npid=22\n".replace("pid=*", "*").replace("pid=22", "*"),
        ),
        (("[^ ]+[.]so",), "load /lib/a.so ok", "load /lib/a.so ok"),
        ((r"/[a-z/]*/[.]so",), "no match", "no match"),
        ((r"[\]x]{1,2}",), "a]xb", "a*b"),
        ((".+",), "one\ntwo\n", "*\n*\n"),
    ],
)
def test_each_match_in_a_line_counts_as_equal(
    patterns: tuple[str, ...], text: str, masked: str
) -> None:
    assert mask(text.encode(), patterns).decode() == masked


def test_a_repeat_gives_nothing_back() -> None:
    """So the work is bounded: what ends a repeat is not of its letters."""
    assert mask(b"aaa!", ["a+a!"]) == b"aaa!"
    assert mask(b"aaa!", ["[^!]+!"]) == b"*"


def test_bytes_that_are_no_text_stay() -> None:
    line = b"\x00" * 5000 + b"12\n"

    assert mask(line, ["[0-9]+"]) == line


@pytest.mark.parametrize(
    "text",
    ["", "(a)", "a|b", "a**", "*", "[b-a]", "[", "a{2,1}", "\\b", "\\1", "a?", "$", "\u00e4"],
)
def test_what_is_no_such_pattern_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected a regular expression such as"):
        check_pattern(text)
