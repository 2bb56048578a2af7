"""What commits of a change say of its growth: the trailer ``Size-Budget: +12 KiB REASON``.

Growth up to the sum of them passes, in this one change; a largest size stays as it is. Text that
others wrote: what is not exactly that is reported and does not count. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from megtrim.config.units import format_growth, parse_bytes
from megtrim.errors import InputError

TRAILER = "Size-Budget"
EXPECTED = f"{TRAILER}: +12 KiB REASON"
_VALUE = re.compile(r"\+(?P<amount>[0-9][0-9.,_]*[ ]?[A-Za-z]+)[ ]+(?P<reason>\S.*)")
_SHOWN_COMMIT = 12
_LONGEST_REASON, _LONGEST_AUTHOR, _LONGEST_SHOWN = 200, 60, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTrailer:
    """One trailer as git read it: anyone may have written anything."""

    commit: str
    author: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgement:
    """Growth that one commit announces, with a reason."""

    growth_bytes: int
    reason: str
    author: str
    """Name of the commit's author, which whoever commits may choose."""
    commit: str

    def __str__(self) -> str:
        by = f"{self.author}, {self.commit[:_SHOWN_COMMIT]}"
        return f"{format_growth(self.growth_bytes)}: {self.reason} ({by})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledgements:
    """All that the commits since the baseline say."""

    allowed: bool = False
    """The configuration of the baseline's commit lets a trailer count."""
    entries: tuple[Acknowledgement, ...] = ()
    """Empty if they do not count."""
    warnings: tuple[str, ...] = ()

    @property
    def growth_bytes(self) -> int:
        """Return by how much the change may grow."""
        return sum(each.growth_bytes for each in self.entries)

    def describe(self) -> str:
        """Return each one with its reason, author and commit, as one line."""
        return "; ".join(map(str, self.entries))


def read_trailers(
    trailers: Iterable[CommitTrailer], *, allowed: bool, base: str
) -> Acknowledgements:
    """Return what trailers say, in their order; ``allowed`` is from the commit ``base``."""
    found: list[Acknowledgement] = []
    warnings: list[str] = []
    for each in trailers:
        commit, value = each.commit[:_SHOWN_COMMIT], _clean(each.value, _LONGEST_SHOWN)
        growth_bytes, reason = _parse(each.value)
        if not growth_bytes:
            warnings.append(f"commit {commit}: found {TRAILER}: {value}, expected {EXPECTED}")
        elif not allowed:
            why = f"the configuration at {base[:_SHOWN_COMMIT]} does not say `acknowledge: true`"
            warnings.append(f"commit {commit}: {TRAILER}: {value} does not count: {why}")
        else:
            author = _clean(each.author, _LONGEST_AUTHOR) or "no author"
            found.append(
                Acknowledgement(
                    growth_bytes=growth_bytes,
                    reason=_clean(reason, _LONGEST_REASON),
                    author=author,
                    commit=each.commit,
                )
            )
    return Acknowledgements(allowed=allowed, entries=tuple(found), warnings=tuple(warnings))


def _parse(value: str) -> tuple[int, str]:
    """Return the growth and the reason; 0 for anything but a positive size with one."""
    match = _VALUE.fullmatch(value.strip())
    if match is None:
        return 0, ""
    try:
        return parse_bytes(match["amount"]), match["reason"]
    except InputError:
        return 0, ""


def _clean(text: str, most: int) -> str:
    """Return text as one short line that no terminal obeys."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
