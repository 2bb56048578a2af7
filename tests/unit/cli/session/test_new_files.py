"""Files that a command adds: none of another content is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.cli.session.new_files import find_missing
from megtrim.util.errors import InputError


def test_what_is_there_and_equal_is_not_written_again(tmp_path: Path) -> None:
    """So that a second run writes what the first one could not."""
    (tmp_path / "a").write_text("equal", encoding="utf-8")
    texts = {tmp_path / "a": "equal", tmp_path / "b": "new", tmp_path / "c": ""}

    assert find_missing(texts, hint="") == {tmp_path / "b": "new", tmp_path / "c": ""}


def test_what_is_there_and_differs_is_refused(tmp_path: Path) -> None:
    """It is someone's work."""
    (tmp_path / "b").write_text("mine", encoding="utf-8")

    with pytest.raises(InputError, match="b exists and differs") as caught:
        find_missing({tmp_path / "a": "new", tmp_path / "b": "new"}, hint="remove it")
    assert caught.value.hint == "remove it"
