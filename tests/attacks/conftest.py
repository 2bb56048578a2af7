"""One arena for all attacks: it is built once, and one attempt at a time is made in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from attacks.arena import Arena


@pytest.fixture(scope="session")
def arena_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.getbasetemp()
    root = (base.parent if base.name.startswith("popen-") else base) / "arena"
    root.mkdir(exist_ok=True)
    return root


@pytest.fixture
def arena(arena_root: Path) -> Iterator[Arena]:
    """The arena, which is this test's alone; an attempt begins with a state to start from."""
    with FileLock(arena_root / "lock"):
        yield Arena(arena_root)
