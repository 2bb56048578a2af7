"""``megtrim release``: its verbs."""

import click

from megtrim.core.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "aar": "ship.cli.verbs:aar",
        "build": "ship.cli.verbs:build",
        "patch": "ship.cli.verbs:patch",
        "prove": "ship.cli.verbs:prove",
        "verify": "ship.cli.verbs:verify",
    },
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release verify camera-1.4.tar.gz
""",
)
def release() -> None:
    """Build a release and verify it."""
