"""Writes a run as other tools read it.

Pure. Both forms follow the readers' own sources: ``src/extract.ts`` of github-action-benchmark
(tool ``customSmallerIsBetter``), and the JSON adapter of Bencher (Bencher Metric Format). Only
rows that were measured are written: neither form has a word for one that was not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum

from megtrim.perf.nights.history import HistoryRun, Times
from megtrim.util.errors import InputError

_NANOSECONDS = 1_000_000
"""Of a millisecond: Bencher's own measure ``latency`` is in nanoseconds."""


class ExportFormat(StrEnum):
    """A form that another tool reads."""

    GITHUB_ACTION_BENCHMARK = "github-action-benchmark"
    BENCHER = "bencher"


def export_run(run: HistoryRun, form: ExportFormat) -> str:
    """Return a run in a tool's form; equal runs are equal bytes.

    Raises InputError if nothing was measured: both tools refuse a document without a result.
    """
    if not any(row.times for row in run.rows):
        msg = f"{run.id}: found no row that was measured, expected one to export"
        raise InputError(msg, hint="choose another run: `megtrim perf history` lists them")
    return json.dumps(_WRITERS[form](run), indent=1, allow_nan=False) + "\n"


def _list_list_measured_rows(run: HistoryRun) -> Iterator[tuple[str, Times]]:
    """Yield the rows with their names, sorted. A name has spaces: Bencher takes it for no slug."""
    for row in sorted(run.rows, key=lambda each: each.key):
        if row.times is not None:
            yield " ".join(row.key), row.times


def _write_for_action(run: HistoryRun) -> object:
    return [
        {
            "name": name,
            "unit": "ms",
            "value": times.median_ms,
            "range": f"{times.low_ms:g} to {times.high_ms:g}",
            "extra": f"{times.processes} processes on {run.device.name}, {run.measured_at}",
        }
        for name, times in _list_list_measured_rows(run)
    ]


def _write_for_bencher(run: HistoryRun) -> object:
    return {
        name: {
            "latency": {
                "value": times.median_ms * _NANOSECONDS,
                "lower_value": times.low_ms * _NANOSECONDS,
                "upper_value": times.high_ms * _NANOSECONDS,
            }
        }
        for name, times in _list_list_measured_rows(run)
    }


_WRITERS: Mapping[ExportFormat, Callable[[HistoryRun], object]] = {
    ExportFormat.GITHUB_ACTION_BENCHMARK: _write_for_action,
    ExportFormat.BENCHER: _write_for_bencher,
}
