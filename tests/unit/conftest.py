"""A shell for the tests of the command line, and a core that stands alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.core.parts import Parts, hand_in
from megtrim.parts import PARTS
from unit.core.cli.support import Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def nothing_is_handed() -> Iterator[None]:
    """A core that no part hands anything."""
    hand_in(Parts())
    yield
    hand_in(PARTS)
