from pathlib import Path

import pytest

from megtrim.util.process import ProcessRunner
from unit.devices.remote_rig import FolderMachine


@pytest.fixture
def machine(processes: ProcessRunner, tmp_path: Path) -> FolderMachine:
    return FolderMachine(processes, tmp_path)
