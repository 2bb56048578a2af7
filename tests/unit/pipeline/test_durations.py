"""What is remembered of former tasks: bounded, and never in the way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.pipeline.durations import DurationLog, open_durations
from megtrim.pipeline.results import RebuildRecord
from megtrim.plan.estimate import BuildSetting, PendingTask

SETTING = BuildSetting(engine="sample", toolchain="zig", jobs=2, cached=True)
PLAIN = PendingTask(task="build/plain", variant="plain", key="k")


def record(*, compiled: int = 49, from_cache: int | None = 0) -> RebuildRecord:
    return RebuildRecord(
        predicted=None, compiled=compiled, units=49, from_cache=from_cache, cpu_s=None, files=()
    )


def test_a_duration_is_found_by_the_next_run(tmp_path: Path) -> None:
    """Of the same engine, toolchain and number of compilers."""
    log = DurationLog(tmp_path / "new" / "d.json", replace(SETTING, cached=False))
    log.add(PLAIN, 7.0, rebuilt=record())

    found = DurationLog(tmp_path / "new" / "d.json", replace(SETTING, cached=False))
    assert str(found.estimate([PLAIN])) == "about 7 s, by former runs here"


def test_a_build_that_the_compiler_cache_has_is_known_as_one(tmp_path: Path) -> None:
    """By the build that left its objects there."""
    log = DurationLog(tmp_path / "d.json", SETTING)
    assert log.estimate_cached(PLAIN) is None

    log.add(PLAIN, 40.0, rebuilt=record(from_cache=0))
    log.add(PLAIN, 2.0, rebuilt=record(from_cache=49))
    assert log.estimate_cached(PLAIN) == 2.0


@pytest.mark.parametrize(
    ("cache", "rebuilt", "share", "cached"),
    [
        (True, None, 0.0, None),
        (True, record(compiled=49, from_cache=0), 1.0, 0.0),
        (True, record(compiled=49, from_cache=49), 1.0, 1.0),
        (True, record(compiled=7, from_cache=0), 1 / 7, 0.0),
        (True, record(compiled=0, from_cache=0), 0.0, 0.0),
        (True, record(compiled=49, from_cache=None), 1.0, 0.5),
        (False, record(compiled=49, from_cache=None), 1.0, None),
    ],
)
def test_what_a_build_compiled_is_remembered(
    tmp_path: Path, cache: bool, rebuilt: RebuildRecord | None, share: float, cached: float | None
) -> None:
    """All or a share, compiled or taken from the compiler cache."""
    log = DurationLog(tmp_path / "d.json", replace(SETTING, cached=cache))
    log.add(PLAIN, 20.0, rebuilt=rebuilt)

    (found,) = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["durations"]
    assert (found["share"], found["cached"]) == (pytest.approx(share), cached)


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    """The file stays small."""
    log = DurationLog(tmp_path / "d.json", SETTING)
    log.add(PLAIN, 1.0)
    text = (tmp_path / "d.json").read_text(encoding="utf-8")
    document = json.loads(text)
    document["durations"] *= 500
    (tmp_path / "d.json").write_text(json.dumps(document), encoding="utf-8")

    log.add(PLAIN, 2.0)

    kept = json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["durations"]
    assert len(kept) == 500
    assert kept[-1]["time_s"] == 2.0


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"version": 1, "durations": []}', "\0"])
def test_a_file_that_cannot_be_read_counts_as_none(tmp_path: Path, text: str) -> None:
    """It serves an estimate: no run fails for it."""
    (tmp_path / "d.json").write_text(text, encoding="utf-8")
    log = DurationLog(tmp_path / "d.json", replace(SETTING, cached=False))

    assert not log.estimate([PLAIN]).measured
    log.add(PLAIN, 3.0, rebuilt=record())
    assert log.estimate([PLAIN]).measured


def test_a_file_that_cannot_be_written_is_left_out(tmp_path: Path) -> None:
    """Nothing is remembered then."""
    (tmp_path / "file").touch()
    log = DurationLog(tmp_path / "file" / "d.json", SETTING)

    log.add(PLAIN, 3.0)

    assert not log.estimate([PLAIN]).measured


def test_they_lie_where_state_between_runs_does(tmp_path: Path) -> None:
    """Without a home there is none."""
    log = open_durations({"MEGTRIM_STATE": str(tmp_path)}, SETTING)
    assert log is not None
    log.add(PLAIN, 1.0)

    assert (tmp_path / "durations.json").is_file()
    assert open_durations({}, SETTING) is None
