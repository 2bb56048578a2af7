"""``megtrim ci``: what workflows call around a trim."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "gate": "megtrim.cli.ci.gate:gate",
        "evidence": "megtrim.cli.ci.evidence.group:evidence",
        "github": "megtrim.cli.ci.github.group:github",
        "schema": "megtrim.cli.ci.schema:schema",
    },
    epilog="""\b
Examples:
  megtrim ci gate megtrim-out/final
  megtrim ci github publish megtrim-out/final
""",
)
def ci() -> None:
    """Commands for workflows and other programs."""
