"""``megtrim release``: its verbs."""

import click

from megtrim.core.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "aar": "ship.cli.release:aar",
        "build": "ship.cli.release:build",
        "patch": "ship.cli.patch:patch",
        "prove": "ship.cli.release:prove",
        "verify": "ship.cli.release:verify",
    },
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release verify camera-1.4.tar.gz
""",
)
def release() -> None:
    """Build a release and verify it."""
