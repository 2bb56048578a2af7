"""``python -m megtrim`` is ``megtrim``: both begin here, so that Ctrl-C is quiet from the start."""

from __future__ import annotations

import sys

from megtrim.errors import Interrupted


def run() -> None:
    """Load the command line and run it."""
    try:
        from megtrim.cli.main import run as run_command_line  # noqa: PLC0415 - it takes a moment

        run_command_line()
    except KeyboardInterrupt:
        sys.stderr.write("megtrim: interrupted\n")
        sys.exit(Interrupted.exit_code)


if __name__ == "__main__":
    run()
