"""The errors of the YAML parser, in words for people who edit megtrim.yaml.

Pure. The patterns are the messages of PyYAML's scanner and parser; a message that matches none of
them is quoted as it is.
"""

from __future__ import annotations

import re

import yaml

from megtrim.config.yaml.problems import Problem

_WORDING: tuple[tuple[str, str, str], ...] = (
    (r"found character '\\t'", "a tab", "spaces, which YAML indents with"),
    (
        r"found character '(.+)' that cannot start",
        "text that starts with {0}",
        "quotes around such text",
    ),
    (
        r"mapping values are not allowed",
        "a ':' where no key can stand",
        "one 'key: value' in a line, and quotes around text with ': ' in it",
    ),
    (r"could not find expected ':'", "a line that is not 'key: value'", "'key: value'"),
    (
        r"expected <block end>",
        "a line that is not at the column of its neighbours",
        "entries of one list or mapping at the same column",
    ),
    (
        r"expected '<document start>'",
        "text after the end of the mapping",
        "every key at the same column",
    ),
    (r"expected ',' or '(.)'", "a list or mapping that is not closed", "',' or '{0}'"),
    (r"unexpected end of stream", "a quote that is not closed", "the same quote at the end"),
    (r"found unknown escape character", "an unknown escape in double quotes", "single quotes"),
    (
        r"sequence entries are not allowed",
        "a '-' where no list can stand",
        "'- ' at the start of its own line",
    ),
)


def syntax_problem(error: Exception, text: str, file: str) -> Problem:
    """Return what is wrong with ``text``, from the parser's error."""
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        found, expected = _reword_problem(error.problem or error.context or "")
        return Problem(
            file=file,
            line=mark.line + 1 if mark else 0,
            key="",
            found=found,
            expected=expected,
        )
    line = 0
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
    return Problem(
        file=file,
        line=line,
        key="",
        found="a character that no text file holds",
        expected="plain text",
    )


def _reword_problem(problem: str) -> tuple[str, str]:
    for pattern, found, expected in _WORDING:
        if match := re.search(pattern, problem):
            return found.format(*match.groups()), expected.format(*match.groups())
    return f"something that is not YAML ({problem[:100]})", "YAML"
