"""A trace: the regions that one run of a profile build executed. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from megtrim.core.keep.region import Region
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value


class Trace(Value):
    regions: tuple[Region, ...]
    """Sorted and unique, at least one."""
    sha256: str


class TraceProblem(StrEnum):
    MISSING = "missing"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    STALE = "stale"
    SHRUNKEN = "shrunken"


class TraceFailure(ProductFailure):
    def __init__(
        self, problem: TraceProblem, message: str, *, hint: str, command: Sequence[str] = ()
    ) -> None:
        super().__init__(f"{message} ({problem} trace)", hint=hint, command=command)
        self.problem = problem
