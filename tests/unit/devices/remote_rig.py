from __future__ import annotations

import hashlib
import time
from contextlib import AbstractContextManager
from pathlib import Path

from megtrim.devices.device import Timeouts
from megtrim.devices.remote.run_directory import RemoteDirectory, open_directory
from unit.devices.folder_link import FolderLink
from unit.devices.machines import make_spec

TIMEOUTS = Timeouts().scale(0.5)


def opened(
    link: FolderLink,
    root: Path,
    timeouts: Timeouts = TIMEOUTS,
    said: list[str] | None = None,
) -> AbstractContextManager[RemoteDirectory]:
    """Give out a run directory; ``said`` collects what is reported."""
    spec = make_spec(root.parent, timeouts=timeouts, said=said)
    return open_directory(link, spec, root=str(root))


def left(root: Path) -> list[str]:
    return [path.name for path in (root / "runs").iterdir()]


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
