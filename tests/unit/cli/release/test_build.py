"""``megtrim release build``: a release only of what was proven."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from megtrim.release.archive import ReleaseFile, from_text
from unit.cli.support import Shell
from unit.trim.stages.support import open_session


def test_it_states_its_own_version(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provenance names what built it."""
    asked: list[tuple[str, bool]] = []

    def collect(_: Any, *, megtrim: str, draft: bool) -> tuple[ReleaseFile, ...]:
        asked.append((megtrim, draft))
        return (from_text("SHA256SUMS", "\n"),)

    monkeypatch.setattr(
        "megtrim.cli.release.export.run_chain",
        lambda *_, **__: (open_session(shell.folder)[0], [0]),
    )
    monkeypatch.setattr("megtrim.cli.release.build.collect_release", collect)
    answer = shell("release", "build", "camera-1.4")

    assert (answer.status, answer.out) == (0, "1 file in camera-1.4\n")
    assert shell("release", "build", "draft", "--draft").status == 0
    assert asked == [(version("megtrim"), False), (version("megtrim"), True)]


def test_a_trim_that_fails_is_not_released(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is collected at all."""
    monkeypatch.setattr(
        "megtrim.cli.release.export.run_chain",
        lambda *_, **__: (open_session(shell.folder)[0], [1]),
    )
    assert shell("release", "build", "camera-1.4").status == 1
    assert not (shell.folder / "camera-1.4").exists()
