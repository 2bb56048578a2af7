"""``megtrim ci github logs``: the logs of builds that failed, bounded and without passwords."""

from __future__ import annotations

import re
from pathlib import Path

import click

from megtrim.chain.store import MANIFEST
from megtrim.cli.echo import show
from megtrim.cli.environment import read_cache_variables
from megtrim.cli.options import out_option
from megtrim.util.errors import EXIT_PASS
from megtrim.util.files import write_atomically

LARGEST_BYTES = 512 * 1024
"""Of one log; the end is kept, which shows the failure."""
MOST_LOGS = 8
_LOG = "build.log"
_CUT = "... the beginning was left out: {} bytes\n"
_BEFORE_BYTES = 8 * 1024
"""Read before the part that is kept: a cut could leave half a password, which nothing finds."""
_OPENS = re.compile(r"(?<=://)[^/\s]{1,2000}@")
_TOKEN = re.compile(r"(?<=\|)(bearer-token|header)=[^|\s]{1,2000}")
"""The step that copies does not get the password itself: it is recognised by its place."""


@click.command(
    epilog="""\b
Example:
  megtrim ci github logs --out megtrim-out --to logs
"""
)
@out_option("Folder of results.")
@click.option("--to", type=click.Path(path_type=Path), required=True, help="Folder to copy to.")
def logs(out: Path, to: Path) -> int:
    """Copy the end of each failed build's log, for an artifact of the run.

    Passwords of the compiler cache are removed.
    """
    secrets = [value for value in read_cache_variables().values() if "@" in value or "|" in value]
    failed = [
        path
        for path in sorted(out.glob(f"*/*/{_LOG}"))
        if path.is_file() and not path.is_symlink() and not (path.parent / MANIFEST).exists()
    ]
    newest = sorted(failed, key=lambda path: path.stat().st_mtime)[-MOST_LOGS:]
    for path in newest:
        name = "-".join(path.parent.relative_to(out).parts)
        write_atomically(to / f"{name}.log", _read_redacted_tail(path, secrets))
        show(f"kept {to / name}.log")
    return EXIT_PASS


def _read_redacted_tail(path: Path, secrets: list[str]) -> str:
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - LARGEST_BYTES - _BEFORE_BYTES))
        data = stream.read(LARGEST_BYTES + _BEFORE_BYTES)
    text = data.decode("utf-8", "replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _TOKEN.sub(r"\1=***", _OPENS.sub("***@", text))
    if size <= LARGEST_BYTES:
        return text
    return _CUT.format(size - LARGEST_BYTES) + text[-LARGEST_BYTES:]
