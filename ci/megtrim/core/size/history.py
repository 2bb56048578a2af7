"""How sizes changed over the commits of a history, oldest first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from megtrim.core.build_spec import Variant
from megtrim.core.config.units import STRIPPED, Measure
from megtrim.core.size.breakdown import find_measure
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import SMALLER, ByteTable
from megtrim.libs.history.entries import (
    EntryKind,
    UnreadableFile,
    expect_line,
    expect_match,
    name_entry,
    parse_time,
    place_entry,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import SignedInt
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST

if TYPE_CHECKING:
    from megtrim.core.config.limits import Budget

ENTRY_VERSION = 1
FOLDER = "sizes"
LARGEST_ENTRY_BYTES = 1024 * 1024
MOST_ENTRIES = 50_000
"""Entries that are read at once: ten years of thirteen commits a day."""
MOST_COMPONENTS = 40
"""Of one file; the smallest others are one row."""
_DEEPEST = 2
"""Parts of a component's name: ``kernels/aarch64/conv_bias`` counts for ``kernels/aarch64``."""
_MOST_FILES = 1_000
_MOST_ROWS = 1_000
_HINT = "expected sizes as the workflow `size history` adds them, unchanged"


class FileSize(Value):
    size_bytes: Annotated[int, Field(alias="bytes")]
    measures: Mapping[str, int]
    """Its other sizes, by measure (:mod:`~megtrim.core.config.units`), as far as known."""
    components: Mapping[str, int]
    """They add up to the file; empty if they are not known."""

    def __post_init__(self) -> None:
        for key, rows in (("measures", self.measures), ("components", self.components)):
            if len(rows) > _MOST_ROWS:
                msg = f"{key}: found {len(rows):,} entries, expected at most {_MOST_ROWS:,}"
                raise ValueError(msg)
            for name in rows:
                expect_line(key, name)
        if self.components and sum(self.components.values()) != self.size_bytes:
            found = f"{sum(self.components.values()):,} bytes in all"
            msg = f"components: found {found}, expected the {self.size_bytes:,} of the file"
            raise ValueError(msg)

    def find(self, measure: str) -> int | None:
        """None if the history does not say."""
        kind, _, name = measure.partition(" ")
        table = None
        if kind == Measure.COMPONENT:
            coarse = name.count("/") < _DEEPEST
            if not coarse or (name not in self.components and SMALLER in self.components):
                return None
            parts = {each: {SMALLER: size_bytes} for each, size_bytes in self.components.items()}
            table = ByteTable(least_bytes=0, components=parts) if parts else None
        return find_measure(measure, self.size_bytes, self.measures or None, table)


class CommitSizes(Value):
    version: int = ENTRY_VERSION
    commit: str
    committed_at: str
    """Such as ``2026-11-23T02:00:00Z``."""
    config: str
    """Path of the configuration in the repository, with its toolchain if the file has several."""
    megtrim: str
    run: int
    """The run of the workflow; 0 for a run by hand."""
    quick: bool
    artifacts: Mapping[str, Mapping[str, FileSize]]

    def __post_init__(self) -> None:
        expect_match(COMMIT_DIGEST, "commit", self.commit, "a commit")
        parse_time("committed_at", self.committed_at)
        expect_line("config", self.config)
        expect_line("megtrim", self.megtrim, may_be_empty=True)
        files = sum(map(len, self.artifacts.values()))
        if not 0 < files <= _MOST_FILES or not all(self.artifacts.values()):
            msg = f"artifacts: found {files:,} files, expected 1 to {_MOST_FILES:,}"
            raise ValueError(msg)
        for artifact, variants in self.artifacts.items():
            for name in (artifact, *variants):
                expect_line("artifacts", name)

    @property
    def time(self) -> datetime:
        return parse_time("committed_at", self.committed_at)

    @property
    def id(self) -> str:
        return name_entry(self, self.time, self.commit)

    @property
    def path(self) -> str:
        return place_entry(FOLDER, self.time, self.id)

    @property
    def subject(self) -> tuple[str, str, bool]:
        return (self.commit, self.config, self.quick)


SIZE_FILES = EntryKind(
    kind=CommitSizes,
    version=ENTRY_VERSION,
    folder=FOLDER,
    noun="commit",
    hint=_HINT,
    largest_bytes=LARGEST_ENTRY_BYTES,
    most=MOST_ENTRIES,
)


def make_commit_sizes(stored: Baseline, *, shown: str, run: int = 0) -> CommitSizes:
    """Raise InputError if sizes have no place in a history: of no commit, or of other files."""
    origin = stored.origin
    if not (origin.commit and origin.committed_at and origin.config):
        msg = f"{shown}: found sizes without a commit, expected its name, time and configuration"
        raise InputError(msg, hint="measure a configuration that is committed")
    if origin.changed:
        msg = f"{shown}: found files that differ from commit {origin.commit[:12]}, expected none"
        raise InputError(msg, hint="commit the changes, and measure again")
    artifacts: dict[str, dict[str, FileSize]] = {}
    for (artifact, variant), size_bytes in sorted(stored.sizes.items()):
        key = (artifact, variant)
        artifacts.setdefault(artifact, {})[variant] = FileSize(
            size_bytes=size_bytes,
            measures=dict(sorted(stored.measured.get(key, {}).items())),
            components=_coarsen(stored.parts[key]) if key in stored.parts else {},
        )
    try:
        return CommitSizes(
            commit=origin.commit,
            committed_at=origin.committed_at,
            config=origin.config,
            megtrim=origin.megtrim,
            run=run,
            quick=stored.quick,
            artifacts=artifacts,
        )
    except ValueError as error:
        msg = f"{shown}: {error}"
        raise InputError(msg, hint="expected the sizes.json that the size stage wrote") from None


