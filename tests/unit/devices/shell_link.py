"""A link whose machine is this one, with its own /sys, /proc and /data, and programs in front.

The scripts that phones and boards run are run for real; only where they look is moved.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from megtrim.devices.remote.transport import ConnectionLost
from megtrim.util.process import Command, CompletedCommand, ProcessRunner

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
