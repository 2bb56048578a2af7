import hashlib
import time
from contextlib import AbstractContextManager
from pathlib import Path

from megtrim.devices.device import Timeouts
from megtrim.devices.remote.run_directory import RemoteDirectory, open_directory
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.process import ProcessRunner
from unit.devices.folder_link import FolderLink
from unit.devices.machines import make_spec

TIMEOUTS = Timeouts().scale(0.5)


class FolderMachine:
    """A machine that is a folder, and programs for it."""

    def __init__(self, processes: ProcessRunner, tmp_path: Path) -> None:
        self.link = FolderLink(processes)
        self.root = tmp_path / "machine" / "megtrim"
        self._tmp_path = tmp_path

    def open(
        self, timeouts: Timeouts = TIMEOUTS, said: list[str] | None = None
    ) -> AbstractContextManager[RemoteDirectory]:
        spec = make_spec(self.root.parent, timeouts=timeouts, said=said)
        return open_directory(self.link, spec, root=str(self.root))

    def left(self) -> list[str]:
        return [path.name for path in (self.root / "runs").iterdir()]

    def program(self, text: str) -> Path:
        path = self._tmp_path / "program"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        return path

    def run(self, text: str, timeout_s: float = 20) -> ProgramRun:
        with self.open() as directory:
            directory.put(self.program(text), "p")
            return directory.run(("p",), timeout_s=timeout_s)


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def gone(pid: int) -> bool:
    """Tell whether it ended, even if its parent has not read its status yet."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
