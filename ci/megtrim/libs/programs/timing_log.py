"""The times that a program logged of one process, in milliseconds."""

from dataclasses import dataclass, field

from megtrim.libs.util.errors import InputError


class DamagedLog(InputError):
    """A log that is cut, mixed with another, or damaged: none of its times count."""

    def __init__(self, source: str, line: int, found: str, expected: str) -> None:
        super().__init__(
            f"{source}:{line}: found {found}, expected {expected}",
            hint="the log is cut off, mixed or damaged: do not use its times",
        )


@dataclass(slots=True, kw_only=True)
class TimingLog:
    prepare_ms: list[float] = field(default_factory=list)
    """Up to 1.6 one; from 1.7 on one before each warm-up."""
    warmups_ms: list[float] = field(default_factory=list)
    iterations_ms: list[float] = field(default_factory=list)
