"""The list of what was left out of a program, as a release has it."""

from __future__ import annotations

import json

import pytest

from megtrim.crashes.left_out import LeftOutFunctions, dump_left_out, parse_left_out
from megtrim.util.errors import InputError
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"functions": ["b", "a"]}, "functions: found an entry out of order, or twice"),
        ({"functions": ["a", "a"]}, "functions: found an entry out of order, or twice"),
        ({"reachable": [3]}, "reachable: found 3, expected an index of functions"),
        ({"version": 2}, "version: found 2, expected 3"),
        ({"reachable": [1, 0]}, "reachable: found an entry out of order, or twice"),
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
