"""The history of times: one small JSON file a run, which nothing ever changes.

Pure. A file's name holds when, what and a digest of its own content, so two writers never write
one file with different content, and a file that was changed later is found out. Times are in
milliseconds, days and times of day in UTC.

    runs/2026/11/20261123T020000Z-1a2b3c4d5e6f-0123456789abcdef.json
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from megtrim.commit_digest import COMMIT_DIGEST
from megtrim.errors import InputError
from megtrim.perf.time_stage import TimeStage
from megtrim.strict_json import dump, load

VERSION = 1
FOLDER = "runs"
LARGEST_RUN_BYTES = 1024 * 1024
MOST_RUNS = 20_000
"""Runs that are read at once: ten years of nights on five devices."""
_MOST_ROWS = 5_000
_MOST_PROGRAMS = 200
_LONGEST_LINE = 300
_DIGEST_DIGITS = 16
_PATH = re.compile(
    r"runs/(?P<year>[0-9]{4})/(?P<month>[0-9]{2})/"
    r"(?P<id>(?P<day>[0-9]{8})T[0-9]{6}Z-[0-9a-f]{12}-[0-9a-f]{16})\.json",
    re.ASCII,
)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_HINT = "expected a run as `megtrim perf append` writes it, unchanged"
_NEWER = re.compile(r"version: found ([0-9]+), ")

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
        _expect_line("reason", self.reason)


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
        _expect_line("scenario", self.scenario)
        _expect_line("contestant", self.contestant)
        _expect_line("reason", self.reason, may_be_empty=self.status is RowStatus.MEASURED)
        _expect_line("conditions", self.conditions, may_be_empty=True)
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
        _expect(COMMIT_DIGEST, "sha", self.sha, "a commit")
        if self.parent:
            _expect(COMMIT_DIGEST, "parent", self.parent, "a commit or nothing")
        parse_time("committed_at", self.committed_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDevice:
    """The machine that measured."""

    name: str
    identity: str
    """What stays the same while it is the same machine, such as a digest of model and serial."""
    cpu_class: Annotated[str, Field(alias="class")]

    def __post_init__(self) -> None:
        _expect_line("name", self.name)
        _expect_line("identity", self.identity)
        _expect_line("class", self.cpu_class)


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
        _expect_line("job", self.job, may_be_empty=True)
        parse_time("measured_at", self.measured_at)
        _expect(_SHA256, "engine", self.engine, "a sha256")
        if len(self.programs) > _MOST_PROGRAMS or len(self.rows) > _MOST_ROWS:
            found = f"{len(self.programs)} programs and {len(self.rows)} rows"
            msg = f"found {found}, expected at most {_MOST_PROGRAMS} and {_MOST_ROWS}"
            raise ValueError(msg)
        for name, digest in self.programs.items():
            _expect_line("programs", name)
            _expect(_SHA256, f"programs.{name}", digest, "a sha256")
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
        digest = hashlib.sha256(dump_run(self).encode()).hexdigest()[:_DIGEST_DIGITS]
        return f"{self.time:%Y%m%dT%H%M%SZ}-{self.commit.sha[:12]}-{digest}"

    @property
    def path(self) -> str:
        """Return the path of its file, relative to the folder or branch of the history."""
        return f"{FOLDER}/{self.time:%Y/%m}/{self.id}.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableRun:
    """A file of the history that could not be read, and why."""

    path: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Every run that could be read, oldest first, and the files that could not."""

    runs: tuple[HistoryRun, ...]
    unreadable: tuple[UnreadableRun, ...] = ()


def dump_run(run: HistoryRun) -> str:
    """Return the file's text; equal runs are equal bytes."""
    return dump(run)


def parse_run(text: str, *, source: str) -> HistoryRun:
    """Parse the text of a run. Raises InputError naming ``source``, the line and what is wrong."""
    try:
        return load(HistoryRun, text, source=source, version=VERSION, hint=_HINT)
    except InputError as error:
        newer = _NEWER.search(error.message)
        if newer is None or int(newer[1]) <= VERSION:
            raise
        raise InputError(error.message, hint="a newer megtrim wrote it: update megtrim") from None


def parse_file(path: str, data: bytes) -> HistoryRun:
    """Parse a file of the history, whose ``path`` says which content it has. Raises InputError."""
    if len(data) > LARGEST_RUN_BYTES:
        msg = f"{path}: found {len(data):,} bytes, expected at most {LARGEST_RUN_BYTES:,}"
        raise InputError(msg, hint=_HINT)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        msg = f"{path}:{line}: found a byte that is not UTF-8, expected JSON"
        raise InputError(msg, hint=_HINT) from None
    run = parse_run(text, source=path)
    if run.path != path:
        msg = f"{path}:1: found a content whose name is {run.path}, expected it under its own name"
        raise InputError(msg, hint=_HINT)
    return run


def is_run_path(path: str) -> bool:
    """Return whether a path has the form of a run's; no such path leads out of its folder."""
    found = _PATH.fullmatch(path)
    return found is not None and found["day"].startswith(found["year"] + found["month"])


def select_paths(paths: Iterable[str], since: date | None = None) -> tuple[str, ...]:
    """Return the paths of runs that were measured on ``since`` or later, sorted.

    The names say when, so older files need not be read. Raises InputError if they are too many.
    """
    oldest = "" if since is None else f"{since:%Y%m%d}"
    found = sorted(
        path for path in paths if is_run_path(path) and path.rpartition("/")[2][:8] >= oldest
    )
    if len(found) > MOST_RUNS:
        msg = f"found {len(found):,} runs in the history, expected at most {MOST_RUNS:,}"
        raise InputError(msg, hint="name a first day: --since 2026-01-31")
    return tuple(found)


def collect(files: Iterable[tuple[str, bytes]]) -> History:
    """Parse files of the history; one that is broken costs itself alone."""
    runs: dict[str, HistoryRun] = {}
    unreadable: list[UnreadableRun] = []
    for path, data in files:
        try:
            runs[path] = parse_file(path, data)
        except InputError as error:
            unreadable.append(UnreadableRun(path=path, message=str(error)))
    return History(
        runs=tuple(runs[path] for path in sorted(runs, key=_name_of)),
        unreadable=tuple(sorted(unreadable, key=lambda each: each.path)),
    )


def parse_time(key: str, text: str) -> datetime:
    """Parse a time as the history writes it. Raises ValueError."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        found = None
    if found is None or show_time(found) != text:
        msg = f"{key}: found {text[:60]!r}, expected a time such as 2026-11-23T02:00:00Z"
        raise ValueError(msg)
    return found


def show_time(time: datetime) -> str:
    """Return a time as the history writes it; ``time`` has a time zone."""
    in_utc = time.astimezone(UTC)
    return f"{in_utc.year:04}-{in_utc:%m-%dT%H:%M:%SZ}"


def _name_of(path: str) -> str:
    return path.rpartition("/")[2]


def _expect(pattern: re.Pattern[str], key: str, text: str, expected: str) -> None:
    if pattern.fullmatch(text) is None:
        msg = f"{key}: found {text[:80]!r}, expected {expected}"
        raise ValueError(msg)


def _expect_line(key: str, text: str, *, may_be_empty: bool = False) -> None:
    if len(text) > _LONGEST_LINE or not text.isprintable() or not (text.strip() or may_be_empty):
        expected = f"one line of at most {_LONGEST_LINE} characters"
        msg = f"{key}: found {text[:60]!r}, expected {expected}"
        raise ValueError(msg)
