"""What a person at a terminal waits for: the longest silence.

    python benchmarks/waiting.py
    python benchmarks/waiting.py -- python3 scripts/fresh.py demo

Without a command the sample engine is trimmed. Everything runs on a pseudo terminal; the silence is
the longest time between two outputs, whatever they are.
"""

import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from megtrim.libs.util.process import Command, ProcessRunner

MOST_SILENCE_S = 5.0
SAMPLE = Path(__file__).parents[1] / "examples/sample-engine/megtrim.yaml"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    wall_s: float
    silence_s: float
    """The longest time without any output."""
    after: str
    """The last line before it."""


def watch(argv: Sequence[str], env: Mapping[str, str]) -> Watched:
    """Run a command on a terminal of its own, and note when it writes."""
    with tempfile.TemporaryDirectory() as folder:
        screen = Path(folder, "screen")
        timing = Path(folder, "timing")
        logs = ("--log-out", str(screen), "--log-timing", str(timing), "--logging-format=classic")
        script = ("script", "--quiet", "--return", *logs, "--command", shlex.join(argv))
        began = time.monotonic()
        ended = ProcessRunner(env).run(Command(argv=script, timeout_s=7200))
        wall_s = time.monotonic() - began
        if not ended.ok:
            msg = f"{shlex.join(argv)} failed:\n{ended.stdout[-2000:]}"
            raise click.ClickException(msg)
        return _judge(tuple(_outputs(screen.read_bytes(), timing.read_text())), wall_s)


def _outputs(screen: bytes, timing: str) -> Iterator[tuple[float, str]]:
    at = screen.index(b"\n") + 1  # below a line of the recorder's own
    for entry in timing.splitlines():
        waited, size = entry.split()
        data = screen[at : at + int(size)]
        at += int(size)
        yield float(waited), _ESCAPES.sub("\n", data.decode(errors="replace"))


def _judge(outputs: Sequence[tuple[float, str]], wall_s: float) -> Watched:
    said = sum(waited for waited, _ in outputs)
    silence_s = 0.0
    after = ""
    line = ""
    for waited, text in (*outputs, (max(0.0, wall_s - said), "")):
        if waited > silence_s:
            silence_s = waited
            after = line
        line = next((each for each in reversed(text.splitlines()) if each.strip()), line)
    return Watched(wall_s=wall_s, silence_s=silence_s, after=after)


@click.command()
@click.argument("command", nargs=-1)
def main(command: tuple[str, ...]) -> None:
    """Watch COMMAND, or a trim of the sample engine."""
    with tempfile.TemporaryDirectory() as scratch:
        trim = ("-m", "megtrim", "trim", "--config", str(SAMPLE), "--out", scratch)
        seen = watch(command or (sys.executable, *trim), os.environ)
    click.echo(f"{seen.wall_s:.0f} s, load {os.getloadavg()[0]:.1f}")
    click.echo(f"  longest silence {seen.silence_s:.1f} s (at most {MOST_SILENCE_S:g} s)")
    click.echo(f"    after: {seen.after.strip()[:100]}")
    sys.exit(seen.silence_s > MOST_SILENCE_S)


if __name__ == "__main__":
    main()
