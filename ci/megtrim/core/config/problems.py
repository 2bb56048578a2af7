"""One mistake in megtrim.yaml, and the error that carries all of them."""

import difflib
from collections.abc import Iterable

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

KeyPath = tuple[str | int, ...]
"""Where a value is: ``("models", 0, "scenarios", 1, "args")``."""

MOST_SHOWN = 40

_LONGEST_FOUND = 60
_CLOSE = 0.61
"""Likeness that makes a suggestion: "arguments" means "args", "perf" does not mean "verify"."""


class Place(Value):
    file: str
    """Relative to the folder of megtrim.yaml."""
    line: int


class Problem(Value):
    """One mistake. ``line`` is 0 if there is none, ``key`` is empty for the whole file."""

    file: str
    line: int
    key: str
    found: str
    expected: str
    suggestion: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        key = f"{self.key}: " if self.key else ""
        suggestion = _suggestion(self.suggestion)
        return f"{place}: {key}found {self.found}, expected {self.expected}{suggestion}"


class ConfigError(InputError):
    def __init__(self, problems: Iterable[Problem], *, hint: str = "") -> None:
        # Scenarios that differ only in threads have one place, and their mistakes are one.
        unique = dict.fromkeys(problems)
        self.problems = tuple(sorted(unique, key=lambda each: (each.file, each.line)))
        lines = [str(problem) for problem in self.problems[:MOST_SHOWN]]
        if len(self.problems) > MOST_SHOWN:
            lines.append(f"and {len(self.problems) - MOST_SHOWN} more problems")
        super().__init__("\n".join(lines), hint=hint)


def show(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}"
        case str():
            return repr(
                value if len(value) <= _LONGEST_FOUND else value[: _LONGEST_FOUND - 3] + "..."
            )
        case list():
            return "a list" if value else "an empty list"
        case _:
            return "a mapping (key: value)"


def closest(wrong: object, candidates: Iterable[str]) -> str:
    text = str(wrong)[:_LONGEST_FOUND]
    matches = difflib.get_close_matches(text, sorted(candidates), n=1, cutoff=_CLOSE)
    return matches[0] if matches else ""


def suggest(wrong: object, candidates: Iterable[str]) -> str:
    """Return ``closest`` as the end of a message; empty if nothing is close."""
    return _suggestion(closest(wrong, candidates))


def _suggestion(meant: str) -> str:
    return f" (did you mean {meant}?)" if meant else ""


def listing(candidates: Iterable[str]) -> str:
    """Write the choices that there are: ``a, b or c``; the order is kept."""
    *most, last = candidates
    return f"{', '.join(most)} or {last}" if most else last
