"""Text of others: in a runner's log, which takes some lines for commands, and on pages. Pure."""

from __future__ import annotations

_LONGEST_MESSAGE = 300


def one_line(text: str, *, most: int = _LONGEST_MESSAGE) -> str:
    """Make untrusted text safe for a log: one line, printable, not a command of a runner."""
    line = "".join(c if c.isprintable() else " " for c in text[: 4 * most])
    line = " ".join(line.split()).replace("##[", "# #[").replace("::", ": :")
    return line if len(line) <= most else f"{line[: most - 1]}…"


def normalize_body(body: object) -> str:
    """Normalize a body for comparison: GitHub may change line ends, and drop the last one."""
    text = body if isinstance(body, str) else ""
    return text.replace("\r\n", "\n").rstrip()
