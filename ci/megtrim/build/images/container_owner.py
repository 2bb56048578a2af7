"""Labels containers with the megtrim process that started them, to find abandoned ones later.

A killed process cleans up nothing. Its containers are labelled with its identity, and the next run
of megtrim on this machine removes those whose process has ended.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from megtrim.build.images.docker import DockerClient
from megtrim.util.process import is_there

LABEL = "megtrim.holder"
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PID = re.compile(r"[1-9][0-9]{0,8}")


def me() -> str:
    """Return this process's identity: boot, namespace, process ID and start time."""
    return f"{_here()}/{os.getpid()}/{_read_start_time(os.getpid()) or ''}"


def end_abandoned(docker: DockerClient) -> None:
    """Remove the containers whose process ran on this machine and has ended."""
    shown = ("--all", "--no-trunc", "--format", f'{{{{.ID}}}} {{{{.Label "{LABEL}"}}}}')
    listed = docker.check_output("ps", "--filter", f"label={LABEL}", *shown)
    pairs = (line.partition(" ")[::2] for line in listed.splitlines())
    abandoned = [container for container, holder in pairs if _is_gone(holder)]
    if abandoned:
        docker.remove(*abandoned)


def _is_gone(holder: str) -> bool:
    rest, _, started = holder.rpartition("/")
    here, _, pid = rest.rpartition("/")
    # Processes of another machine or namespace are not known here.
    if here != _here() or not _PID.fullmatch(pid):
        return False
    now = _read_start_time(int(pid))
    return not is_there(int(pid)) if now is None else now != started


def _here() -> str:
    return f"{_read(_BOOT)}/{_link(Path('/proc/self/ns/pid'))}"


def _read_start_time(pid: int) -> str | None:
    """Return a process's start in ticks since the boot; empty if it ended, None if unknown."""
    stat = _read(Path(f"/proc/{pid}/stat"))
    if not stat:
        return None
    # The name in the second field may contain anything, even spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""
