"""A device that plays programs: what a program's file says is what it does.

The file's lines are ``KEY VALUE``: ``exit N``, ``stderr TEXT``, ``output NAME NUMBERS``,
``trace NUMBERS``, ``raw-trace TEXT`` (with ``|`` for line ends), ``promise N``, ``cache TEXT``,
``lose NAME`` (the device fails), ``crash TEXT`` (what it knows of a crash, with ``|`` for line
ends), ``status N`` (its thermal status after the run), ``print TEXT`` (on standard output),
``write NAME TEXT`` (a file in the folder for outputs), ``record NAMES`` (functions that ran, where
they are asked for).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from megtrim.core.functions import probes, qemu_log
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.programs.telemetry import Conditions, Reading
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.places.devices.written import Entry, WrittenKind, list_files
from unit.core.trim.stages.support import floats, trace


@dataclass(slots=True)
class FakeDevice:
    name: str = "pixel-6"
    kind: str = "fake"
    reported: dict[str, str] = field(default_factory=lambda: {"model": "Pixel 6"})
    runs: list[tuple[str, ...]] = field(default_factory=list)
    environments: list[dict[str, str]] = field(default_factory=list)
    put: list[dict[str, bytes]] = field(default_factory=list)
    interrupt: bool = False
    retries: int = 0

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind}

    def facts(self) -> dict[str, str]:
        return self.reported

    @contextmanager
    def reserve(self) -> Iterator[FakeDevice]:
        yield self

    @contextmanager
    def open(self) -> Iterator[FakeDirectory]:
        if self.interrupt:
            raise KeyboardInterrupt
        directory = FakeDirectory(self)
        self.put.append(directory.files)
        yield directory


@dataclass(slots=True)
class Fickle(FakeDevice):
    """Plays what ``plays`` says in turn, whatever program is put there."""

    plays: list[str] = field(default_factory=list)

    @contextmanager
    def open(self) -> Iterator[FakeDirectory]:
        with FakeDevice.open(self) as directory:
            directory.plays = self.plays
            yield directory


@dataclass(slots=True)
class FakeDirectory:
    device: FakeDevice
    files: dict[str, bytes] = field(default_factory=dict)
    left: dict[str, bytes] = field(default_factory=dict)
    plays: list[str] | None = None
    printed: str = ""

    def put(self, source: Path, name: str) -> None:
        self.files[name] = source.read_bytes()

    def make(self, name: str) -> None:
        self.left.setdefault(f"{name}/", b"")

    def cpus(self) -> tuple[int, ...]:
        return ()

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        env: Mapping[str, str] | None = None,
        on_line: Callable[[str], None] | None = None,
        cpus: tuple[int, ...] = (),
        stdin: str = "",
        stdout: str = "",
        stderr: str = "",
    ) -> ProgramRun:
        assert stdin in ("", *self.files)
        self.device.runs.append(tuple(argv))
        self.device.environments.append(dict(env or {}))
        errors = ""
        said: dict[str, str] = {}
        text = self.files[argv[0]].decode() if self.plays is None else self.plays.pop(0)
        for line in text.rstrip("\n").split("\n"):
            key, _, value = line.partition(" ")
            match key:
                case "exit" | "crash" | "status":
                    said[key] = value
                case "stderr":
                    errors += f"{value}\n"
                case "print" | "write" | "cache" | "record":
                    self._wrote(key, value, env or {})
                case "promise":
                    errors += f"midout: {value} items written to trace.txt\n"
                case "output":
                    name, *numbers = value.split()
                    self.left[f"dump/{name}"] = floats(*map(float, numbers))
                case "trace":
                    self.left["trace.txt"] = trace(*map(int, value.split()))
                case "raw-trace":
                    self.left["trace.txt"] = value.encode().replace(b"|", b"\n")
                case "lose":
                    msg = f"adb: {value} is gone"
                    raise InfrastructureFailure(msg)
                case _:
                    raise AssertionError(line)
        printed = self._write_stream(self.printed, stdout)
        errors = self._write_stream(errors, stderr)
        status = said.get("status")
        after = Reading(thermal_status=int(status)) if status else Reading()
        return ProgramRun(
            argv=tuple(argv),
            rc=int(said.get("exit", "0")),
            stdout=printed,
            stderr=errors,
            wall_s=0.5,
            timed_out=False,
            conditions=Conditions(before=Reading(cpu_c=-3.5), after=after) if status else None,
            crash=said.get("crash", "").replace("|", "\n"),
        )

    def _write_stream(self, text: str, file: str) -> str:
        """Return what was written, unless a file gets it."""
        if not file:
            return text
        self.left[file] = text.encode()
        return ""

    def _wrote(self, how: str, value: str, env: Mapping[str, str]) -> None:
        if how == "print":
            self.printed += f"{value}\n"
        elif how == "cache":
            self.left["algo.cache"] = value.encode()
        elif how == "record":
            if probes.ENVIRONMENT.items() <= env.items():
                self.left[probes.RECORD_FILE] = value.encode()
            if qemu_log.ENVIRONMENT.items() <= env.items():
                self.left[qemu_log.LOG_FILE] = f"{value} logged".encode()
        else:
            name, _, text = value.partition(" ")
            self.left[f"dump/{name}"] = text.encode()

    def get(self, name: str) -> bytes | None:
        return self.left.get(name)

    def names(self, folder: str) -> tuple[str, ...]:
        return list_files(folder, list_entries(folder, self.left))


def list_entries(folder: str, left: Iterable[str]) -> Iterator[Entry]:
    start = f"{folder}/"
    for name in left:
        if name.startswith(start) and name != start:
            yield Entry(path=name.removeprefix(start), kind=WrittenKind.FILE)


GOOD = "output o 1 2 3\n"
TRAPS = "exit 133\n"
PROFILE = "output o 1 2 3\ntrace 1 7\npromise 2\n"
