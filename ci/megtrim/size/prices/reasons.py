"""Why the largest things in a file stay, and what a few bytes more would buy back, as values.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from megtrim.elf.symbol_names import shorten
from megtrim.size.byte_table import tidy

_MOST_OFFERS = 20
_SHOWN_CALLERS = 3
_MOST_LINKS = 8
"""Of a chain that a report shows: its start, and what is next to the thing."""
LEFT_OUT_LINKS = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeThing:
    """One of the largest things in a file."""

    name: str
    """Readable; all instances of a template are one. In brackets: a section that nothing names."""
    component: str
    """Empty: neither a name nor a source shows it."""
    size_bytes: int
    retained_bytes: int
    """What would go with it: its own bytes, and those that only it leads to."""
    rule: str = ""
    """By which rule it stays; empty: only because something refers to it, or it is no function."""
    by: tuple[str, ...] = ()
    """The scenarios that ran it, or the patterns that name it."""
    root: str
    """Why the first of the chain stays, or the thing itself: ``the entry point``."""
    chain: tuple[str, ...] = ()
    """The shortest chain of references to the largest of its parts, which is the last; empty: none
    leads there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """Something that was left out and could be kept."""

    name: str
    component: str
    size_bytes: int
    """With all that it needs, without what those before it bring already."""
    reasons: tuple[str, ...]
    """Who needs it, or refers to it, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeReasons:
    """Of one file that ships."""

    artifact: str
    largest: tuple[LargeThing, ...]
    within_bytes: int
    """What all offers take, at most."""
    offers: tuple[Offer, ...] | None
    """Best first; None: not known."""


def iter_reasons(wanted_by: Sequence[str], callers: Sequence[str]) -> Iterator[str]:
    """Yield why something that was left out is worth keeping, in words.

    ``wanted_by``: what is known to need it; ``callers``: what stays and refers to it.
    """
    if wanted_by:
        yield f"needed by {', '.join(wanted_by)}"
    if callers:
        shown = ", ".join(tidy(shorten(each)) for each in callers[:_SHOWN_CALLERS])
        others = len(callers) - _SHOWN_CALLERS
        more = f" and {others} more" if others > 0 else ""
        yield f"{shown}{more} refer{'s' * (len(callers) == 1)} to it"


def iter_region_reasons(wanted_by: Sequence[str], kept_in_tag: int) -> Iterator[str]:
    """Yield the same of a region: ``kept_in_tag`` regions of its tag are kept."""
    yield from iter_reasons(wanted_by, ())
    if kept_in_tag:
        others = "other of its tag is" if kept_in_tag == 1 else "others of its tag are"
        yield f"{kept_in_tag} {others} kept"


def store_reasons(reasons: SizeReasons) -> SizeReasons:
    """Return reasons that are small enough to be stored: names of others may be of any length."""
    offers = reasons.offers
    return replace(
        reasons,
        largest=tuple(
            replace(each, name=tidy(each.name), chain=_abridge(each.chain))
            for each in reasons.largest
        ),
        offers=None
        if offers is None
        else tuple(replace(each, name=tidy(each.name)) for each in offers[:_MOST_OFFERS]),
    )


def _abridge(chain: tuple[str, ...]) -> tuple[str, ...]:
    names = tuple(tidy(shorten(each)) for each in chain)
    if len(names) <= _MOST_LINKS:
        return names
    half = _MOST_LINKS // 2
    return (*names[:half], LEFT_OUT_LINKS, *names[-half:])
