"""Sizes of commits, made up for tests of the history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from megtrim.history.entries import show_time
from megtrim.size.history import CommitSizes, FileSize

FIRST_DAY = datetime(2026, 11, 1, 2, 0, 0, tzinfo=UTC)


def make_file(size_bytes: int, **components: int) -> FileSize:
    """Return a file of which some components are known, and deflated to a half."""
    known = {**components, "other": size_bytes - sum(components.values())} if components else {}
    return FileSize(size_bytes=size_bytes, measures={"deflated": size_bytes // 2}, components=known)


def make_sizes(
    day: int,
    size_bytes: int,
    *,
    config: str = "megtrim.yaml",
    quick: bool = False,
    run: int = 0,
    **components: int,
) -> CommitSizes:
    files = {
        "plain": make_file(9 * size_bytes),
        "reduced": make_file(size_bytes, **components),
    }
    return CommitSizes(
        commit=f"{day:040x}",
        committed_at=show_time(FIRST_DAY + timedelta(days=day - 1)),
        config=config,
        megtrim="1.2.3",
        run=run,
        quick=quick,
        artifacts={"app": files},
    )
