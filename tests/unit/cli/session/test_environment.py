"""What is read of the environment, once."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.cli.session.environment import open_processes, read_git_ceilings


def test_a_hooks_repository_is_nobodys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git's own variables are dropped; how high it may look is a person's word."""
    monkeypatch.setenv("GIT_DIR", "/hook/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "/hook/.git/index")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", "/tmp")

    env = open_processes().env

    assert {name for name in env if name.startswith("GIT_")} == {"GIT_CEILING_DIRECTORIES"}


@pytest.mark.parametrize(
    ("value", "ceilings"),
    [("", ()), ("/a", (Path("/a"),)), ("/a::/b/c/", (Path("/a"), Path("/b/c")))],
)
def test_ceilings(monkeypatch: pytest.MonkeyPatch, value: str, ceilings: tuple[Path, ...]) -> None:
    """Folders, apart by colons; an empty one names nothing."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", value)

    assert read_git_ceilings() == ceilings
