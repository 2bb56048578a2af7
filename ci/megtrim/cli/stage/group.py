"""``megtrim stage``: the stages that people rarely run by themselves."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup
from megtrim.plan.graph import Stage

_STAGES = (
    *(Stage.BUILD, Stage.PROFILE, Stage.HEADER, Stage.REDUCE, Stage.FUNCTIONS),
    *(Stage.SWITCHES, Stage.VERDICT),
)


@click.group(
    cls=LazyGroup,
    members={each.value: f"megtrim.cli.stage.commands:{each}" for each in _STAGES},
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
