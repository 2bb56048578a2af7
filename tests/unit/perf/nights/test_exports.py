"""Exports, held to what the readers of both tools demand.

github-action-benchmark, ``src/extract.ts``: a non-empty array of objects with ``name``, ``value``
and ``unit``, and the optional texts ``range`` and ``extra``. Bencher, ``lib/bencher_adapter`` and
``lib/bencher_valid``: an object of benchmarks by name (1 to 1,024 bytes, and a name that it does
not take for a UUID or a slug), each an object of measures, each with ``value`` and the optional
``lower_value`` and ``upper_value``; its measure ``latency`` is in nanoseconds.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from megtrim.experiments.contest import PerformanceStatus
from megtrim.experiments.experiment import TimeStage
from megtrim.perf.nights.history import ExportFormat, export_run
from megtrim.util.errors import InputError
from support.history_entries import SCENARIO, make_lost_row, make_row, make_run

RUN = make_run(
    0,
    [
        replace(
            make_row(40.0),
            times=(*make_row(900.0, stage=TimeStage.PREPARE).times, *make_row().times),
        ),
        make_lost_row(PerformanceStatus.SKIPPED, "needs CUDA", scenario="x"),
    ],
)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_IGNORED = ("_bencher_ignore", "BencherIgnore", "-bencher-ignore")


def test_the_action_reads_every_entry() -> None:
    """Numbers are numbers, texts are texts, and no other key is there."""
    entries = json.loads(export_run(RUN, ExportFormat.GITHUB_ACTION_BENCHMARK))

    assert isinstance(entries, list)
    assert [each["name"] for each in entries] == [
        f"{SCENARIO} reduced inference",
        f"{SCENARIO} reduced prepare",
    ]
    for each in entries:
        assert each.keys() == {"name", "unit", "value", "range", "extra"}
        assert isinstance(each["value"], float)
        assert all(isinstance(each[key], str) for key in ("name", "unit", "range", "extra"))
    assert (entries[0]["value"], entries[0]["unit"]) == (40.0, "ms")


def test_bencher_reads_every_benchmark() -> None:
    """Under a name that it keeps, with an interval around the value, in nanoseconds."""
    benchmarks = json.loads(export_run(RUN, ExportFormat.BENCHER))

    assert list(benchmarks) == [f"{SCENARIO} reduced inference", f"{SCENARIO} reduced prepare"]
    for name, measures in benchmarks.items():
        assert 0 < len(name.encode()) <= 1024
        assert _SLUG.fullmatch(name) is None
        assert not name.endswith(_IGNORED)
        assert measures.keys() == {"latency"}
        metric = measures["latency"]
        assert metric.keys() == {"value", "lower_value", "upper_value"}
        assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]
    assert benchmarks[f"{SCENARIO} reduced inference"]["latency"]["value"] == 40e6


def test_the_longest_name_still_fits_bencher() -> None:
    """Both parts of a name are bounded, whatever characters they have."""
    run = make_run(0, [make_row(scenario="語" * 100, contestant="語" * 100)])

    (name,) = json.loads(export_run(run, ExportFormat.BENCHER))
    assert len(name.encode()) <= 1024


@pytest.mark.parametrize("form", ExportFormat)
def test_a_run_without_times_is_refused(form: ExportFormat) -> None:
    """The action fails for an empty array, with a message that does not say why."""
    with pytest.raises(InputError, match="no row that was measured"):
        export_run(make_run(0, [make_lost_row(PerformanceStatus.FAILED, "device lost")]), form)


@pytest.mark.parametrize("form", ExportFormat)
def test_equal_runs_are_equal_bytes(form: ExportFormat) -> None:
    """Whatever the order of the rows."""
    turned = make_run(0, RUN.rows[::-1])

    assert export_run(turned, form) == export_run(RUN, form)
