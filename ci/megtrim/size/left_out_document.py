"""What ``megtrim size left-out --json`` prints. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from megtrim.midout.region import Region
from megtrim.size.prices.region_bytes import RegionBytes, RegionRow
from megtrim.size.references.left_out import LeftOutRow
from megtrim.strict_json import SignedInt, encode

VERSION = 1


class LeftOutView(StrEnum):
    """What the rows are."""

    COMPONENT = "component"
    SYMBOL = "symbol"
    TAG = "tag"
    REGION = "region"


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutEntry:
    """One row; keys that do not belong to the view are not in the document."""

    component: str | None = None
    """Of a region: where most of its bytes are."""
    symbol: str | None = None
    """Readable, with the instances of a template as one."""
    tag: str | None = None
    """Empty: what regions of several tags share."""
    region: str | None = None
    """Empty: what several regions share."""
    meaning: str | None = None
    """The region with its numbers decoded to names; empty if none can be."""
    base_bytes: int
    kept_bytes: int
    left_out_bytes: SignedInt
    own_bytes: int | None = None
    """What stands in the regions that were left out, without what only they lead to."""
    regions: int | None = None
    kept_regions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnplacedRegion:
    """A region that was left out and whose bytes in the plain program are not known."""

    region: str
    meaning: str
    profile_bytes: int
    """What it has in the profile build."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFunction:
    """A function that could be kept, and what it takes."""

    name: str
    linkage_names: tuple[str, ...]
    component: str
    size_bytes: int
    needed_parts: int
    callers: tuple[str, ...]
    wanted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedRegion:
    """A region that could be kept, and what it takes."""

    region: str
    meaning: str
    component: str
    size_bytes: int
    kept_in_tag: int
    """How many regions of its tag are kept."""
    wanted_by: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutDocument:
    """The whole answer; without --within, ``within_bytes`` and additions are not in it."""

    version: int = VERSION
    program: str
    left_out: tuple[LeftOutEntry, ...] | None = None
    unplaced: tuple[UnplacedRegion, ...] | None = None
    """By tag or region only."""
    within_bytes: int | None = None
    additions: tuple[AddedFunction, ...] | None = None
    """Where functions are trimmed."""
    region_additions: tuple[AddedRegion, ...] | None = None
    """Where only regions are trimmed."""


def encode_sparsely(document: LeftOutDocument) -> dict[str, Any]:
    """Return the document for JSON, without the keys that the question leaves empty."""
    found: dict[str, Any] = encode(document)
    rows = found.get("left_out")
    if rows is not None:
        found["left_out"] = [_drop_missing(each) for each in rows]
    return _drop_missing(found)


def describe_rows(rows: Iterable[LeftOutRow]) -> tuple[LeftOutEntry, ...]:
    """Return rows by component or symbol."""
    return tuple(
        LeftOutEntry(
            component=each.component,
            symbol=each.symbol or None,
            base_bytes=each.base_bytes,
            kept_bytes=each.kept_bytes,
            left_out_bytes=each.left_out_bytes,
        )
        for each in rows
    )


def group_regions(
    found: RegionBytes, view: LeftOutView, meaning: Callable[[Region], str]
) -> tuple[LeftOutEntry, ...]:
    """Return rows by tag or region of which something was left out, the largest first.

    By tag, a row has what the tag keeps as well. What no region needs is in none.
    """
    groups: dict[tuple[str, Region | None], list[RegionRow]] = {}
    for row in found.rows:
        if row.tag or row.is_left_out:
            region = row.region if view is LeftOutView.REGION else None
            groups.setdefault((row.tag, region), []).append(row)
    entries = (_sum_up(key, rows, view, meaning) for key, rows in groups.items())
    wanted = (each for each in entries if each.left_out_bytes)
    return tuple(
        sorted(wanted, key=lambda each: (-each.left_out_bytes, each.tag or "", each.region or ""))
    )


def list_unplaced(
    found: RegionBytes, kept: Iterable[Region], meaning: Callable[[Region], str]
) -> tuple[UnplacedRegion, ...]:
    """Return the regions that were left out and have no place, the largest first."""
    there = frozenset(kept)
    rows = (
        UnplacedRegion(region=str(each), meaning=meaning(each), profile_bytes=size_bytes)
        for each, size_bytes in found.unplaced.items()
        if each not in there
    )
    return tuple(sorted(rows, key=lambda each: (-each.profile_bytes, each.region)))


def _sum_up(
    key: tuple[str, Region | None],
    rows: list[RegionRow],
    view: LeftOutView,
    meaning: Callable[[Region], str],
) -> LeftOutEntry:
    tag, region = key
    gone = [each for each in rows if each.is_left_out]
    base_bytes, left_out_bytes = (sum(each.size_bytes for each in some) for some in (rows, gone))
    by_region = view is LeftOutView.REGION
    largest = max(rows, key=lambda each: (each.size_bytes, each.component))
    return LeftOutEntry(
        component=largest.component if by_region else None,
        tag=tag,
        region=str(region or "") if by_region else None,
        meaning=(meaning(region) if region else "") if by_region else None,
        base_bytes=base_bytes,
        kept_bytes=base_bytes - left_out_bytes,
        left_out_bytes=left_out_bytes,
        own_bytes=sum(each.own_bytes for each in gone),
        regions=None if by_region else _count(rows),
        kept_regions=None if by_region else _count(each for each in rows if not each.is_left_out),
    )


def _count(rows: Iterable[RegionRow]) -> int:
    return len({each.region for each in rows if each.region})


def _drop_missing(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if value is not None}
