"""Recovering a machine: a few escalating steps, each bounded and reported.

Reconnect, wait, switch its power off and on (if that is configured), reboot it once (and a few
times a day at most). No step is tried while a machine waits for a person to confirm on its
screen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from megtrim.devices.device import Timeouts
from megtrim.devices.pool.machine import ConnectionState, HasFailureDetail, Machine
from megtrim.devices.pool.quarantine import MOST_REBOOTS, Records
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner

UNAUTHORIZED = "unauthorized: someone must allow this host on the screen of the phone"
_POWER_OFF_S = 5
_RECONNECTS_PER_WAIT = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryResult:
    """The result of an attempt to recover a machine."""

    healthy: bool
    presence: ConnectionState
    """At the last check."""
    steps: tuple[str, ...]
    """What was tried, in order, with its result; empty if the machine answered at once."""
    trouble: str = ""
    """Why it does not answer, if known, and what to do."""

    @property
    def verdict(self) -> str:
        """Whether it answers now, and if not, why."""
        if self.presence is ConnectionState.UNAUTHORIZED:
            return self.trouble or UNAUTHORIZED
        if self.healthy:
            return "answers"
        return f"does not answer: {self.trouble}" if self.trouble else "does not answer"

    @property
    def text(self) -> str:
        """The verdict and the steps, in one line."""
        return f"{self.verdict} ({'; '.join(self.steps)})" if self.steps else self.verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPolicy:
    """Recovers machines. ``sleep`` and ``monotonic`` are the clock of waits."""

    records: Records
    processes: ProcessRunner
    timeouts: Timeouts
    say: Callable[[str], None]
    sleep: Callable[[float], None] = time.sleep
    monotonic: Callable[[], float] = time.monotonic

    def recover(self, machine: Machine) -> RecoveryResult:
        """Take one step after another until the machine answers. The machine must be held.

        Raises InfrastructureFailure if no machine can be checked at all (no adb server), which
        is not this machine's fault.
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
            trouble="" if healthy else trouble(machine),
        )

    def _steps(self, machine: Machine) -> Iterator[str]:
        """Yield after each step, so that the caller can check the machine."""
        yield self._try_step("reconnected", machine.reconnect)
        yield self._wait_until_alive(machine, self.timeouts.reconnect_s)
        if machine.power is not None:
            yield self._try_step("power switched off and on", lambda: self._power(machine))
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
        """Wait for it to answer, and reconnect from time to time."""
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


def trouble(machine: Machine) -> str:
    """Return why a machine does not answer, in one line; empty if its kind does not know."""
    known = machine.trouble if isinstance(machine, HasFailureDetail) else ""
    return "; ".join(line.strip() for line in known.splitlines())
