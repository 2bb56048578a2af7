"""Recovering a machine: a few escalating steps, each bounded and reported.

No step is tried while a machine waits for a person to confirm on its screen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from megtrim.core.config.device import PowerPort
from megtrim.lab.pool.leases import StateFile, lock_file, make_damage_error, read_saved, slug
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.devices.device import ConnectionState, Machine, Timeouts

MOST_REBOOTS = 3
REBOOT_WINDOW = timedelta(hours=24)
_LONGEST_REASON = 2000
_Text = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_REASON)]


class Author(StrEnum):
    MACHINE = "megtrim"
    PERSON = "person"


class Quarantine(StateFile):
    reason: _Text
    since: AwareDatetime
    by: Author


class Record(StateFile):
    version: Literal[1] = 1
    key: _Text
    name: Annotated[str, StringConstraints(max_length=_LONGEST_REASON)] = ""
    quarantine: Quarantine | None = None
    reboots: Annotated[tuple[AwareDatetime, ...], Field(max_length=100, strict=False)] = ()

    def may_reboot(self, now: datetime) -> bool:
        return len(self._recent(now)) < MOST_REBOOTS

    def add_reboot(self, now: datetime) -> Record:
        return self.model_copy(update={"reboots": (*self._recent(now), now)})

    def _recent(self, now: datetime) -> tuple[datetime, ...]:
        # A time in the future counts, too: if the clock was set back, one reboot too few is safer.
        return tuple(reboot for reboot in self.reboots if now - reboot < REBOOT_WINDOW)


class Records:
    def __init__(self, state: Path, now: Callable[[], datetime]) -> None:
        self._folder = state / "machines"
        self.now = now

    def read(self, key: str) -> Record:
        return self._read(self._path(key)) or Record(key=key)

    def list_records(self) -> tuple[Record, ...]:
        found = []
        for path in sorted(self._folder.glob("*.json")):
            with suppress(InputError):
                found.append(self._read(path))
        return tuple(sorted((each for each in found if each), key=lambda record: record.key))

    def quarantine(self, key: str, name: str, reason: str, by: Author) -> Quarantine:
        """A person's reason replaces megtrim's, never vice versa; one author's keeps its start."""
        with self._changing(key) as record:
            old = record.quarantine
            if old is not None and old.by is Author.PERSON and by is Author.MACHINE:
                return old
            since = old.since if old is not None and old.by is by else self.now()
            new = Quarantine(reason=_shorten_reason(reason), since=since, by=by)
            self._write(record.model_copy(update={"name": name, "quarantine": new}))
        return new

    def restore(self, key: str, by: Author) -> Quarantine | None:
        with self._changing(key) as record:
            old = record.quarantine
            if old is None or (old.by is Author.PERSON and by is Author.MACHINE):
                return None
            self._write(record.model_copy(update={"quarantine": None}))
        return old

    def mend(self, key: str) -> Path | None:
        path = self._path(key)
        with lock_file(path.with_suffix(".lock")):
            try:
                self._read(path)
            except InputError:
                return path.replace(path.with_suffix(f".damaged-{self.now():%Y%m%dT%H%M%S%f}"))
        return None

    def note_reboot(self, key: str, name: str) -> bool:
        with self._changing(key) as record:
            now = self.now()
            if not record.may_reboot(now):
                return False
            self._write(record.add_reboot(now).model_copy(update={"name": name}))
        return True

    @contextmanager
    def _changing(self, key: str) -> Iterator[Record]:
        with lock_file(self._path(key).with_suffix(".lock")):
            yield self.read(key)

    def _read(self, path: Path) -> Record | None:
        record = read_saved(path, Record)
        if record is not None and self._path(record.key) != path:
            raise make_damage_error(path, f"key: found {record.key!r}")
        return record

    def _write(self, record: Record) -> None:
        write_atomically(self._path(record.key), record.model_dump_json(indent=1) + "\n")

    def _path(self, key: str) -> Path:
        return self._folder / f"{slug(key)}.json"


def _shorten_reason(reason: str) -> str:
    text = " ".join(reason.split()) or "no reason given"
    return text if len(text) <= _LONGEST_REASON else f"{text[: _LONGEST_REASON - 1]}…"


