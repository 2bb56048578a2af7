"""``megtrim release``: its verbs."""

from __future__ import annotations

from unit.cli.support import Shell


def test_it_lists_its_verbs(shell: Shell) -> None:
    """In the order in which people need them."""
    out = shell("release", "--help").out

    assert out.index("  build ") < out.index("  prove ") < out.index("  verify ")
