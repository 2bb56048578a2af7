"""A way to a machine that has a POSIX shell: run a script there, bring a file, fetch a file.

A remote script's end is told by a last line that only its own end can print, so that a stream
that was cut is never taken for an end, nor the status of the tool that carried it for the
script's. Scripts are constant texts; what varies goes in as arguments.
"""

from __future__ import annotations

import re
import secrets
import shlex
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from megtrim.errors import InfrastructureFailure
from megtrim.evidence.validation import clean_line
from megtrim.process import CompletedCommand

ALIVE_SCRIPT = '# megtrim:probe\necho "$1"\n'
"""Print the argument: an answer that nobody else can give."""

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
_LONGEST_SAID = 300


class ConnectionLost(InfrastructureFailure):
    """The way to the machine failed, and with it what was being done there."""


class NoSpace(InfrastructureFailure):
    """The machine has no space left."""


class Transport(Protocol):
    """A way to one machine. Every call is bounded, and raises ConnectionLost if the way failed."""

    label: str
    """How messages call the machine, such as ``pixel-6 (serial 1A2B)``."""

    def shell(
        self,
        script: str,
        *args: str,
        timeout_s: float,
        on_line: Callable[[str], None] | None = None,
        abort: threading.Event | None = None,
    ) -> CompletedCommand:
        """Run a script with ``args`` as its ``$1`` and so on; its true exit status is ``rc``.

        Begin it with a comment ``# megtrim:STEP``. A call that was too slow or aborted is an
        Outcome that says so.
        """

    def push(
        self, source: Path, target: str, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Bring a file; also raises NoSpace."""

    def pull(
        self, source: str, target: Path, *, timeout_s: float, abort: threading.Event | None = None
    ) -> None:
        """Fetch a file."""


def new_nonce() -> str:
    """Return a word that nobody can guess."""
    return f"end-{secrets.token_hex(8)}"


def frame(script: str, args: tuple[str, ...], nonce: str) -> str:
    """Return one shell text that runs the script and tells its end and status on stdout."""
    # A trap and no subshell: the shell that hears of a lost link must be the script's own.
    words = "".join(f" {shlex.quote(arg)}" for arg in args)
    return f'trap \'printf "\\n%s %d\\n" {nonce} "$?"\' EXIT\nset --{words}\n{script}'


def unframe(stdout: str, nonce: str) -> tuple[str, int] | None:
    """Return what a framed script printed and its status, or None where its end is missing."""
    text, found, trailer = stdout.rpartition(f"\n{nonce} ")
    status = trailer.removesuffix("\n").removesuffix("\r")
    if not found or not _STATUS.fullmatch(status):
        return None
    return text, int(status)


def unframe_outcome(
    outcome: CompletedCommand, nonce: str, *, label: str, script: str
) -> CompletedCommand:
    """Return a framed call's outcome as the script's own, or raise ConnectionLost."""
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
    """Return what a script does, in words, from its marker."""
    mark = _MARK.search(script)
    return _STEPS.get(mark[1] if mark else "", "talking to it")


def make_lost_error(label: str, step: str, said: str) -> ConnectionLost:
    """Return the failure of a link that broke; ``said`` is what its tool had to say."""
    return ConnectionLost(f"{label}: the link was lost while {step}: {short(said)}")


def silent(label: str, step: str, waited_s: float) -> ConnectionLost:
    """Return the failure of a machine that did not answer in time."""
    return ConnectionLost(f"{label}: no answer within {waited_s:.0f} s while {step}")


def expect_transferred(
    outcome: CompletedCommand, *, label: str, step: str, timeout_s: float
) -> None:
    """Raise ConnectionLost where a transfer failed; an abort is its caller's to explain."""
    if outcome.timed_out:
        raise silent(label, step, timeout_s)
    if not outcome.ok and not outcome.aborted:
        raise make_lost_error(label, step, outcome.stderr or outcome.stdout)


def expect_pushed(outcome: CompletedCommand, *, label: str, step: str, timeout_s: float) -> None:
    """The same where a file was brought: then it is the machine's disk that may be full."""
    if not outcome.ok and out_of_space(outcome.stderr + outcome.stdout):
        raise no_space(label, step)
    expect_transferred(outcome, label=label, step=step, timeout_s=timeout_s)


def out_of_space(said: str) -> bool:
    """Tell whether a tool complained of a full disk."""
    return bool(_NO_SPACE.search(said))


def no_space(label: str, step: str) -> NoSpace:
    """Return the failure of a machine whose disk is full."""
    msg = f"{label}: no space left while {step}"
    return NoSpace(msg, hint="free some space on it; `megtrim devices check` shows how much it has")


def short(said: str) -> str:
    """Return the last words of a tool in one line."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    said = "; ".join(lines[-3:]) or "it ended without a word"
    # A phone's words end up on terminals and in the logs of runners, which obey some of them.
    shown = said if len(said) <= _LONGEST_SAID else f"…{said[1 - _LONGEST_SAID :]}"
    return clean_line(shown)


def call(link: Transport, script: str, *args: str, timeout_s: float) -> str:
    """Run a script that must succeed, and return what it prints.

    Raises ConnectionLost, NoSpace, and InfrastructureFailure with the script's own words.
    """
    outcome = link.shell(script, *args, timeout_s=timeout_s)
    if outcome.timed_out:
        raise silent(link.label, step_of(script), timeout_s)
    if outcome.rc == 0:
        return outcome.stdout
    if out_of_space(outcome.stderr):
        raise no_space(link.label, step_of(script))
    msg = f"{link.label}: {step_of(script)} ended with {outcome.rc}: {short(outcome.stderr)}"
    raise InfrastructureFailure(msg)


def answers(link: Transport, *, timeout_s: float, abort: threading.Event | None = None) -> bool:
    """Tell whether the machine gives back a word that it cannot know."""
    word = new_nonce()
    try:
        outcome = link.shell(ALIVE_SCRIPT, word, timeout_s=timeout_s, abort=abort)
    except InfrastructureFailure:
        return False
    return outcome.ok and outcome.stdout == f"{word}\n"
