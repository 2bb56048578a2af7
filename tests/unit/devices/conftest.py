from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.util.process import ProcessRunner
from unit.devices.folder_link import FolderLink


@pytest.fixture
def link(processes: ProcessRunner) -> FolderLink:
    return FolderLink(processes)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "machine" / "megtrim"


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        return path

    return write
