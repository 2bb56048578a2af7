"""A link whose machine is a folder of this one: real scripts in a real shell, faults on order."""

import hashlib
import shutil
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from megtrim.devices.device import Timeouts
from megtrim.devices.remote.run_directory import RemoteDirectory, open_directory
from megtrim.devices.remote.transport import ConnectionLost, frame, new_nonce, unframe_outcome
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.process import Command, CompletedCommand, ProcessRunner
from unit.devices.machines import make_spec


def nothing(_what: str) -> None:
    """No fault."""


@dataclass(slots=True)
class FolderLink:
    """``before`` is called with the marker of a script, ``push`` or ``pull``, and may raise."""

    processes: ProcessRunner
    label: str = "board (test)"
    calls: list[str] = field(default_factory=list)
    before: Callable[[str], None] = nothing
    cut: str = ""
    damage: int = 0
    program: str = "sh"
    answers: list[str] = field(default_factory=list)
    path: str = "/usr/sbin:/usr/bin:/sbin:/bin"

    def shell(
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        marker = script.partition("# megtrim:")[2].partition("\n")[0]
        if marker not in ("", "probe"):
            self.calls.append(marker)
        self.before(marker)
        nonce = new_nonce()
        outcome = self.processes.run(
            Command(
                argv=(self.program, "-c", frame(script, args, nonce)),
                timeout_s=timeout_s,
                env={"PATH": self.path},
                on_line=on_line,
                abort=abort,
            )
        )
        self.answers.append(outcome.stdout)
        if self.cut and marker == self.cut:
            outcome = replace(outcome, stdout=outcome.stdout[:-2])
        return unframe_outcome(outcome, nonce, label=self.label, script=script)

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        self.calls.append(f"push {source.name}")
        self.before("push")
        shutil.copyfile(source, target)
        if self.damage:
            self.damage -= 1
            _flip(Path(target))

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        self.calls.append(f"pull {Path(source).name}")
        self.before("pull")
        shutil.copyfile(source, target)
        if self.damage:
            self.damage -= 1
            _flip(target)


def _flip(path: Path) -> None:
    """Change one bit: the file is as long as before."""
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def losing(at: str) -> Callable[[str], None]:
    def lose(marker: str) -> None:
        if marker == at:
            msg = f"board (test): the link was lost at {at}"
            raise ConnectionLost(msg)

    return lose


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
