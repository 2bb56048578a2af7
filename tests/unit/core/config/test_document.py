from dataclasses import replace

import pytest

from megtrim.core.config.document import (
    DEEPEST,
    MOST_VALUES,
    MarkedDict,
    MarkedList,
    parse_document,
)
from megtrim.core.config.problems import (
    MOST_SHOWN,
    ConfigError,
    Problem,
    closest,
    listing,
    show,
)


def _value(text: str) -> object:
    return parse_document(f"key: {text}\n".encode(), file="f").data["key"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0", 0),
        ("999999999999999999", 999_999_999_999_999_999),
        ("1000000000000000000", "1000000000000000000"),
        ("1.5", 1.5),
        ("-0.25", -0.25),
        ("1.0e-3", 0.001),
        ("true", True),
        ("false", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("'12'", "12"),
        ('"true"', "true"),
        ("''", ""),
        ("yes", "yes"),
        ("on", "on"),
        ("True", "True"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("0x10", "0x10"),
        ("2026-01-31", "2026-01-31"),
        ("[1, a]", [1, "a"]),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ('{"<<": a}', {"<<": "a"}),
        ("|\n  two\n  lines", "two\nlines\n"),
    ],
)
def test_a_value_is_what_it_looks_like(text: str, value: object) -> None:
    read = _value(text)

    assert read == value
    assert type(read) in {type(value), MarkedDict, MarkedList}


def test_lines_are_those_of_keys_and_of_list_entries() -> None:
    document = parse_document(b"\na:\n  b:\n    - x\n    - c: y\n", file="f")

    whole = ("a", "b", 1, "c")
    assert [document.find_mark(whole[:depth]).line for depth in range(5)] == [2, 2, 3, 5, 5]
    assert document.find_mark(("a", "b", 0)).line == 4


def test_an_alias_has_the_lines_of_what_it_stands_for() -> None:
    document = parse_document(b"a: &x\n  b: 1\nc: *x\n", file="f")

    assert document.data == {"a": {"b": 1}, "c": {"b": 1}}
    assert [document.find_mark(path).line for path in (("c",), ("c", "b"))] == [3, 2]


def test_of_merged_mappings_the_first_counts_and_own_keys_win() -> None:
    text = b"a: &a {k: 1, l: 1}\nb: &b {k: 2, l: 2, m: 2}\n"
    text += b"c: {<<: [*a, *b], l: 3}\nd:\n  <<: *a\n  <<: *b\n"
    data = parse_document(text, file="f").data

    assert data["c"] == {"k": 1, "l": 3, "m": 2}
    assert data["d"] == {"k": 1, "l": 1, "m": 2}


def test_depth_and_the_number_of_values_are_bounded_with_aliases_counted() -> None:
    assert _value("[" * DEEPEST + "]" * DEEPEST) is not None
    assert DEEPEST == 24
    with pytest.raises(ConfigError, match=r"^f:1: found lists or mappings nested too deep"):
        _value("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1))
    assert MOST_VALUES == 20_000
    assert len(str(_value(f"[{'x,' * (MOST_VALUES - 2)}]"))) > MOST_VALUES
    with pytest.raises(ConfigError, match=r"^f:1: found more than 20000 values"):
        _value(f"[{'x,' * (MOST_VALUES - 1)}]")
    ten = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
    assert parse_document(f"{ten}b: [{'*a,' * 1998}]\n".encode(), file="f").value(("b", 1997, 8))
    with pytest.raises(ConfigError, match="aliases counted"):
        parse_document(f"{ten}b: [{'*a,' * 1999}]\n".encode(), file="f")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: ! 5\n", "f:1: found the tag '!', expected values without tags"),
        ("a: &a {<<: *a}\n", "f:1: found lists or mappings nested too deep, expected fewer levels"),
        ("a: &x 1\nb: &x 2\n", "f:2: found an anchor (&) with the name of another, "),
        (
            "a: - b\n",
            "f:1: found a '-' where there cannot be a list, expected '- ' at the start of its",
        ),
        ("%YAML 9.9\n---\na: 1\n", "f:1: found something that is not YAML (found incompatible"),
        ("[" * 100_000, "f:1: found lists or mappings nested too deep, expected fewer levels"),
        ("- " * 100_000, "f:1: found lists or mappings nested too deep, expected fewer levels"),
        ("[x, " * 9 + "x, " * 300_000, "f:1: found more than 20000 values, aliases counted"),
    ],
)
def test_what_no_configuration_needs_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_document(text.encode(), file="f")

    assert caught.value.message.startswith(said)


