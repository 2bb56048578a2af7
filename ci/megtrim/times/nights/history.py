"""The times in a history: one file a run, as :mod:`megtrim.libs.history.entries` names it."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import Field

from megtrim.core.timing.spec import PerformanceStatus, TimeStage
from megtrim.core.timing.times import Answer, RatioResult, Reference, StageTime
from megtrim.core.verdict.performance import PerformanceRow
from megtrim.libs.history.entries import (
    EntryKind,
    expect_line,
    expect_match,
    name_entry,
    parse_time,
    place_entry,
)
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST

VERSION = 2
FOLDER = "runs"
LARGEST_RUN_BYTES = 1024 * 1024
MOST_RUNS = 20_000
_MOST_ROWS = 5_000
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TimeKey = tuple[str, str, TimeStage, str]
_Measured: TypeAlias = "tuple[HistoryRun, PerformanceRow, StageTime | None]"


class MeasuredCommit(Value):
    sha: str
    parent: str
    """The first one; empty if it has none, or it is not known."""
    committed_at: str

    def __post_init__(self) -> None:
        expect_match(COMMIT_DIGEST, "sha", self.sha, "a commit")
        if self.parent:
            expect_match(COMMIT_DIGEST, "parent", self.parent, "a commit or nothing")
        parse_time("committed_at", self.committed_at)


class HistoryRun(Value):
    version: int = VERSION
    job: str
    commit: MeasuredCommit
    measured_at: str
    """``2026-11-23T02:00:00Z``."""
    device: str
    """Equal while it is the same machine, such as a digest of model and serial."""
    engine: str
    """sha256 of the engine's sources."""
    method: Annotated[int, Field(ge=1)]
    """Times of two versions are not compared."""
    rows: tuple[PerformanceRow, ...] = field(default=())

    def __post_init__(self) -> None:
        expect_line("job", self.job, may_be_empty=True)
        parse_time("measured_at", self.measured_at)
        expect_line("device", self.device)
        expect_match(_SHA256, "engine", self.engine, "a sha256")
        if len(self.rows) > _MOST_ROWS:
            msg = f"found {len(self.rows)} rows, expected at most {_MOST_ROWS}"
            raise ValueError(msg)
        for row in self.rows:
            _expect_row(row)
        keys = [(row.scenario, row.experiment) for row in self.rows]
        if len(set(keys)) != len(keys):
            again = next(key for key in keys if keys.count(key) > 1)
            msg = f"rows: found {' '.join(again)} twice, expected each row once"
            raise ValueError(msg)

    @property
    def time(self) -> datetime:
        return parse_time("measured_at", self.measured_at)

    @property
    def has_times(self) -> bool:
        """False: of a night in which its devices measured nothing."""
        return any(row.times for row in self.rows)

    @property
    def id(self) -> str:
        return name_entry(self, self.time, self.commit.sha)

    @property
    def path(self) -> str:
        return place_entry(FOLDER, self.time, self.id)


def _expect_row(row: PerformanceRow) -> None:
    for text in (row.scenario, row.experiment, row.cpu_class, row.device):
        expect_line("rows", text)
    ratios = (ratio.name for ratio in row.ratios)
    left_out = (each.reason for each in row.left_out)
    for text in (row.reason, row.reproduce, *row.conditions, *ratios, *left_out):
        expect_line("rows", text, may_be_empty=True)
    stages = {time.stage for time in row.times}
    if bool(row.times) is not row.status.has_times or len(stages) != len(row.times):
        found = f"{row.status} with {len(row.times)} times"
        msg = f"{row.scenario}: found {found}, expected one of each stage if it was measured"
        raise ValueError(msg)


RUN_FILES = EntryKind(
    kind=HistoryRun,
    version=VERSION,
    folder=FOLDER,
    noun="run",
    hint="expected a run as `megtrim perf append` writes it, unchanged",
    largest_bytes=LARGEST_RUN_BYTES,
    most=MOST_RUNS,
)


def compare_runs(
    before: Iterable[HistoryRun], after: Iterable[HistoryRun]
) -> tuple[PerformanceRow, ...]:
    """Return a row for each time, with both medians; where a side has several, its newest counts.

    A ratio's interval is that of MOVER (Donner and Zou 2012), on logarithms, for independent runs.
    """
    first = _find_newest(before)
    second = _find_newest(after)
    rows = []
    for key in sorted({*first, *second}):
        sides = [side[key] for side in (first, second) if key in side]
        only = "second" if key in second else "first"
        rows.append(_compare_newest(key, sides, only=only))
    return tuple(rows)


def _find_newest(runs: Iterable[HistoryRun]) -> dict[_TimeKey, _Measured]:
    newest: dict[_TimeKey, _Measured] = {}
    for run in sorted(runs, key=lambda each: each.id):
        for row in run.rows:
            for time in row.bounded_times or (None,):
                stage = time.stage if time else TimeStage.find_compared(whole=row.whole)
                key = (row.scenario, row.experiment, stage, run.device)
                newest[key] = run, row, time
    return newest


def _compare_newest(key: _TimeKey, sides: Sequence[_Measured], *, only: str) -> PerformanceRow:
    run, first_row, before = sides[0]
    other, second_row, after = sides[-1]
    scenario, contestant, stage, _ = key
    row = partial(
        PerformanceRow,
        scenario=scenario,
        cpu_class=first_row.cpu_class,
        experiment=contestant,
        whole=first_row.whole,
        device=first_row.device,
    )
    reason = ""
    if len(sides) == 1:
        reason = f"only in the {only}"
    elif run.method != other.method:
        reason = "measured in two ways, which are not compared"
    if reason or before is None or after is None:
        lost = first_row if before is None else second_row
        reason = reason or f"{lost.status}: {lost.reason or 'too few processes for an interval'}"
        return row(status=PerformanceStatus.SKIPPED, reason=f"{stage.label}: {reason}")
    lower, middle, upper = combine(before, after)
    ratio = RatioResult(
        against=Reference.BASE,
        name=run.id,
        stage=before.stage,
        ratio=middle,
        lower=lower,
        upper=upper,
        pairs=0,
        different=Answer.NO if lower <= 1 <= upper else Answer.YES,
        exceeds=Answer.INCONCLUSIVE,
    )
    return row(
        status=PerformanceStatus.INCONCLUSIVE,
        times=(before, after),
        ratios=(ratio,),
        conditions=("another engine",) if run.engine != other.engine else (),
    )


def combine(before: StageTime, after: StageTime) -> tuple[float, float, float]:
    ratio = math.log(after.median_ms / before.median_ms)
    above = [math.log((time.upper_ms or math.inf) / time.median_ms) for time in (before, after)]
    down = math.hypot(math.log(after.median_ms / after.lower_ms), above[0])
    up = math.hypot(above[1], math.log(before.median_ms / before.lower_ms))
    return math.exp(ratio - down), math.exp(ratio), math.exp(ratio + up)
