"""A heartbeat during long work on a machine: is it still alive, and does it have space left?

If the machine is dead or frozen, the heartbeat aborts the work long before its own timeout.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from megtrim.devices.device import Timeouts
from megtrim.devices.remote.scripts import PROBE_SCRIPT
from megtrim.devices.remote.transport import ConnectionLost, Transport, new_nonce
from megtrim.util.errors import InfrastructureFailure

FULL_BELOW_KB = 64
"""With less than this free, what a program wrote may be cut short."""

_FREE = re.compile(r"^megtrim free=(\d{1,15})$", re.MULTILINE)


def free_kb(text: str) -> int | None:
    """Return the free space that a script printed, in KiB, or None if it printed none."""
    found = _FREE.search(text)
    return int(found[1]) if found else None


class Heartbeat:
    """Probes the machine at intervals."""

    def __init__(self, link: Transport, timeouts: Timeouts, root: str) -> None:
        self._link = link
        self._timeouts = timeouts
        self._root = root
        self.abort = threading.Event()
        """Set when the machine is gone: pass it to the call that is watched."""
        self.stop = threading.Event()
        self.was_full = False
        self._waited_s = 0.0

    def check(self, step: str) -> None:
        """Raise ConnectionLost if the machine is gone."""
        if self.abort.is_set():
            msg = f"{self._link.label}: no sign of life for {self._waited_s:.0f} s while {step}"
            raise ConnectionLost(msg)

    def beat(self) -> None:
        """Probe at intervals until stopped."""
        while not self.stop.wait(self._timeouts.heartbeat_s):
            began = time.monotonic()
            if not self._is_there() and not self.stop.is_set():
                self._waited_s = time.monotonic() - began
                self.abort.set()
                return

    def _is_there(self) -> bool:
        # A slow connection may need the time of two probes for one. A refusal comes at once, so
        # it is probed a second time.
        began = time.monotonic()
        if self._probe_once(2 * self._timeouts.probe_s):
            return True
        if time.monotonic() - began >= self._timeouts.probe_s or self.stop.is_set():
            return False
        self.stop.wait(self._timeouts.poll_s)
        return self._probe_once(self._timeouts.probe_s)

    def _probe_once(self, timeout_s: float) -> bool:
        word = new_nonce()
        try:
            outcome = self._link.shell(
                PROBE_SCRIPT, word, self._root, timeout_s=timeout_s, abort=self.stop
            )
        except InfrastructureFailure:
            return False
        free = free_kb(outcome.stdout)
        self.was_full = self.was_full or (free is not None and free < FULL_BELOW_KB)
        return outcome.ok and f"megtrim word={word}\n" in outcome.stdout


@contextmanager
def watch_machine(link: Transport, timeouts: Timeouts, root: str) -> Iterator[Heartbeat]:
    """Watch the machine while the block runs."""
    watch = Heartbeat(link, timeouts, root)
    thread = threading.Thread(target=watch.beat, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.stop.set()
        thread.join(timeouts.probe_s)
