"""JSON of one entry a line, as git merges it."""

from __future__ import annotations

import json

import pytest

from megtrim.regions.json_lines import LineReader, dump_entries
from megtrim.util.errors import InputError

ENTRIES = (("version", 1), ("region a<1>", ["m/s@any"]), ("region b<2>", ["m/s@any"]))
TEXT = dump_entries(ENTRIES)


def reader(text: str) -> LineReader:
    return LineReader(text, "k.json", "write it again", ("trim", "--accept"))


def test_every_entry_has_a_line_that_can_be_dropped() -> None:
    """Also the last one: a closing entry follows it."""
    lines = TEXT.splitlines()

    assert json.loads(TEXT) == {**dict(ENTRIES), "": "end"}
    for number in range(1, len(lines) - 2):
        assert json.loads("\n".join(lines[:number] + lines[number + 1 :]))


def test_entries_come_back_by_kind() -> None:
    lines = TEXT.splitlines()
    merged = "\n".join([*lines[:2], lines[3], lines[2], *lines[2:]])

    kinds = reader(merged).kinds(("version", "region"))

    assert kinds["version"] == [("", 1)]
    assert [name for name, _ in kinds["region"]] == ["b<2>", "a<1>", "a<1>", "b<2>"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{\n", "k.json:2: not JSON"),
        ("[]", "k.json:1: expected an object"),
        ('{"version": NaN}', "k.json:1: not usable as JSON: NaN is not a JSON number"),
        (
            '{\n "version": 1,\n "other x": 2\n}',
            "k.json:3: unknown key 'other x', expected version",
        ),
        ("<<<<<<< a\n=======\n>>>>>>> b\n", "k.json:1: found an unresolved merge conflict"),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, found: str) -> None:
    with pytest.raises(InputError) as caught:
        reader(text).kinds(("version", "region"))
    assert caught.value.message.startswith(found)


def test_a_value_without_a_name_may_occur_twice_if_it_is_the_same() -> None:
    same = reader('{"version": 1, "version": 1}')
    assert same.single(same.kinds(("version",))["version"], "version") == 1

    other = reader('{"version": 1,\n "version": 2}')
    with pytest.raises(InputError, match="'version' occurs twice, with different values"):
        other.single(other.kinds(("version",))["version"], "version")
