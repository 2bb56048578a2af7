"""The errors of the YAML parser, in words for people who edit megtrim.yaml."""

from __future__ import annotations

import pytest
import yaml

from megtrim.config.yaml.messages import syntax_problem


def problem(text: str) -> str:
    """Return what is said of a text that the parser refuses."""
    with pytest.raises(yaml.YAMLError) as caught:
        list(yaml.parse(text, Loader=yaml.SafeLoader))
    return str(syntax_problem(caught.value, text, "f"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n\tb: 1\n", "f:2: found a tab, expected spaces, which YAML indents with"),
        ("a: @b\n", "f:1: found text that starts with @, expected quotes around such text"),
        (
            "a: b: c\n",
            (
                "f:1: found a ':' where no key can stand, "
                "expected one 'key: value' in a line, and quotes around text with ': ' in it"
            ),
        ),
        ("a: 1\nbcd\ne: 1\n", "f:3: found a line that is not 'key: value', expected 'key: value'"),
        (
            "a:\n  - b\n c: 1\n",
            (
                "f:3: found a line that is not at the column of its neighbours, "
                "expected entries of one list or mapping at the same column"
            ),
        ),
        (
            "a: [1, 2\nb: 3\n",
            "f:2: found a list or mapping that is not closed, expected ',' or ']'",
        ),
        ("a: {b: 1\n", "f:2: found a list or mapping that is not closed, expected ',' or '}'"),
        ("a: 'b\n", "f:2: found a quote that is not closed, expected the same quote at the end"),
        ('a: "\\q"\n', "f:1: found an unknown escape in double quotes, expected single quotes"),
        (
            "a: - b\n",
            "f:1: found a '-' where no list can stand, expected '- ' at the start of its own line",
        ),
        ("a\x00b", "f:1: found a character that no text file holds, expected plain text"),
        ("a: 1\nb: \x07\n", "f:2: found a character that no text file holds, expected plain text"),
    ],
)
def test_a_mistake_of_syntax_is_one_line(text: str, said: str) -> None:
    """With the place, and how it is written."""
    assert problem(text) == said


def test_an_unknown_message_is_quoted() -> None:
    """Cut, and as the parser's own."""
    error = yaml.MarkedYAMLError(problem="x" * 200)

    assert str(syntax_problem(error, "", "f")) == (
        f"f: found something that is not YAML ({'x' * 100}), expected YAML"
    )
    assert "(found duplicate anchor" in str(
        syntax_problem(yaml.MarkedYAMLError(context="found duplicate anchor"), "", "f")
    )
