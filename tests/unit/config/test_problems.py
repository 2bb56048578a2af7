import pytest

from megtrim.config.problems import MOST_SHOWN, ConfigError, Problem, closest, listing, show


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
        *((None, "nothing"), (True, "true"), (0, "the number 0"), (1.5, "the number 1.5")),
        *(("a'b", '"a\'b"'), ("x" * 60, repr("x" * 60)), ("x" * 61, repr("x" * 57 + "..."))),
        *(([1], "a list"), ([], "an empty list"), ({}, "a mapping (key: value)")),
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
