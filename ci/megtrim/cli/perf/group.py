"""``megtrim perf``: performance by experiments."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={"list": "megtrim.cli.perf.list:list_experiments"},
    epilog="""\b
Examples:
  megtrim perf list
  megtrim perf list --experiment nchw88 --json
""",
)
def perf() -> None:
    """Measure how fast models run, by experiments that have names."""
