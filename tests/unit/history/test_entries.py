"""Files of a history, of whatever kind; those of perf and size have tests of their content."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.history.entries import parse_time
from megtrim.perf.nights.history import RUN_FILES
from megtrim.size.history import SIZE_FILES
from megtrim.util.errors import InputError
from support.history_entries import make_run, make_sizes


@pytest.mark.parametrize("text", ["2026-1-4T02:00:00Z", "2026-01-04T02:00:00+00:00", "", "now"])
def test_only_one_way_to_write_a_time(text: str) -> None:
    """Names are sorted as texts."""
    with pytest.raises(ValueError, match="expected a time"):
        parse_time("measured_at", text)


def test_kinds_keep_apart() -> None:
    """A history holds several; each reads its own folder."""
    run, sizes = make_run(), make_sizes(1, 100)

    assert RUN_FILES.select([run.path, sizes.path]) == (run.path,)
    assert SIZE_FILES.select([run.path, sizes.path]) == (sizes.path,)


def test_too_many_files_ask_for_a_first_day() -> None:
    """They are not opened."""
    few = replace(SIZE_FILES, most=1)

    with pytest.raises(InputError, match="found 2 commits in a history, expected at most 1") as e:
        few.select([make_sizes(1, 1).path, make_sizes(2, 1).path])
    assert "--since" in e.value.hint
