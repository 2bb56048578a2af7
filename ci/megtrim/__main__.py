"""``python -m megtrim`` is ``megtrim``: both begin here, so that Ctrl-C is quiet from the start."""

import atexit
import gc
import os
import signal
import stat
import sys
from types import FrameType

from megtrim.libs.util.errors import Interrupted

_ALLOCATIONS = 50_000
"""Between two collections of garbage: what is loaded is none, and looking takes a tenth of it."""


def run() -> None:
    gc.set_threshold(_ALLOCATIONS)
    # Otherwise Python looks twice for garbage in all that is loaded, only to end.
    atexit.register(gc.freeze)
    try:
        _hear_interrupts()
        from megtrim.core.cli.main import run as run_command_line
        from megtrim.core.parts import hand_in
        from megtrim.parts import PARTS

        hand_in(PARTS)
        run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("megtrim: interrupted\n")
        sys.exit(Interrupted.exit_code)


def _hear_interrupts() -> None:
    """Let SIGTERM, which a cancelled CI job sends, and SIGHUP clean up like Ctrl-C does.

    A shell's background job begins with SIGINT ignored; whoever sends it means it all the same.
    Where SIGHUP is ignored, that is what ``nohup`` was asked for.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _hang_up)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _hang_up(_number: int, _frame: FrameType | None) -> None:
    """Interrupt. Writing to a terminal that is gone fails: what is still said goes nowhere."""
    for descriptor in (1, 2):
        # One that is gone is a device still, but answers no question about terminals.
        if stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, descriptor)
            os.close(nowhere)
    raise KeyboardInterrupt


if __name__ == "__main__":
    run()
