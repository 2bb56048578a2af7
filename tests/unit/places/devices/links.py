"""A link whose machine is a folder of this one: real scripts in a real shell, faults on order."""

import hashlib
import re
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.devices.device import Timeouts
from megtrim.places.devices.remote.run_directory import RemoteDirectory, open_directory
from megtrim.places.devices.remote.transport import (
    ConnectionLost,
    frame,
    new_nonce,
    unframe_outcome,
)
from support.haste import scale
from unit.places.devices.machines import make_spec


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
                tested=True,
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
        self._copy("push", source, Path(target))

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        self.calls.append(f"pull {Path(source).name}")
        self._copy("pull", Path(source), target)

    def _copy(self, way: str, source: Path, target: Path) -> None:
        self.before(way)
        data = bytearray(source.read_bytes())
        if self.damage:
            self.damage -= 1
            data[-1] ^= 1  # the file is as long as before
        target.write_bytes(data)


def losing(at: str) -> Callable[[str], None]:
    def lose(marker: str) -> None:
        if marker == at:
            msg = f"board (test): the link was lost at {at}"
            raise ConnectionLost(msg)

    return lose


TIMEOUTS = scale(0.5)


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


_PLACES = re.compile(r"(?<![\w}/])/(sys|proc|data|etc)/")


@dataclass(slots=True)
class ShellLink:
    """``tree`` is the root of what scripts see; its ``bin`` stands first in PATH."""

    processes: ProcessRunner
    tree: Path
    label: str = "test-phone"
    scripts: list[str] = field(default_factory=list)
    before: Callable[[str], None] = lambda _script: None
    lost: bool = False
    shell_program: tuple[str, ...] = ("sh",)

    def shell(
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        self.scripts.append(script)
        self.before(script)
        if self.lost:
            msg = f"{self.label}: the link was lost"
            raise ConnectionLost(msg)
        moved = _PLACES.sub(rf"{self.tree}/\1/", script)
        return self.processes.run(
            Command(
                argv=(*self.shell_program, "-c", moved, "sh", *args),
                timeout_s=timeout_s,
                env={"PATH": f"{self.tree}/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
            )
        )

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        raise NotImplementedError

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        raise NotImplementedError

    def write(self, name: str, text: str) -> Path:
        path = self.tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def program(self, name: str, text: str) -> None:
        self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n").chmod(0o755)

    def policy(self, name: str, governor: str, rates: tuple[int, int, int] = (1, 2, 2)) -> Path:
        folder = f"sys/devices/system/cpu/cpufreq/{name}"
        for file, rate in zip(
            ("scaling_cur_freq", "scaling_max_freq", "cpuinfo_max_freq"), rates, strict=True
        ):
            self.write(f"{folder}/{file}", f"{rate}\n")
        return self.write(f"{folder}/scaling_governor", f"{governor}\n")

    def zone(self, number: int, kind: str, temp: str) -> None:
        self.write(f"sys/class/thermal/thermal_zone{number}/type", f"{kind}\n")
        self.write(f"sys/class/thermal/thermal_zone{number}/temp", f"{temp}\n")
