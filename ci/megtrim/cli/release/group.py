"""``megtrim release``: folders that others can use, and check without a network."""

from __future__ import annotations

import click

from megtrim.cli.lazy_group import LazyGroup


@click.group(
    cls=LazyGroup,
    members={
        "aar": (
            "release.export:aar",
            "Write one AAR with the libraries of several RELEASES, each of another ABI.",
        ),
        "build": (
            "release.export:build",
            "Trim, and write a RELEASE: the export, what it is made of and from, and SHA256SUMS.",
        ),
        "prove": (
            "release.export:prove",
            "Write the release that DRAFT becomes by what devices found elsewhere.",
        ),
        "verify": (
            "release.verify:verify",
            "Check offline that the RELEASE, a folder or .tar.gz, is whole, unchanged and proven.",
        ),
    },
    epilog="""\b
Examples:
  megtrim release build camera-1.4
  megtrim release verify camera-1.4.tar.gz
""",
)
def release() -> None:
    """Build a release and verify it."""