def expect_sizes_of(entry: CommitSizes, *, commit: str, config: str) -> CommitSizes:
    for key, found, expected in (
        ("commit", entry.commit, commit),
        ("config", entry.config, config),
    ):
        if found != expected:
            msg = f"sizes.json: {key}: found {found[:80]!r}, expected {expected!r} of the run"
            raise InputError(msg, hint="name the artifact of this configuration's runs")
    return entry


def _coarsen(table: ByteTable) -> dict[str, int]:
    totals: Counter[str] = Counter()
    for component, labels in table.components.items():
        totals["/".join(component.split("/")[:_DEEPEST])] += sum(labels.values())
    largest = dict(sorted(totals.items(), key=lambda each: (-each[1], each[0]))[:MOST_COMPONENTS])
    if left := totals.total() - sum(largest.values()):
        largest[SMALLER] = largest.get(SMALLER, 0) + left
    return dict(sorted(largest.items()))


VERSION = 1
_MOST_COMPONENTS = 3
_Files = dict[tuple[str, str], FileSize]


class ComponentGrowth(Value):
    component: str
    growth_bytes: SignedInt


class SizePoint(Value):
    commit: str
    committed_at: str
    megtrim: str
    size_bytes: int
    growth_bytes: SignedInt | None
    components: tuple[ComponentGrowth, ...]
    """What changed most since then, at most three; empty if one of both does not say."""


class SizeTrend(Value):
    config: str
    quick: bool
    artifact: str
    variant: str
    measure: str
    points: tuple[SizePoint, ...]
    max_bytes: int | None = None
    """The largest size that a budget allows; None: there is no such budget."""

    @property
    def left_bytes(self) -> int | None:
        return None if self.max_bytes is None else self.max_bytes - self.points[-1].size_bytes

    @property
    def growth_bytes(self) -> int:
        return self.points[-1].size_bytes - self.points[0].size_bytes

    def find_steps(self, most: int = 3) -> tuple[SizePoint, ...]:
        steps = [point for point in self.points if point.growth_bytes]
        steps.sort(key=lambda each: (-abs(each.growth_bytes or 0), each.committed_at, each.commit))
        return tuple(steps[:most])


class SizeHistory(Value):
    """What ``megtrim size history --json`` prints."""

    version: int = VERSION
    trends: tuple[SizeTrend, ...]
    unreadable: tuple[UnreadableFile, ...]


def make_trends(
    entries: Iterable[CommitSizes],
    *,
    variant: str = "",
    measure: str = STRIPPED,
    budgets: Mapping[str, Sequence[Budget]] | None = None,
) -> tuple[SizeTrend, ...]:
    """Quick trims have trends of their own; a commit counts once in each."""
    measured: dict[tuple[str, str, bool], tuple[CommitSizes, _Files]] = {}
    for entry in entries:
        _, files = measured.setdefault(entry.subject, (entry, {}))
        for artifact, variants in entry.artifacts.items():
            for name, file in variants.items():
                key = (artifact, name)
                # The larger size of each file: no entry can hide growth.
                if key not in files or file.size_bytes > files[key].size_bytes:
                    files[key] = file
    groups: dict[tuple[str, bool], list[tuple[CommitSizes, _Files]]] = {}
    for entry, files in sorted(
        measured.values(), key=lambda each: (each[0].committed_at, each[0].commit)
    ):
        groups.setdefault((entry.config, entry.quick), []).append((entry, files))
    trends = []
    for (config, quick), commits in sorted(groups.items()):
        limits = (budgets or {}).get(config, ())
        for key in sorted({key for _, files in commits for key in files}):
            points = tuple(_list_points(key, measure, commits))
            if not points or variant not in ("", key[1]):
                continue
            trend = SizeTrend(
                config=config,
                quick=quick,
                artifact=key[0],
                variant=key[1],
                measure=measure,
                points=points,
                max_bytes=_find_most(limits, commits[-1][1], key, measure),
            )
            trends.append(trend)
    return tuple(trends)


def _list_points(
    key: tuple[str, str], measure: str, commits: Sequence[tuple[CommitSizes, _Files]]
) -> Iterator[SizePoint]:
    former: tuple[int, FileSize] | None = None
    for entry, files in commits:
        file = files.get(key)
        size_bytes = None if file is None else file.find(measure)
        if file is None or size_bytes is None:
            continue
        yield SizePoint(
            commit=entry.commit,
            committed_at=entry.committed_at,
            megtrim=entry.megtrim,
            size_bytes=size_bytes,
            growth_bytes=None if former is None else size_bytes - former[0],
            components=() if former is None else _compare(former[1].components, file.components),
        )
        former = (size_bytes, file)


def _compare(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[ComponentGrowth, ...]:
    if not before or not after:
        return ()
    changes = {
        name: growth
        for name in {*before, *after}
        if (growth := after.get(name, 0) - before.get(name, 0))
    }
    largest = sorted(changes.items(), key=lambda each: (-abs(each[1]), each[0]))
    return tuple(
        ComponentGrowth(component=name, growth_bytes=growth)
        for name, growth in largest[:_MOST_COMPONENTS]
    )


def _find_most(
    budgets: Sequence[Budget], newest: _Files, key: tuple[str, str], measure: str
) -> int | None:
    plain = newest.get((key[0], str(Variant.PLAIN)))
    whole_bytes = None if plain is None else plain.find(measure)
    limits = (
        budget.max_size
        for budget in budgets
        if (budget.artifact, str(budget.variant), budget.measure) == (*key, measure)
    )
    found = (
        limit.limit_bytes(whole_bytes or 0)
        for limit in limits
        if limit is not None and not (limit.share and whole_bytes is None)
    )
    return min(found, default=None)
