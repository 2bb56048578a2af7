"""A run that is cut off leaves nothing behind that the next one trips over."""

import os
import shutil
import signal
import subprocess  # noqa: TID251 - a run is started here to be cut off from outside
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from integration.conftest import MakeProject
from support.clock import until
from support.megtrim_cli import Project

pytestmark = [pytest.mark.chain]


@dataclass(frozen=True, slots=True)
class Barrier:
    """A compiler cache that lets no compilation pass before it is opened."""

    folder: Path

    @property
    def reached(self) -> Path:
        return self.folder / "reached"

    def build(self, program: str) -> None:
        """Put it before that program; empty: there is no compiler cache."""
        self.folder.mkdir()
        wait = f"touch {self.reached}; until [ -e {self.folder}/open ]; do sleep 0.1; done"
        script = self.folder / "ccache"
        script.write_text(f'#!/bin/sh\n{wait}\nexec {program} "$@"\n', encoding="utf-8")
        script.chmod(0o755)

    def open(self) -> None:
        (self.folder / "open").touch()


def _start(
    project: Project, stderr: IO[bytes] | int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        project.argv("stage build"),
        cwd=project.folder,
        env={**os.environ, **project.env},
        stdout=subprocess.DEVNULL,
        stderr=stderr,
    )


def _compiles(project: Project) -> bool:
    logs = (project.out / "build").glob("*/build.log")
    return any("Building CXX object" in path.read_text("utf-8", "replace") for path in logs)


def _working_in(folder: Path) -> list[str]:
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


@pytest.fixture
def project(make_project: MakeProject, tmp_path: Path) -> Project:
    made = make_project("tiny-mobile")
    made.out = tmp_path / "own-out"
    made.env = {"CCACHE_DISABLE": "1"}
    return made


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_a_build_that_was_cut_off_continues(
    project: Project, number: signal.Signals, status: int
) -> None:
    running = _start(project)
    until(lambda: _compiles(project), "the first compiler", within_s=120)
    running.send_signal(number)

    assert running.wait(30) == status
    until(lambda: not _working_in(project.out), "the end of all programs", within_s=15)
    assert list((project.out / "build").glob("*/manifest.json")) == []
    project.env = {}  # whoever finishes the work may be as quick as they like
    resumed = project.expect("stage build")
    assert "waiting for another megtrim" not in resumed.stderr
    assert len(list((project.out / "build").glob("*/manifest.json"))) == 2


@pytest.fixture
def barrier(tmp_path: Path) -> Iterator[Barrier]:
    made = Barrier(tmp_path / "barrier")
    made.build(shutil.which("ccache") or "")
    yield made
    made.open()


def test_two_runs_at_once_build_once(project: Project, barrier: Barrier, tmp_path: Path) -> None:
    project.env = {"PATH": f"{barrier.folder}:{os.environ['PATH']}"}
    messages = tmp_path / "stderr"
    first = _start(project)
    until(barrier.reached.exists, "the first compiler", within_s=120)
    with messages.open("wb") as stderr:
        second = _start(project, stderr=stderr)
    until(
        lambda: b"waiting for another megtrim" in messages.read_bytes(),
        "no one waits",
        within_s=120,
    )
    barrier.open()

    assert (first.wait(300), second.wait(300)) == (0, 0), messages.read_text("utf-8")
    assert len(list((project.out / "build").glob("*"))) == 2
