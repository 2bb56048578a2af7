"""Transports to machines that have a POSIX shell: run a script there, push a file, pull a file.

A remote script prints a last line that only its own end can print. So output that was cut off is
never taken for complete, and the status of adb or ssh never for the script's. A heartbeat aborts
long work if the machine is dead or frozen.
"""

import re
import secrets
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.limits import clean_line
from megtrim.libs.util.process import CompletedCommand
from megtrim.places.devices.device import Timeouts

OnLine = Callable[[str], None] | None
Abort = threading.Event | None
FULL_BELOW_KB = 64
"""With less than this free, what a program wrote may be cut short."""

_FREE = re.compile(r"^megtrim free=(\d{1,15})$", re.MULTILINE)
ALIVE_SCRIPT = '# megtrim:probe\necho "$1"\n'
"""Print the argument: a random word, which nothing but this script can print."""

SPACE_SCRIPT = (
    'df -kP "$root" | while read -r name size used free rest; do echo "megtrim free=$free"; done'
)
"""Print the free space of the folder ``$root``, as :func:`free_kb` reads it."""

PROBE_SCRIPT = f"""\
# megtrim:probe
root=$2
echo "megtrim word=$1"
{SPACE_SCRIPT}"""
"""Arguments: a word, which is printed, and the root folder, whose free space is printed."""

_STEPS = {
    "enter": "entering it",
    "put": "preparing the run",
    "run": "running the program",
    "get": "looking for results",
    "probe": "asking whether it is there",
    "clean": "cleaning up",
}
_MARK = re.compile(r"# megtrim:(\w+)")
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")
_STATUS = re.compile(r"\d{1,3}", re.ASCII)
_LONGEST_SUMMARY = 300


class ConnectionLost(InfrastructureFailure):
    """The connection to the machine failed, and with it what was being done there."""


class NoSpace(InfrastructureFailure):
    """The machine has no space left."""


class Transport(Protocol):
    """The way to one machine. Every call has a timeout, and raises ConnectionLost if it breaks."""

    label: str
    """The machine's name in messages, such as ``pixel-6 (serial 1A2B)``."""

    def shell(
        self, script: str, *args: str, timeout_s: float, on_line: OnLine = None, abort: Abort = None
    ) -> CompletedCommand:
        """Run a script with ``args`` as its ``$1`` and so on; ``rc`` is its own exit status.

        It must start with a comment ``# megtrim:STEP``. A call that timed out or was aborted is
        returned as such.
        """

    def push(self, source: Path, target: str, *, timeout_s: float, abort: Abort = None) -> None:
        """Copy a file to the machine. Also raises NoSpace."""

    def pull(self, source: str, target: Path, *, timeout_s: float, abort: Abort = None) -> None:
        """Fetch a file from the machine."""


def new_nonce() -> str:
    return f"end-{secrets.token_hex(8)}"


def frame(script: str, args: tuple[str, ...], nonce: str) -> str:
    """The script prints ``nonce`` and its exit status last."""
    # A trap, not a subshell: the shell that gets a lost connection's signal must run the script.
    quoted = "".join(f" {shlex.quote(arg)}" for arg in args)
    return f'trap \'printf "\\n%s %d\\n" {nonce} "$?"\' EXIT\nset --{quoted}\n{script}'


def unframe(stdout: str, nonce: str) -> tuple[str, int] | None:
    """Return None if the end is missing."""
    text, found, trailer = stdout.rpartition(f"\n{nonce} ")
    status = trailer.removesuffix("\n").removesuffix("\r")
    if not found or not _STATUS.fullmatch(status):
        return None
    return text, int(status)


def unframe_outcome(
    outcome: CompletedCommand, nonce: str, *, label: str, script: str
) -> CompletedCommand:
    """Raise ConnectionLost if the end is missing."""
    if outcome.timed_out or outcome.aborted:
        return outcome
    end = unframe(outcome.stdout, nonce)
    if end is None:
        raise make_lost_error(label, step_of(script), outcome.stderr or outcome.stdout)
    return replace(outcome, rc=end[1], stdout=end[0])


