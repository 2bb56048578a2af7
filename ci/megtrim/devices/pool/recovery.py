"""Recovering a machine: a few escalating steps, each bounded and reported.

Reconnect, wait, switch its power off and on (where that is configured), reboot it once (and a
few times a day at most). A machine that waits for a person's tap is not tried at all.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from megtrim.devices.pool.machine import ConnectionState, HasFailureDetail, Machine
from megtrim.devices.pool.quarantine import MOST_REBOOTS, Records
from megtrim.devices.timeouts import Timeouts
from megtrim.errors import InfrastructureFailure, InputError
from megtrim.process import ProcessRunner

UNAUTHORIZED = "unauthorized: somebody must allow this host on the screen of the phone"
_POWER_OFF_S = 5
_RECONNECTS_PER_WAIT = 4
_LAST_WORD_S = 2.0
"""How long the end of the process waits for a line that is being told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryResult:
    """What came of an attempt to bring a machine back."""

    healthy: bool
    presence: ConnectionState
    """When it was last looked at."""
    steps: tuple[str, ...]
    """What was tried, in order, with what came of it; none where it answered at once."""
    trouble: str = ""
    """Why it does not answer, where that is known, and what to do."""

    @property
    def verdict(self) -> str:
        """How it is now."""
        if self.presence is ConnectionState.UNAUTHORIZED:
            return self.trouble or UNAUTHORIZED
        if self.healthy:
            return "answers"
        return f"does not answer: {self.trouble}" if self.trouble else "does not answer"

    @property
    def text(self) -> str:
        """What to tell of it, in one line."""
        return f"{self.verdict} ({'; '.join(self.steps)})" if self.steps else self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPolicy:
    """Brings machines back. ``sleep`` and ``monotonic`` are the clock of waits."""

    records: Records
    processes: ProcessRunner
    timeouts: Timeouts
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def climb(self, machine: Machine) -> RecoveryResult:
        """Go up until the machine answers. The machine must be held.

        Raises InfrastructureFailure where nobody can look at any machine (no adb server): that
        is no fault of this one.
        """
        steps: list[str] = []
        presence = machine.presence()
        healthy = presence is not ConnectionState.UNAUTHORIZED and machine.alive()
        rungs = self._steps(machine)
        while not healthy and presence is not ConnectionState.UNAUTHORIZED:
            step = next(rungs, None)
            if step is None:
                break
            self.say(f"  heal  {machine.name}: {step}")
            steps.append(step)
            presence = machine.presence()
            healthy = presence is not ConnectionState.UNAUTHORIZED and machine.alive()
        if healthy and steps:
            self.say(f"  heal  {machine.name}: it answers again")
        return RecoveryResult(
            healthy=healthy,
            presence=presence,
            steps=tuple(steps),
            trouble="" if healthy else trouble(machine),
        )

    def _steps(self, machine: Machine) -> Iterator[str]:
        """Take one step at a time; after each the machine is looked at."""
        yield self._try_step("reconnected", machine.reconnect)
        yield self._wait_until_alive(machine, self.timeouts.reconnect_s)
        if machine.power is not None:
            yield self._try_step("power switched off and on", lambda: self._power(machine))
            yield self._wait_until_alive(machine, self.timeouts.boot_s)
        # Without a way to it, it cannot be told to reboot, and the day's reboots stay unspent.
        if machine.presence() is ConnectionState.READY:
            told = self._try_step("rebooted", lambda: self._reboot(machine))
            yield told
            if told == "rebooted":
                yield self._wait_until_alive(machine, self.timeouts.boot_s)

    def _reboot(self, machine: Machine) -> None:
        # Noted first: one that nobody remembers could be one of many.
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
        """Wait for it to answer; a way to it that was lost is made anew now and then."""
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

    def _power(self, machine: Machine) -> None:
        power = machine.power
        if power is None:
            return
        argv = ("uhubctl", "-l", power.hub, "-p", str(power.port), "-a", "cycle")
        delay = ("-d", str(_POWER_OFF_S))
        self.processes.capture(*argv, *delay, timeout_s=self.timeouts.call_s + 2 * _POWER_OFF_S)


class BackgroundRecovery:
    """Care for machines in threads of their own, while the job works on others.

    The threads end with the process, at whatever step they are: none is waited for. What they
    hold is freed by the kernel.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._saying = threading.Lock()
        self._ended = False
        self._keys: set[str] = set()

    @property
    def keys(self) -> frozenset[str]:
        """Return which machines are cared for now."""
        return frozenset(self._keys.copy())

    def start(self, key: str, care: Callable[[], None]) -> None:
        """Care for a machine from now on."""

        def run_care() -> None:
            try:
                care()
            finally:
                self._keys.discard(key)

        # A thread that dies inside a write would keep the stream's own lock, on which the
        # interpreter then fails to end.
        atexit.register(self._end)
        self._keys.add(key)
        threading.Thread(target=run_care, name=f"heal {key}", daemon=True).start()

    def say(self, text: str) -> None:
        """Tell a line, and none any more once the process ends."""
        with self._saying:
            if not self._ended:
                self._say(text)

    def _end(self) -> None:
        if self._saying.acquire(timeout=_LAST_WORD_S):
            self._ended = True
            self._saying.release()


def answers(machine: Machine, within_s: float) -> Callable[[], None] | None:
    """Ask whether a machine is alive; None: it is, within that time.

    Else a call is returned that waits for the end of the asking: two at once disturb each other.
    """
    told: SimpleQueue[bool] = SimpleQueue()

    def ask() -> None:
        try:
            told.put(machine.alive())
        except (InfrastructureFailure, InputError):
            told.put(False)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    try:
        return None if told.get(timeout=within_s) else asking.join
    except Empty:
        return asking.join


def trouble(machine: Machine) -> str:
    """Return what a machine's kind knows of why it does not answer, in one line."""
    known = machine.trouble if isinstance(machine, HasFailureDetail) else ""
    return "; ".join(line.strip() for line in known.splitlines())
