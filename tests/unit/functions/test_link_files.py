from __future__ import annotations

import pytest

from megtrim.functions.observables import check_names, dump_lines, parse_lines
from megtrim.util.errors import InputError

LINK = "6e" * 32
TEXT = f"megtrim things v1\nlink {LINK}\none\ntwo three\n"


def parsed(data: bytes) -> tuple[str, list[str]]:
    return parse_lines(data, magic="megtrim things v1", source="f.txt", hint="make it again")


def test_lines_follow_what_the_file_is() -> None:
    assert dump_lines("megtrim things v1", LINK, ["one", "two three"]) == TEXT
    assert parsed(TEXT.encode()) == (LINK, ["one", "two three"])
    assert parsed(dump_lines("megtrim things v1", LINK, ()).encode()) == (LINK, [])


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (TEXT, "", 1, "found '', expected 'megtrim things v1'"),
        ("things", "functions", 1, "found 'megtrim functions v1', expected"),
        ("link 6e", "link 6E", 2, "expected the word link and a sha256"),
        (
            "three\n",
            "three",
            4,
            "the last line does not end with a newline: is the file truncated?",
        ),
    ],
)
def test_another_file_is_refused(old: str, new: str, line: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(TEXT.replace(old, new, 1).encode())

    assert caught.value.message.startswith(f"f.txt:{line}: {said}")
    assert caught.value.hint == "make it again"


def test_a_file_beyond_all_bounds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("megtrim.functions.observables.MAX_BYTES", len(TEXT) - 1)

    with pytest.raises(InputError, match=r"f\.txt:1: more than"):
        parsed(TEXT.encode())


@pytest.mark.parametrize("name", ["ma in", '"', "", "main\r"])
def test_names_are_those_of_a_linker(name: str) -> None:
    check_names(["_Z3foov", "f.cold"], source="f.txt", line=7, hint="")
    with pytest.raises(InputError, match=r"f\.txt:7: found .*, expected a linkage name"):
        check_names(["_Z3foov", name], source="f.txt", line=7, hint="")
