"""``megtrim perf``: its verbs."""

import click

from megtrim.core.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "list": "times.cli.verbs:list_experiments",
        "run": "times.cli.verbs:run",
        "compare": "times.cli.verbs:compare",
        "history": "times.cli.verbs:history",
        "append": "times.cli.verbs:append",
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
