"""Text of others in a runner's log, which takes some lines for commands. Pure."""

from __future__ import annotations

_LONGEST_MESSAGE = 300


def one_line(text: str, *, most: int = _LONGEST_MESSAGE) -> str:
    """Make untrusted text safe for a log: one line, printable, not a command of a runner."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * most])
    line = " ".join(line.split()).replace("##[", "# #[").replace("::", ": :")
    return line if len(line) <= most else f"{line[: most - 1]}…"
