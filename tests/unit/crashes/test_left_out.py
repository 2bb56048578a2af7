"""The list of what was left out of a program, as a release has it."""

from __future__ import annotations

import json

import pytest

from megtrim.crashes import left_out
from megtrim.crashes.left_out import LeftOutFunctions, dump_left_out, parse_left_out
from megtrim.errors import InputError
from unit.crashes.made_programs import program

SHA256 = "5e" * 32


def test_what_is_written_is_read() -> None:
    """A lookup by the list is one by the link that it was made of."""
    made = program().left_out
    text = dump_left_out(made, program_sha256=SHA256)

    assert parse_left_out(text, source="s") == (made, SHA256)
    assert dump_left_out(made, program_sha256=SHA256) == text
    empty = dump_left_out(LeftOutFunctions(), program_sha256=SHA256)
    assert parse_left_out(empty, source="s") == (LeftOutFunctions(), SHA256)


def test_what_names_share_is_written_once() -> None:
    """Each has only what the one before it has not; other letters than ASCII stay what they are."""
    names = ("_ZN3mgb3opr3Add3runEv", "_ZN3mgb3opr3Add4makeEv", "_ZN3mgb3opré", "a", "ab")
    made = LeftOutFunctions(names=names, callers={"main": ("a",), "main2": ("a", "ab")})

    text = dump_left_out(made, program_sha256=SHA256)

    assert json.loads(text)["functions"] == [
        "0 _ZN3mgb3opr3Add3runEv",
        "15 4makeEv",
        "11 é",
        "0 a",
        "1 b",
    ]
    assert parse_left_out(text, source="s") == (made, SHA256)


def test_a_list_that_stands_for_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small one could otherwise fill the memory."""
    made = LeftOutFunctions(names=("a" * 50, "a" * 51))
    text = dump_left_out(made, program_sha256=SHA256)
    monkeypatch.setattr(left_out, "_MOST_LETTERS", 100)

    with pytest.raises(InputError, match="found more than 100 letters"):
        parse_left_out(text, source="s")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"functions": ["0 b", "0 a"]}, "functions: found an entry out of order, or twice"),
        ({"functions": ["0 a", "1 "]}, "functions: found an entry out of order, or twice"),
        ({"functions": ["0 a", "2 b"]}, "functions[1]: found '2 b', expected letters shared"),
        ({"functions": ["a"]}, "functions[0]: found 'a', expected letters shared"),
        ({"functions": ["-1 a"]}, "functions[0]: found '-1 a', expected letters shared"),
        ({"callers": [{"function": "f", "calls": []}]}, "callers[0]: found 'f', expected letters"),
        ({"reachable": [3]}, "reachable: found 3, expected an index of functions"),
        ({"calls": [[4096]]}, "calls[0]: found 1 numbers, expected an address and functions"),
        ({"calls": [[4096, 3]]}, "calls[0]: found 3, expected an index of functions"),
        ({"calls": [[8, 0], [4, 0]]}, "calls: found an entry out of order, or twice"),
        (
            {"callers": [{"function": "0 f", "calls": [7]}]},
            "callers[0].calls: found 7, expected an index of functions",
        ),
        ({"version": 1}, "version: found 1, expected 2"),
        ({"more": 1}, "more: found 1, expected no such key"),
        ({"reachable": [-1]}, "reachable[0]: found -1, expected 0 or more"),
    ],
)
def test_a_damaged_list(change: dict[str, object], message: str) -> None:
    """What refers to nothing, is out of order, or is of another version."""
    text = dump_left_out(program().left_out, program_sha256=SHA256)
    changed = json.dumps(json.loads(text) | change)

    with pytest.raises(InputError) as refused:
        parse_left_out(changed, source="symbols/app.left-out.json")
    assert message in str(refused.value)
    assert "symbols/app.left-out.json" in str(refused.value)
