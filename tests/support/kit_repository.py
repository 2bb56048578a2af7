"""The kit's repository as a team's machine sees it: real git, with a tag for each version."""

from __future__ import annotations

from pathlib import Path

from support.source_forge import SourceForge

KIT = "megtrim/kit"
KIT_SHA = "ef37b3d1bfdb27299b83ae293700fd4ffae1856c"
"""The commit of each version: equal content, people and days give equal commits."""


def make_kit(root: Path, *tags: str, name: str = KIT) -> str:
    """Make the kit's repository on a server in ``root``; return the server's URL."""
    forge = SourceForge(root)
    assert forge.commit("kit", {"README.md": "# The kit\n"}) == KIT_SHA
    work, bare = root / "work" / "kit", root / "server" / f"{name}.git"
    for number, tag in enumerate(tags):
        text = ("-a", "-m", "A version") if number % 2 else ()  # both forms of tags
        forge.git("-C", str(work), "tag", *text, tag)
    forge.git("clone", "--quiet", "--bare", str(work), str(bare))
    return (root / "server").as_uri()
