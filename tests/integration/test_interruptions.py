"""A run that is cut off leaves nothing behind that the next one trips over."""

from __future__ import annotations

import os
import signal
import subprocess  # noqa: TID251 - a run is started here to be cut off from outside
import time
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]


def _start(project: Project) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        project.argv("stage build"),
        cwd=project.folder,
        env={**os.environ, **project.env},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _wait_for_a_compiler(project: Project) -> None:
    log = project.out / "build"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        logs = list(log.glob("*/build.log"))
        if any("Building CXX object" in path.read_text("utf-8", "replace") for path in logs):
            return
        time.sleep(0.05)
    pytest.fail("no compiler was started within 120 s")


def _working_in(folder: Path) -> list[str]:
    """Return the command lines of processes that have to do with the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except (OSError, UnicodeDecodeError):
                continue
            if str(folder) in line:
                found.append(line)
    return found


def _gone(folder: Path, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if not _working_in(folder):
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def project(make_project: MakeProject, tmp_path: Path) -> Project:
    """A project whose builds take their time: its own results, and no compiler cache."""
    made = make_project("tiny-mobile")
    made.out = tmp_path / "own-out"
    made.env = {"CCACHE_DISABLE": "1"}
    return made


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_build_that_was_cut_off_continues(
    project: Project, number: signal.Signals, status: int
) -> None:
    """No children, no lock, no torn result: the next run finishes the work."""
    running = _start(project)
    _wait_for_a_compiler(project)
    running.send_signal(number)

    assert running.wait(30) == status
    assert _gone(project.out, within_s=15), _working_in(project.out)
    assert list((project.out / "build").glob("*/manifest.json")) == []
    project.env = {}  # whoever finishes the work may be as quick as they like
    resumed = project.run("stage build")
    assert resumed.rc == 0, resumed.stderr
    assert "waiting for another megtrim" not in resumed.stderr
    assert len(list((project.out / "build").glob("*/manifest.json"))) == 2


def test_two_runs_at_once_build_once(project: Project) -> None:
    """The second waits for the first, finds its results, and both end well."""
    first = _start(project)
    _wait_for_a_compiler(project)
    second = project.run("stage build")

    assert (first.wait(300), second.rc) == (0, 0), second.stderr
    assert "waiting for another megtrim" in second.stderr
    assert len(list((project.out / "build").glob("*"))) == 2
