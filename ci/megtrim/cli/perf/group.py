"""``megtrim perf``: measuring times, and what is done with them."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "list": (
            "perf.list:list_experiments",
            "Print the experiments, with what each needs, runs, makes and changes.",
        ),
        "run": (
            "perf.run:run",
            "Measure experiments against the baseline, in interleaved pairs of processes.",
        ),
        "compare": ("perf.history:compare", "Print times of B over those of A, with intervals."),
        "history": (
            "perf.history:history",
            "Print each series of nights: its last time, and its changes, or whether it drifts.",
        ),
        "append": ("perf.history:append", "Add runs to the history, each as a file of its own."),
        "export": (
            "perf.history:export",
            "Print one run for github-action-benchmark (customSmallerIsBetter) or Bencher (JSON).",
        ),
        "tune": ("perf.tune:tune_flags", "Find the fastest flags of a scenario on its device."),
    },
    epilog="""\b
Examples:
  megtrim perf list --experiment nchw88
  megtrim perf run --experiment nchw88
  megtrim perf compare 1a2b3c4 5d6e7f8
  megtrim perf history --since 2026-10-01
""",
)
def perf() -> None:
    """Measure experiments, compare times, and keep their history."""
