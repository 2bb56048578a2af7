"""The times in a history: one file a run, as :mod:`megtrim.history.entries` names it.

Pure. Times are in milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from megtrim.experiments.time_stage import TimeStage
from megtrim.history.entries import (
    EntryKind,
    expect_line,
    expect_match,
    load_entry,
    name_entry,
    parse_time,
    place_entry,
)
from megtrim.util.commit_digest import COMMIT_DIGEST
from megtrim.util.strict_json import dump

VERSION = 1
FOLDER = "runs"
LARGEST_RUN_BYTES = 1024 * 1024
MOST_RUNS = 20_000
"""Runs that are read at once: ten years of nights on five devices."""
_MOST_ROWS = 5_000
_MOST_PROGRAMS = 200
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HINT = "expected a run as `megtrim perf append` writes it, unchanged"

Milliseconds = Annotated[float, Field(ge=0, le=1e12)]


class RowStatus(StrEnum):
    """How one row of a run ended."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The figures of one row, over its processes."""

    processes: int
    """Processes whose samples count."""
    median_ms: Milliseconds
    low_ms: Milliseconds
    high_ms: Milliseconds
    """Ends of the interval of the median."""
    spread: Annotated[float, Field(ge=0, le=1e6)]
    """Between processes, as a share of the median."""

    def __post_init__(self) -> None:
        if not 0 < self.low_ms <= self.median_ms <= self.high_ms:
            found = f"{self.low_ms} to {self.high_ms}"
            msg = f"found the interval {found}, expected one above 0 around {self.median_ms}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Samples that were shown but not counted, by their reason."""

    reason: str
    samples: int

    def __post_init__(self) -> None:
        expect_line("reason", self.reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRow:
    """One scenario under one experiment or variant, and one stage of its time."""

    scenario: str
    """Its id, ``MODEL/SCENARIO@CLASS``."""
    contestant: str
    """The experiment, or the variant, such as ``reduced``."""
    stage: TimeStage
    status: RowStatus
    reason: str
    """Why it was skipped or how it failed; empty where it was measured."""
    times: Times | None
    left_out: tuple[LeftOut, ...]
    conditions: str
    """Heat, clocks, load and battery in one line; may be empty."""

    def __post_init__(self) -> None:
        expect_line("scenario", self.scenario)
        expect_line("contestant", self.contestant)
        expect_line("reason", self.reason, may_be_empty=self.status is RowStatus.MEASURED)
        expect_line("conditions", self.conditions, may_be_empty=True)
        if (self.times is not None) is not (self.status is RowStatus.MEASURED):
            msg = f"{self.scenario}: found {self.status}, expected times if it was measured only"
            raise ValueError(msg)

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what a row has in common with the same row of another run."""
        return (self.scenario, self.contestant, self.stage.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCommit:
    """The commit that was measured."""

    sha: str
    parent: str
    """Its first parent; empty if it has none, or it is not known."""
    committed_at: str

    def __post_init__(self) -> None:
        expect_match(COMMIT_DIGEST, "sha", self.sha, "a commit")
        if self.parent:
            expect_match(COMMIT_DIGEST, "parent", self.parent, "a commit or nothing")
        parse_time("committed_at", self.committed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDevice:
    """The machine that measured."""

    name: str
    identity: str
    """What stays the same while it is the same machine, such as a digest of model and serial."""
    cpu_class: Annotated[str, Field(alias="class")]

    def __post_init__(self) -> None:
        expect_line("name", self.name)
        expect_line("identity", self.identity)
        expect_line("class", self.cpu_class)


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """All that one run measured on one device."""

    version: int = VERSION
    job: str
    """The run of a workflow, such as ``123456/1``; empty for a run by hand."""
    commit: MeasuredCommit
    measured_at: str
    """``2026-11-23T02:00:00Z``."""
    device: MeasuredDevice
    engine: str
    """sha256 of the engine's sources."""
    programs: Mapping[str, str]
    """sha256 of each program, by its variant."""
    method: Annotated[int, Field(ge=1)]
    """Version of the way megtrim measures: times of two versions are not compared."""
    rows: tuple[HistoryRow, ...] = field(default=())

    def __post_init__(self) -> None:
        expect_line("job", self.job, may_be_empty=True)
        parse_time("measured_at", self.measured_at)
        expect_match(_SHA256, "engine", self.engine, "a sha256")
        if len(self.programs) > _MOST_PROGRAMS or len(self.rows) > _MOST_ROWS:
            found = f"{len(self.programs)} programs and {len(self.rows)} rows"
            msg = f"found {found}, expected at most {_MOST_PROGRAMS} and {_MOST_ROWS}"
            raise ValueError(msg)
        for name, digest in self.programs.items():
            expect_line("programs", name)
            expect_match(_SHA256, f"programs.{name}", digest, "a sha256")
        keys = [row.key for row in self.rows]
        if len(set(keys)) != len(keys):
            again = next(key for key in keys if keys.count(key) > 1)
            msg = f"rows: found {' '.join(again)} twice, expected each row once"
            raise ValueError(msg)

    @property
    def time(self) -> datetime:
        """Return when it was measured."""
        return parse_time("measured_at", self.measured_at)

    @property
    def id(self) -> str:
        """Return the name that no other content has."""
        return name_entry(self, self.time, self.commit.sha)

    @property
    def path(self) -> str:
        """Return the path of its file, relative to the folder or branch of the history."""
        return place_entry(FOLDER, self.time, self.id)


def dump_run(run: HistoryRun) -> str:
    """Return the file's text; equal runs are equal bytes."""
    return dump(run)


def parse_run(text: str, *, source: str) -> HistoryRun:
    """Parse the text of a run. Raises InputError naming ``source``, the line and what is wrong."""
    return load_entry(HistoryRun, text, source=source, version=VERSION, hint=_HINT)


RUN_FILES = EntryKind(
    folder=FOLDER,
    noun="run",
    hint=_HINT,
    parse=parse_run,
    largest_bytes=LARGEST_RUN_BYTES,
    most=MOST_RUNS,
)
"""Runs, as a history holds them."""
