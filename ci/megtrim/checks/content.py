"""Documents whose parts contradict each other. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from megtrim.checks.statuses import (
    ScenarioStatus,
)
from megtrim.util.errors import InputError
from megtrim.util.wording import count

Outcome: TypeAlias = Any
"""A :class:`~.outcome.ScenarioOutcome`, or its document with keys as attributes."""


class Contradiction(InputError):
    """A document contradicts itself, so no one knows which part is true."""


def expect_consistent(subject: str, outcome: Outcome, *, compared: bool = True) -> None:
    """Raise Contradiction for a result whose status is better than the rest of it.

    ``compared``: a pass must hold outputs, because it says that they are equal.
    """
    objections = list(_signs_of_failure(outcome))
    if outcome.status == ScenarioStatus.PASS and compared:
        objections += _signs_of_nothing(outcome.outputs)
    if objections and outcome.status in (ScenarioStatus.PASS, *UNKNOWN):
        msg = f"{subject}: its status is {outcome.status}, and {objections[0]}"
        raise Contradiction(msg)


def _signs_of_failure(outcome: Outcome) -> Iterator[str]:
    if outcome.missing_regions:
        yield f"it misses {count(len(outcome.missing_regions), 'region')}"
    if outcome.crash:
        yield "its program crashed"
    for output in outcome.outputs:
        if not output.equal:
            yield f"output {output.name} differs"


def _signs_of_nothing(outputs: Sequence[Any]) -> Iterator[str]:
    if not outputs:
        yield "it holds no output"
    for name, times in sorted(Counter(output.name for output in outputs).items()):
        if times > 1:
            yield f"output {name} stands there {times} times"
    for output in outputs:
        if output.size_bytes == 0:
            yield f"output {output.name} is empty"
        if output.largest_difference is None:
            yield f"output {output.name} could not be compared"


UNKNOWN = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
