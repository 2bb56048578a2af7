"""Sections of reports that parts hand in: what each can say of its values in a verdict."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from megtrim.core.parts import find_parts, load
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.performance import Performance


class TimesTables(Protocol):
    PROPERTIES_LIMIT: int

    def text(self, performance: Performance, *, width: int = 0) -> str:
        """Return tables for a terminal of so many columns; 0: any."""

    def markdown_summary(self, performance: Performance) -> str:
        """Return what a comment says at first."""

    def markdown(self, performance: Performance) -> Iterator[str]:
        """Return what a comment folds."""

    def properties(self, performance: Performance) -> dict[str, str]:
        """Return properties of the test suite, of at most ``PROPERTIES_LIMIT`` bytes."""


def find_times(verdict: Verdict) -> tuple[TimesTables, Performance] | None:
    """Return what shows the times of a verdict, with them; None: nothing does, or it has none."""
    place = find_parts().times_tables
    if verdict.performance is None or not place:
        return None
    tables: TimesTables = load(place, "times")
    return tables, verdict.performance


def list_page_values(verdict: Verdict) -> Mapping[str, Any]:
    """Return what the page's template needs of times."""
    place = find_parts().times_page
    if verdict.performance is None or not place:
        return {"performance": None}
    describe: Callable[[Performance], Mapping[str, Any]] = load(place, "times")
    return describe(verdict.performance)
