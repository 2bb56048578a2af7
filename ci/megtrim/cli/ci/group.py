"""``megtrim ci``: what workflows call around a trim."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "gate": (
            "ci.gate:gate",
            (
                "Exit with the status of the verdict in REPORT, or of a run that ended before a "
                "verdict."
            ),
        ),
        "evidence": (
            "ci.evidence.group:evidence",
            "Verify, trace or time on devices of other machines: pack, run, join.",
        ),
        "sources": ("ci.sources:sources", "Fetch what an engine is built from."),
        "github": ("ci.github.group:github", "Commands for jobs of GitHub Actions."),
        "schema": (
            "ci.schema:schema",
            "Print the JSON Schema of megtrim.yaml, or of a file that megtrim writes.",
        ),
    },
    epilog="""\b
Examples:
  megtrim ci gate megtrim-out/final
  megtrim ci github publish megtrim-out/final
""",
)
def ci() -> None:
    """Commands for workflows and other programs."""