UNAUTHORIZED = "unauthorized: someone must allow this host on the screen of the phone"
_POWER_OFF_S = 5
_RECONNECTS_PER_WAIT = 4


class RecoveryResult(Value):
    healthy: bool
    presence: ConnectionState
    steps: tuple[str, ...]
    """What was tried, in order, with its result; empty if the machine answered at once."""
    trouble: str = ""
    """Why it does not answer, and what to do."""

    @property
    def verdict(self) -> str:
        if self.presence is ConnectionState.UNAUTHORIZED:
            return self.trouble or UNAUTHORIZED
        if self.healthy:
            return "answers"
        return f"does not answer: {self.trouble}" if self.trouble else "does not answer"

    @property
    def text(self) -> str:
        return f"{self.verdict} ({'; '.join(self.steps)})" if self.steps else self.verdict


class RecoveryPolicy(Value):
    """Recovers machines. ``sleep`` and ``monotonic`` are the clock of waits."""

    records: Records
    processes: ProcessRunner
    timeouts: Timeouts
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def recover(self, machine: Machine) -> RecoveryResult:
        """Take one step after another until the machine answers. The machine must be held.

        Raises InfrastructureFailure if no machine can be checked at all (no adb server).
        """
        steps: list[str] = []
        presence = machine.presence()
        healthy = presence is not ConnectionState.UNAUTHORIZED and machine.alive()
        rungs = self._steps(machine)
        while not healthy and presence is not ConnectionState.UNAUTHORIZED:
            step = next(rungs, None)
            if step is None:
                break
            self.say(f"  recover  {machine.name}: {step}")
            steps.append(step)
            presence = machine.presence()
            healthy = presence is not ConnectionState.UNAUTHORIZED and machine.alive()
        if healthy and steps:
            self.say(f"  recover  {machine.name}: it answers again")
        return RecoveryResult(
            healthy=healthy,
            presence=presence,
            steps=tuple(steps),
            trouble="" if healthy else machine.trouble,
        )

    def _steps(self, machine: Machine) -> Iterator[str]:
        """Yield after each step, so that the caller can check the machine."""
        yield self._try_step("reconnected", machine.reconnect)
        yield self._wait_until_alive(machine, self.timeouts.reconnect_s)
        if (power := machine.power) is not None:
            yield self._try_step("power switched off and on", lambda: self._power(power))
            yield self._wait_until_alive(machine, self.timeouts.boot_s)
        # Without a connection it cannot be asked to reboot, so none of the day's reboots is spent.
        if machine.presence() is ConnectionState.READY:
            step = self._try_step("rebooted", lambda: self._reboot(machine))
            yield step
            if step == "rebooted":
                yield self._wait_until_alive(machine, self.timeouts.boot_s)

    def _reboot(self, machine: Machine) -> None:
        # Stored first: otherwise a crash here would let it be rebooted too often.
        if not self.records.note_reboot(machine.key, machine.name):
            msg = f"it was {MOST_REBOOTS} times within a day"
            raise InfrastructureFailure(msg)
        machine.reboot()

    def _try_step(self, what: str, act: Callable[[], None]) -> str:
        try:
            act()
        except (InfrastructureFailure, InputError) as error:
            return f"not {what}: {error.message}"
        return what

    def _wait_until_alive(self, machine: Machine, longest_s: float) -> str:
        started = self.monotonic()
        reconnected = started
        while (now := self.monotonic()) - started < longest_s and not machine.alive():
            if now - reconnected > longest_s / _RECONNECTS_PER_WAIT:
                reconnected = now
                self._try_step("reconnected", machine.reconnect)
            if machine.presence() is ConnectionState.UNAUTHORIZED:
                break
            self.sleep(self.timeouts.poll_s)
        return f"waited {self.monotonic() - started:.0f} s"

    def _power(self, power: PowerPort) -> None:
        argv = ("uhubctl", "-l", power.hub, "-p", str(power.port), "-a", "cycle")
        delay = ("-d", str(_POWER_OFF_S))
        self.processes.capture(*argv, *delay, timeout_s=self.timeouts.call_s + 2 * _POWER_OFF_S)
