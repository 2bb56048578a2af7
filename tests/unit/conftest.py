"""A shell for the tests of the command line."""

from pathlib import Path

import pytest

from unit.core.cli.support import Shell


@pytest.fixture
def shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
