"""The keep set of now against the one that the team committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.errors import InputError, ProductFailure
from megtrim.midout.keepset import dump_keep_set
from megtrim.stages.committed import settle
from megtrim.stages.context import Context
from megtrim.store import Folder
from unit.stages.support import context, keep_set


def made(context: Context, *numbers: int) -> Folder:
    """Return a header folder whose keep set holds ``kern<N>`` for each number."""
    text = dump_keep_set(keep_set(*numbers))

    def produce(folder: Path) -> dict[str, str]:
        (folder / "keepset.json").write_text(text, encoding="utf-8")
        return {}

    return context.store.ensure("header", "keepset", {"n": str(numbers)}, produce)[0]


def committed(folder: Path) -> Path:
    return folder / "megtrim" / "keepset.json"


def test_the_first_keep_set_is_written(tmp_path: Path) -> None:
    """And said to be committed."""
    now, said = context(tmp_path)
    settle(now, made(now, 1, 2))

    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(keep_set(1, 2))
    assert f"wrote {committed(tmp_path)}: commit it" in said.getvalue()


def test_an_equal_keep_set_is_not_talked_about(tmp_path: Path) -> None:
    """Nor written."""
    now, _ = context(tmp_path)
    settle(now, made(now, 1, 2))
    again, said = context(tmp_path)
    settle(again, made(again, 1, 2))

    assert said.getvalue() == ""


def test_a_keep_set_that_grew_is_warned_of(tmp_path: Path) -> None:
    """The committed file is written by a person's word only."""
    now, _ = context(tmp_path)
    settle(now, made(now, 1))
    later, said = context(tmp_path)
    settle(later, made(later, 1, 2))

    assert "is not what was traced now; `megtrim header --accept`" in said.getvalue()
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(keep_set(1))

    accepted, _ = context(tmp_path, accept=True)
    settle(accepted, made(accepted, 1, 2))
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(keep_set(1, 2))


def test_a_trace_that_shrank_fails_until_it_is_accepted(tmp_path: Path) -> None:
    """The scenario and the lost regions are named, the first ten of them."""
    now, _ = context(tmp_path)
    settle(now, made(now, *range(13)))
    later, _ = context(tmp_path)

    with pytest.raises(ProductFailure) as caught:
        settle(later, made(later, 12))

    lost = ", ".join(f"kern<{number}>" for number in range(10))
    assert caught.value.message == (
        "a trace shrank against the committed keep set:\n"
        f"  m/s@any no longer runs {lost} and 2 more (shrunken trace)"
    )
    assert caught.value.hint == "if that is meant, accept it: megtrim header --accept"
    accepted, _ = context(tmp_path, accept=True)
    settle(accepted, made(accepted, 12))
    assert committed(tmp_path).read_text("utf-8") == dump_keep_set(keep_set(12))


@pytest.mark.parametrize("damage", ["{", "folder"])
def test_a_committed_file_that_is_none_is_bad_input(tmp_path: Path, damage: str) -> None:
    """Never overwritten without a word."""
    now, _ = context(tmp_path)
    path = committed(tmp_path)
    path.parent.mkdir()
    if damage == "folder":
        path.mkdir()
    else:
        path.write_text(damage, encoding="utf-8")

    with pytest.raises(InputError, match=str(path)):
        settle(now, made(now, 1))
    assert path.is_dir() or path.read_text(encoding="utf-8") == damage
