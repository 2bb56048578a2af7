"""``megtrim perf``: measuring times, and what is done with them."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "list": "megtrim.cli.perf.list:list_experiments",
        "run": "megtrim.cli.perf.run:run",
        "compare": "megtrim.cli.perf.compare:compare",
        "history": "megtrim.cli.perf.history:history",
        "append": "megtrim.cli.perf.append:append",
        "export": "megtrim.cli.perf.export:export",
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
