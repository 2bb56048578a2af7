"""The lines of kept operators: written, merged by lines, read again, and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.models.operators import OperatorNeeds, merge, parse_operator_json
from megtrim.regions.json_lines import LineReader, dump_entries
from megtrim.regions.keepset import OPERATOR_KINDS, dump_operators, parse_operators, which
from megtrim.util.errors import InputError

STRIP_INFO = Path(__file__).parents[2] / "data" / "strip-info"


def recorded() -> OperatorNeeds:
    """Return what two recorded models need."""
    models = []
    for name in ("mobilenet-s.mge.json", "resnet18-s.mge.json"):
        (info,) = parse_operator_json((STRIP_INFO / name).read_bytes(), source=name)
        models.append((name.partition(".")[0], info))
    return merge(models)


def read(entries: list[tuple[str, object]]) -> OperatorNeeds | None:
    """Return what the entries of a file say."""
    reader = LineReader(dump_entries(entries), "k.json", "write it again")
    tables = reader.kinds(("scenario", "operators", *OPERATOR_KINDS))
    return parse_operators(reader, tables, version=2)


def refused(*entries: tuple[str, object]) -> str:
    with pytest.raises(InputError) as caught:
        read(list(entries))
    return caught.value.message


def test_recorded_needs_come_back() -> None:
    """Every operator, type, mode and hash of two recorded models, with its models."""
    needs = recorded()
    lines = [("operators", which(needs)), *dump_operators(needs)]

    assert len(needs.hashes) == 2
    assert read(lines) == needs
    assert read([*lines[:1], *reversed(lines[1:])]) == needs


def test_none_listed_means_that_all_are_kept() -> None:
    assert list(dump_operators(None)) == []
    assert read([("operators", which(None))]) is None
    assert refused(("operators", "all"), ("dtype Float32", ["m"])) == (
        "k.json:3: dtype Float32 is listed, but all are kept"
    )


def test_lines_of_both_sides_of_a_merge_are_joined() -> None:
    found = read(
        [
            ("operators", "listed"),
            ("operator Elemwise", ["b"]),
            ("operator Elemwise", ["b", "a"]),
            ("hash 7", ["b"]),
            ("hash 7", ["a"]),
        ]
    )

    assert found is not None
    assert found.operators == (("Elemwise", ("a", "b")),)
    assert found.hashes == ((7, ("a", "b")),)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("operator a;b", ["m"]), "k.json:3: found 'a;b', expected a C++ identifier"),
        (("elemwise_mode for", ["m"]), "k.json:3: found 'for', expected a C++ identifier"),
        (("dtype Int8", "m"), "k.json:3: expected a list of texts"),
        (("hash 7", True), "k.json:3: expected a list of texts"),
        (("hash 07", ["m"]), 'k.json:3: expected "hash NUMBER"'),
        (("hash 18446744073709551616", ["m"]), "k.json:3: expected a whole number from 0 to"),
    ],
)
def test_what_would_not_compile_is_refused(entry: tuple[str, object], message: str) -> None:
    assert refused(("operators", "listed"), entry).startswith(message)


def test_the_choice_is_one_of_two_words() -> None:
    assert refused(("operators", "some")) == "k.json:2: found 'some', expected 'all' or 'listed'"
