"""``megtrim stage``: the stages that people rarely run by themselves."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup, Member


@click.group(
    cls=LazyGroup,
    members={
        "build": Member(
            "megtrim.cli.stage.commands:build",
            "Build the plain and the profile variant of the engine.",
        ),
        "profile": Member(
            "megtrim.cli.stage.commands:profile",
            "Run every scenario on the profile build and collect its trace.",
        ),
        "header": Member(
            "megtrim.cli.stage.commands:header",
            "Merge the traces and the operator JSON into the keep set and the header.",
        ),
        "reduce": Member(
            "megtrim.cli.stage.commands:reduce",
            "Build the engine with only what the keep set names.",
        ),
        "functions": Member(
            "megtrim.cli.stage.commands:functions",
            "Record which functions run, for trim.level: function.",
        ),
        "verdict": Member(
            "megtrim.cli.stage.commands:verdict",
            "Combine sizes, traps and parity into one verdict.",
        ),
    },
    epilog="""\b
Examples:
  megtrim stage build
  megtrim stage header --accept
""",
)
def stage() -> None:
    """Run one stage of a trim, and those that it depends on.

    `megtrim trim` runs them all. The stages `verify`, `size` and `report` are verbs of their own.
    """
