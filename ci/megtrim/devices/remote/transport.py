"""Transports to machines that have a POSIX shell: run a script there, push a file, pull a file.

A remote script prints a last line that only its own end can print. So output that was cut off is
never taken for complete, and the status of adb or ssh never for the script's. Scripts are
constants; what varies is passed as arguments.
"""

from __future__ import annotations

import re
import secrets
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from megtrim.evidence.limits import clean_line
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import CompletedCommand

ALIVE_SCRIPT = '# megtrim:probe\necho "$1"\n'
"""Print the argument: a random word, which nothing but this script can print."""

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
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        """Run a script with ``args`` as its ``$1`` and so on; ``rc`` is its own exit status.

        It must start with a comment ``# megtrim:STEP``. A call that timed out or was aborted is
        returned as such.
        """

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Copy a file to the machine. Also raises NoSpace."""

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Fetch a file from the machine."""


def new_nonce() -> str:
    """Return a word that no one can guess."""
    return f"end-{secrets.token_hex(8)}"


def frame(script: str, args: tuple[str, ...], nonce: str) -> str:
    """Return a shell script that runs ``script`` and then prints ``nonce`` and its exit status."""
    # A trap, not a subshell: the shell that gets a lost connection's signal must run the script.
    quoted = "".join(f" {shlex.quote(arg)}" for arg in args)
    return f'trap \'printf "\\n%s %d\\n" {nonce} "$?"\' EXIT\nset --{quoted}\n{script}'


def unframe(stdout: str, nonce: str) -> tuple[str, int] | None:
    """Return what a framed script printed and its status, or None if its end is missing."""
    text, found, trailer = stdout.rpartition(f"\n{nonce} ")
    status = trailer.removesuffix("\n").removesuffix("\r")
    if not found or not _STATUS.fullmatch(status):
        return None
    return text, int(status)


def unframe_outcome(
    outcome: CompletedCommand, nonce: str, *, label: str, script: str
) -> CompletedCommand:
    """Return the script's own outcome from that of its framed call, or raise ConnectionLost."""
    if outcome.timed_out or outcome.aborted:
        return outcome
    end = unframe(outcome.stdout, nonce)
    if end is None:
        raise make_lost_error(label, step_of(script), outcome.stderr or outcome.stdout)
    return CompletedCommand(
        argv=outcome.argv,
        rc=end[1],
        stdout=end[0],
        stderr=outcome.stderr,
        wall_s=outcome.wall_s,
        timed_out=False,
    )


def step_of(script: str) -> str:
    """Return a description of what a script does, from its marker."""
    mark = _MARK.search(script)
    return _STEPS.get(mark[1] if mark else "", "talking to it")


def make_lost_error(label: str, step: str, output: str) -> ConnectionLost:
    """Return the failure of a broken connection; ``output`` is what adb or ssh printed."""
    return ConnectionLost(f"{label}: the link was lost while {step}: {summarize_output(output)}")


def make_timeout_error(label: str, step: str, waited_s: float) -> ConnectionLost:
    """Return the failure for a machine that did not answer in time."""
    return ConnectionLost(f"{label}: no answer within {waited_s:.0f} s while {step}")


def expect_transferred(
    outcome: CompletedCommand, *, label: str, step: str, timeout_s: float
) -> None:
    """Raise ConnectionLost if a transfer failed; if it was aborted, the caller explains why."""
    if outcome.timed_out:
        raise make_timeout_error(label, step, timeout_s)
    if not outcome.ok and not outcome.aborted:
        raise make_lost_error(label, step, outcome.stderr or outcome.stdout)


def expect_pushed(outcome: CompletedCommand, *, label: str, step: str, timeout_s: float) -> None:
    """Likewise for a push, which also raises NoSpace if the machine's disk is full."""
    if not outcome.ok and is_out_of_space(outcome.stderr + outcome.stdout):
        raise make_no_space_error(label, step)
    expect_transferred(outcome, label=label, step=step, timeout_s=timeout_s)


def is_out_of_space(output: str) -> bool:
    """Tell whether a tool reported a full disk."""
    return bool(_NO_SPACE.search(output))


def make_no_space_error(label: str, step: str) -> NoSpace:
    """Return the failure for a machine whose disk is full."""
    msg = f"{label}: no space left while {step}"
    return NoSpace(msg, hint="free some space on it; `megtrim devices check` shows how much it has")


def summarize_output(output: str) -> str:
    """Return the last lines of a tool's output as one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    output = "; ".join(lines[-3:]) or "it ended without a message"
    # A phone's output ends up on terminals and in logs of runners, which may obey it as commands.
    shown = output if len(output) <= _LONGEST_SUMMARY else f"…{output[1 - _LONGEST_SUMMARY :]}"
    return clean_line(shown)


def call(link: Transport, script: str, *args: str, timeout_s: float) -> str:
    """Run a script that must succeed, and return what it prints.

    Raises ConnectionLost, NoSpace, or InfrastructureFailure with the script's error message.
    """
    outcome = link.shell(script, *args, timeout_s=timeout_s)
    if outcome.timed_out:
        raise make_timeout_error(link.label, step_of(script), timeout_s)
    if outcome.rc == 0:
        return outcome.stdout
    if is_out_of_space(outcome.stderr):
        raise make_no_space_error(link.label, step_of(script))
    why = summarize_output(outcome.stderr)
    msg = f"{link.label}: {step_of(script)} ended with {outcome.rc}: {why}"
    raise InfrastructureFailure(msg)


def answers(link: Transport, *, timeout_s: float, abort: threading.Event | None = None) -> bool:
    """Tell whether the machine returns a random word."""
    word = new_nonce()
    try:
        outcome = link.shell(ALIVE_SCRIPT, word, timeout_s=timeout_s, abort=abort)
    except InfrastructureFailure:
        return False
    return outcome.ok and outcome.stdout == f"{word}\n"
