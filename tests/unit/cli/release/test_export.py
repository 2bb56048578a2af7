"""``megtrim export``: when it writes, and when it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from megtrim.packaging.files import from_text
from unit.cli.support import Answer, Shell
from unit.stages.support import open_session

Export = Callable[..., Answer]


@pytest.fixture
def export(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Return ``export`` of a chain that ends with these statuses."""

    def call(*arguments: str, codes: tuple[int, ...] = (0,)) -> Answer:
        def chain(*_: Any, **__: Any) -> Any:
            return open_session(shell.folder)[0], list(codes)

        monkeypatch.setattr("megtrim.cli.release.export.run_chain", chain)
        monkeypatch.setattr(
            "megtrim.cli.release.export.collect_export",
            lambda _: (from_text("README.md", "hello\n"),),
        )
        return shell("export", *arguments)

    return call


def test_it_says_where_the_files_are(export: Export, shell: Shell) -> None:
    """In the folder that was named."""
    answer = export("trimmed")

    assert (answer.status, answer.out) == (0, "1 files in trimmed\n")
    assert (shell.folder / "trimmed/README.md").read_text(encoding="utf-8") == "hello\n"


@pytest.mark.parametrize(("codes", "status"), [((0, 1), 1), ((0, 3), 3), ((1, 3), 1)])
def test_a_trim_that_fails_leaves_nothing(
    export: Export, shell: Shell, codes: tuple[int, ...], status: int
) -> None:
    """The status is the chain's."""
    assert export("trimmed", codes=codes).status == status
    assert not (shell.folder / "trimmed").exists()


def test_a_folder_with_files_is_refused_before_the_trim(export: Export, shell: Shell) -> None:
    """Not after an hour of it."""
    (shell.folder / "trimmed/mine").mkdir(parents=True)
    answer = export("trimmed", codes=(130,))

    assert answer.status == 2
    assert "trimmed exists already and is no empty folder" in answer.err
