"""The sizes in a history: one file for each commit and configuration. Pure.

    sizes/2026/11/20261123T020000Z-1a2b3c4d5e6f-0123456789abcdef.json

An entry is what remains of a ``sizes.json`` (:mod:`megtrim.size.baseline`) after its artifact has
expired: the bytes of each file by variant and measure, and of its components, which are coarse
enough that ten years of commits stay small. It is of the commit alone, so a job that is repeated
writes the same file. Sizes are in bytes, times in UTC.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from megtrim.commit_digest import COMMIT_DIGEST
from megtrim.config.measure_names import Measure
from megtrim.errors import InputError
from megtrim.history_files.entries import (
    EntryKind,
    expect_line,
    expect_match,
    load_entry,
    name_entry,
    parse_time,
    place_entry,
)
from megtrim.size.budgets import Baseline
from megtrim.size.byte_table import SMALLER, ByteTable
from megtrim.size.measures import find_measure

VERSION = 1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSize:
    """What one file of one variant measures."""

    size_bytes: Annotated[int, Field(alias="bytes")]
    """Of the stripped file."""
    measures: Mapping[str, int]
    """Its other sizes, by measure (:mod:`~megtrim.config.measure_names`), as far as known."""
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
        """Return the bytes of a measure; None if the history does not say."""
        kind, _, name = measure.partition(" ")
        table = None
        if kind == Measure.COMPONENT:
            if not self._lists(name):
                return None
            parts = {each: {SMALLER: size_bytes} for each, size_bytes in self.components.items()}
            table = ByteTable(least_bytes=0, components=parts) if parts else None
        return find_measure(measure, self.size_bytes, self.measures or None, table)

    def _lists(self, component: str) -> bool:
        """Return whether a component would be there if the file had it."""
        coarse = component.count("/") < _DEEPEST
        return coarse and (component in self.components or SMALLER not in self.components)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitSizes:
    """The sizes of one commit under one configuration."""

    version: int = VERSION
    commit: str
    committed_at: str
    """Such as ``2026-11-23T02:00:00Z``."""
    config: str
    """Path of the configuration in the repository, with its toolchain if the file has several."""
    megtrim: str
    """The version of megtrim that measured; empty if it is not known."""
    run: int
    """The run of the workflow; 0 for a run by hand."""
    quick: bool
    """The sizes are those of a quick trim."""
    artifacts: Mapping[str, Mapping[str, FileSize]]
    """By artifact and variant."""

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
        """Return when the commit was made."""
        return parse_time("committed_at", self.committed_at)

    @property
    def id(self) -> str:
        """Return the name that no other content has."""
        return name_entry(self, self.time, self.commit)

    @property
    def path(self) -> str:
        """Return the path of its file, relative to the folder or branch of the history."""
        return place_entry(FOLDER, self.time, self.id)

    @property
    def subject(self) -> tuple[str, str, bool]:
        """Return what has one size at a time: a commit, its configuration, a quick trim or not."""
        return (self.commit, self.config, self.quick)


def parse_commit_sizes(text: str, *, source: str) -> CommitSizes:
    """Parse the text of an entry. Raises InputError naming ``source``, the line and the flaw."""
    return load_entry(CommitSizes, text, source=source, version=VERSION, hint=_HINT)


SIZE_FILES = EntryKind(
    folder=FOLDER,
    noun="commit",
    hint=_HINT,
    parse=parse_commit_sizes,
    largest_bytes=LARGEST_ENTRY_BYTES,
    most=MOST_ENTRIES,
)
"""Sizes, as a history holds them."""


def make_commit_sizes(stored: Baseline, *, shown: str, run: int = 0) -> CommitSizes:
    """Return what a history keeps of the sizes that a run of the workflow stored.

    ``shown`` names them in messages. Raises InputError if they have no place in a history: they say
    no commit, or they are of files that differ from it.
    """
    if not (stored.commit and stored.committed_at and stored.config):
        msg = f"{shown}: found sizes of no commit, expected the commit, its time and configuration"
        raise InputError(msg, hint="measure a configuration that is committed")
    if stored.changed:
        msg = f"{shown}: found files that differ from {stored.commit[:12]}, expected the commit's"
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
            commit=stored.commit,
            committed_at=stored.committed_at,
            config=stored.config,
            megtrim=stored.megtrim,
            run=run,
            quick=stored.quick,
            artifacts=artifacts,
        )
    except ValueError as error:
        msg = f"{shown}: {error}"
        raise InputError(msg, hint="expected the sizes.json that the size stage wrote") from None


def expect_sizes_of(entry: CommitSizes, *, commit: str, config: str) -> CommitSizes:
    """Return sizes if they are of a run's commit and configuration. Raises InputError."""
    for key, found, expected in (
        ("commit", entry.commit, commit),
        ("config", entry.config, config),
    ):
        if found != expected:
            msg = f"sizes.json: {key}: found {found[:80]!r}, expected {expected!r} of the run"
            raise InputError(msg, hint="name the artifact of this configuration's runs")
    return entry


def _coarsen(table: ByteTable) -> dict[str, int]:
    """Return the bytes of a table by the first parts of its components' names, by name."""
    totals: Counter[str] = Counter()
    for component, labels in table.components.items():
        totals["/".join(component.split("/")[:_DEEPEST])] += sum(labels.values())
    largest = dict(sorted(totals.items(), key=lambda each: (-each[1], each[0]))[:MOST_COMPONENTS])
    if left := totals.total() - sum(largest.values()):
        largest[SMALLER] = largest.get(SMALLER, 0) + left
    return dict(sorted(largest.items()))