def step_of(script: str) -> str:
    mark = _MARK.search(script)
    return _STEPS.get(mark[1] if mark else "", "talking to it")


def make_lost_error(label: str, step: str, output: str) -> ConnectionLost:
    return ConnectionLost(f"{label}: the link was lost while {step}: {summarize_output(output)}")


def make_timeout_error(label: str, step: str, waited_s: float) -> ConnectionLost:
    return ConnectionLost(f"{label}: no answer within {waited_s:.0f} s while {step}")


def expect_transferred(
    outcome: CompletedCommand, *, label: str, step: str, timeout_s: float
) -> None:
    if outcome.timed_out:
        raise make_timeout_error(label, step, timeout_s)
    if not outcome.ok and not outcome.aborted:
        raise make_lost_error(label, step, outcome.stderr or outcome.stdout)


def expect_pushed(outcome: CompletedCommand, *, label: str, step: str, timeout_s: float) -> None:
    """Raise NoSpace if the machine's disk is full."""
    if not outcome.ok and _NO_SPACE.search(outcome.stderr + outcome.stdout):
        raise make_no_space_error(label, step)
    expect_transferred(outcome, label=label, step=step, timeout_s=timeout_s)


def make_no_space_error(label: str, step: str) -> NoSpace:
    msg = f"{label}: no space left while {step}"
    return NoSpace(msg, hint="free some space on it; `megtrim devices check` shows how much it has")


def summarize_output(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    output = "; ".join(lines[-3:]) or "it ended without a message"
    # A phone's output ends up on terminals and in logs of runners, which may obey it as commands.
    shown = output if len(output) <= _LONGEST_SUMMARY else f"…{output[1 - _LONGEST_SUMMARY :]}"
    return clean_line(shown)


def call(link: Transport, script: str, *args: str, timeout_s: float) -> str:
    """Raise ConnectionLost, NoSpace, or InfrastructureFailure with the script's error message."""
    outcome = link.shell(script, *args, timeout_s=timeout_s)
    if outcome.timed_out:
        raise make_timeout_error(link.label, step_of(script), timeout_s)
    if outcome.rc == 0:
        return outcome.stdout
    if _NO_SPACE.search(outcome.stderr):
        raise make_no_space_error(link.label, step_of(script))
    why = summarize_output(outcome.stderr)
    msg = f"{link.label}: {step_of(script)} ended with {outcome.rc}: {why}"
    raise InfrastructureFailure(msg)


def free_kb(text: str) -> int | None:
    found = _FREE.search(text)
    return int(found[1]) if found else None


class Heartbeat:
    def __init__(self, link: Transport, timeouts: Timeouts, root: str) -> None:
        self._link = link
        self._timeouts = timeouts
        self._root = root
        self.abort = threading.Event()
        """Set when the machine is gone: pass it to the call that is watched."""
        self.stop = threading.Event()
        self.was_full = False
        self.waited_s = 0.0

    def beat(self) -> None:
        while not self.stop.wait(self._timeouts.heartbeat_s):
            began = time.monotonic()
            if not self._is_there() and not self.stop.is_set():
                self.waited_s = time.monotonic() - began
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
def watch_machine(link: Transport, timeouts: Timeouts, root: str, step: str) -> Iterator[Heartbeat]:
    """Raise ConnectionLost if the machine is gone by the end of the block."""
    watch = Heartbeat(link, timeouts, root)
    thread = threading.Thread(target=watch.beat, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        watch.stop.set()
        thread.join(timeouts.probe_s)
    if watch.abort.is_set():
        msg = f"{link.label}: no sign of life for {watch.waited_s:.0f} s while {step}"
        raise ConnectionLost(msg)
