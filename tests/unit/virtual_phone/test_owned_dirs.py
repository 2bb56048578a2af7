import os
import time
from pathlib import Path

import pytest

from virtual_phone.owned_dirs import GRACE_S, hold, is_abandoned


def test_held_until_let_go(tmp_path: Path) -> None:
    """Looking does not take it; closing the descriptor, as the end of a process does, frees it."""
    lock = hold(tmp_path)

    assert (is_abandoned(tmp_path), is_abandoned(tmp_path)) == (False, False)
    assert [path.name for path in tmp_path.iterdir()] == ["lock"]
    os.close(lock)
    assert is_abandoned(tmp_path)


@pytest.mark.parametrize(
    ("age_s", "dead"), [(0.0, False), (GRACE_S - 5, False), (GRACE_S + 5, True)]
)
def test_one_that_no_one_held_yet(tmp_path: Path, age_s: float, dead: bool) -> None:
    then = time.time() - age_s
    os.utime(tmp_path, (then, then))

    assert is_abandoned(tmp_path) is dead


def test_one_that_is_gone(tmp_path: Path) -> None:
    assert not is_abandoned(tmp_path / "gone")


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    (tmp_path / "lock").symlink_to(tmp_path / "other")

    assert not is_abandoned(tmp_path)
