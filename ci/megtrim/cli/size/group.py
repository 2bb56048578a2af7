"""``megtrim size``: the stage that measures artifacts, and verbs about the bytes of any file."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    alone="stage:size",
    members={
        "show": ("size.show:show_file", "Show what each byte of a program, library or archive is."),
        "diff": ("size.show:diff", "Show what grew and what shrank from file A to file B."),
        "history": (
            "size.history:history",
            "Print the size of each artifact at each commit, and what changed it most.",
        ),
        "why": (
            "size.why:why",
            "Show why THING is in the trimmed program, what it costs, and what would go with it.",
        ),
        "left-out": (
            "size.left_out:left_out",
            "Show what the trim left out of a program, with its bytes.",
        ),
        "prices": (
            "size.left_out:prices",
            "Show what each model, scenario, operator and function costs.",
        ),
    },
    epilog="""\b
Examples:
  megtrim size
  megtrim size --config examples/megengine-linux-arm64.yaml --engine ../MegEngine
  megtrim size show build/load_and_run --map build/load_and_run.map
  megtrim size diff before/load_and_run after/load_and_run
  megtrim size history --branch perf-history
  megtrim size prices --by model
""",
)
def size() -> None:
    """Measure the artifacts and compare them with their budgets.

    `show` and `diff` show what the bytes of any file are; they take none of the options, which are
    those of a call without a verb. `why`, `left-out` and `prices` ask a finished trim.
    """
