"""Machines that do what a test says, and pools of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from megtrim.core.config.device import PowerPort
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.device import ConnectionState, DeviceSpec, MachineId, Timeouts
from megtrim.places.devices.local import Local, LocalFolder
from support.haste import scale

QUICK = replace(scale(0.002), call_s=10.0)
"""Waits for nothing, and takes no machine of a busy host for a dead one."""
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)


@dataclass(slots=True)
class Clock:
    time: datetime = NOON

    def __call__(self) -> datetime:
        return self.time

    def pass_(self, **units: float) -> None:
        self.time += timedelta(**units)


@dataclass(eq=False)
class FakeMachine:
    """Answers as its fields say; ``cured_by`` names the call after which it answers again."""

    name: str
    scratch: Path
    answers: bool = True
    attached: ConnectionState = ConnectionState.READY
    cured_by: str = ""
    broken: frozenset[str] = frozenset()
    power: PowerPort | None = None
    kind: str = "fake"
    key: str = ""
    keys: tuple[str, ...] = ()
    identity: MachineId | None = None
    trouble: str = ""
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.key = self.key or f"fake:{self.name}"
        self.keys = (self.key, *self.keys)

    def presence(self) -> ConnectionState:
        return self.attached

    def alive(self) -> bool:
        self.calls.append("alive")
        return self.answers and self.attached is ConnectionState.READY

    def identify(self) -> MachineId:
        if self.identity is None:
            msg = "no answer"
            raise InfrastructureFailure(msg)
        return self.identity

    def facts(self) -> dict[str, str]:
        return {"fingerprint": f"fake/{self.name}"}

    @contextmanager
    def open(self) -> Iterator[LocalFolder]:
        with Local(
            self.name, ProcessRunner({"PATH": "/usr/bin:/bin"}), self.scratch
        ).open() as folder:
            yield folder

    def reconnect(self) -> None:
        self._act("reconnect")

    def reboot(self) -> None:
        self._act("reboot")

    def clean(self) -> None:
        self._act("clean")

    def _act(self, call: str) -> None:
        self.calls.append(call)
        if call in self.broken:
            msg = f"no way to {call}"
            raise InfrastructureFailure(msg)
        if call == self.cured_by:
            self.answers = True
            self.attached = ConnectionState.READY


def spec_of(processes: ProcessRunner, scratch: Path, **changes: Any) -> DeviceSpec:
    usual = {"name": "board", "machine": "aarch64", "qemu_cpu": "max", "sysroot": None}
    return DeviceSpec(processes=processes, scratch=scratch, **{**usual, **changes})


def make_spec(
    tmp_path: Path,
    *,
    name: str = "phones",
    now: Callable[[], datetime] = lambda: NOON,
    timeouts: Timeouts = QUICK,
    said: list[str] | None = None,
) -> DeviceSpec:
    env = {"MEGTRIM_STATE": str(tmp_path / "state"), "PATH": "/usr/bin:/bin"}
    if said is None:
        said = []
    return spec_of(
        ProcessRunner(env),
        tmp_path / "runs",
        name=name,
        cpu_class="armv82",
        timeouts=timeouts,
        now=now,
        say=said.append,
    )
