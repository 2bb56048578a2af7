"""``megtrim release``: folders that others can use, and check without a network."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup, Member


@click.group(
    cls=LazyGroup,
    members={
        "build": Member(
            "megtrim.cli.release.build:build",
            "Trim, and write a release: the export, its provenance, and the sha256 of every file.",
        ),
        "verify": Member(
            "megtrim.cli.release.verify:verify",
            "Check offline that a release is whole, unchanged and proven.",
        ),
    },
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release verify camera-1.4
""",
)
def release() -> None:
    """Build a release and verify it."""