def test_a_key_twice_is_remembered_and_the_first_one_counts() -> None:
    document = parse_document(b"a: &a\n  b: 1\n  b: 2\nc: *a\nd: {<<: *a}\n", file="f")

    assert document.data == {"a": {"b": 1}, "c": {"b": 1}, "d": {"b": 1}}
    assert [str(each) for each in document.repeated] == [
        "f:3: a.b: found this key a second time (the first is on line 2), expected each key once"
    ]


@pytest.mark.parametrize("character", [r"\0", r"\x1b", r"\x7f", r"\ud800", r"\r"])
def test_control_characters_and_halves_of_characters_are_refused(character: str) -> None:
    with pytest.raises(ConfigError, match=r"^f:1: found a control character"):
        _value(f'"a{character}b"')


def test_other_scripts_are_text() -> None:
    assert _value('"模型\\u3000\\n\\té"') == "模型\u3000\n\té"


def test_other_items_stand_where_they_are_written() -> None:
    document = parse_document(b"a:\n- {x: 1}\n- {x: 2}\n- {x: 3, y: [4]}\nb: 5\n", file="f")
    data = document.data.replace_items("a", lambda item: [item] * (item["x"] - 1))
    left = replace(document, data=data)

    assert left.data == {"a": [{"x": 2}, {"x": 3, "y": [4]}, {"x": 3, "y": [4]}], "b": 5}
    assert [left.find_mark(("a", at, "x")).line for at in range(3)] == [3, 4, 4]
    assert left.find_mark(("a", 2, "y", 0)).line == 4
    keys = [left.problem(("a", at, "x"), "", "").key for at in (0, 2, 3)]
    assert keys == ["a[1].x", "a[2].x", "a[3].x"]
    assert [left.problem(("a", at, "x"), "", "").line for at in (2, 3)] == [4, 1]
    assert document.value(("a", 0)) == {"x": 1}


def problem(line: int = 3, key: str = "a.b", suggestion: str = "") -> Problem:
    return Problem(file="f", line=line, key=key, found="x", expected="y", suggestion=suggestion)


def test_a_problem_names_what_it_knows() -> None:
    assert str(problem(suggestion="z")) == "f:3: a.b: found x, expected y (did you mean z?)"
    assert str(problem(line=0, key="")) == "f: found x, expected y"


def test_problems_come_by_line_and_are_counted_where_there_are_too_many() -> None:
    error = ConfigError((problem(line) for line in range(MOST_SHOWN + 2, 0, -1)), hint="h")
    lines = error.message.splitlines()

    assert lines[0] == str(problem(1))
    assert lines[-1] == "and 2 more problems"
    assert len(lines) == MOST_SHOWN + 1
    assert len(error.problems) == MOST_SHOWN + 2
    assert error.hint == "h"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "nothing"),
        (True, "true"),
        (0, "the number 0"),
        (1.5, "the number 1.5"),
        ("a'b", '"a\'b"'),
        ("x" * 60, repr("x" * 60)),
        ("x" * 61, repr("x" * 57 + "...")),
        ([1], "a list"),
        ([], "an empty list"),
        ({}, "a mapping (key: value)"),
    ],
)
def test_a_value_is_described_in_a_few_words(value: object, shown: str) -> None:
    assert show(value) == shown


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [("arguments", "args"), ("perf", ""), ("ags", "args"), (3, ""), ("verifi", "verify")],
)
def test_a_suggestion_is_close(wrong: object, meant: str) -> None:
    assert closest(wrong, ["verify", "args"]) == meant


def test_choices_keep_their_order() -> None:
    assert listing(["b", "a", "c"]) == "b, a or c"
    assert listing(iter(["a"])) == "a"
