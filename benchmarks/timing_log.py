"""Time to read a log of a million lines strictly, over a plain pass over its lines.

    PYTHONPATH=tests python benchmarks/timing_log.py
    PYTHONPATH=tests python benchmarks/timing_log.py --lines 100000 --rounds 9 --json

For each form of a log a process of its own makes it, and another one reads it: both ways in turns,
and the figure to quote is the ratio of their medians, in CPU time. A plain pass is
`for line in file: pass`.
Memory is the largest of the reading process, Python and numpy included. In the last log nine of
ten lines are the program's own messages, without times.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import click

from megtrim.load_and_run.timing_logs.reader import read_timing_log
from megtrim.process import Command, ProcessRunner
from support.timing_logs import Form, MadeLog

LINES, ROUNDS = 1_000_000, 5
MOST_RATIO, MOST_MB = 5.0, 200
NOISY = "NOISY"
_FORMS = (Form.CASES, Form.FIRST_LITE, Form.E2E, Form.LOGGED)
_MESSAGE = "[20 20:42:52 @:262][WARN] Non-const var shape detected. Make sure shapes are constant"


def make(path: Path, form: str, lines: int) -> None:
    """Write a log with so many lines."""
    drawn = random.Random(1)
    noisy = form == NOISY
    count = lines // 10 if noisy else lines
    whole = [drawn.lognormvariate(3.4, 0.2) for _ in range(count)]
    # As recorded: up to 1.6 all three times nearly agree, later the host is done much earlier.
    old = form == Form.CASES.name
    times = tuple(
        (ms, ms - 0.003 if old else drawn.lognormvariate(1.5, 0.4), ms - 0.015) for ms in whole
    )
    made = MadeLog(
        form=Form.LOGGED if noisy else Form[form],
        load_ms=60.0,
        prepare_ms=40.0,
        warmup_ms=(300.0,),
        tests=(times,),
    )
    text = made.text()
    if noisy:
        text = text.replace("\n", "\n" + 9 * f"{_MESSAGE}\n")
    path.write_text(text, encoding="utf-8")


def pass_over(path: Path) -> None:
    """Read the lines, and do nothing with them."""
    with path.open("rb") as file:
        for _ in file:
            pass


def read(path: Path) -> None:
    """Read the log strictly."""
    with path.open("rb") as file:
        read_timing_log(file, source=path.name)


def measure(path: Path, rounds: int) -> dict[str, float]:
    """Return the medians of both ways in seconds, their ratio, and the memory."""
    plain_s: list[float] = []
    strict_s: list[float] = []
    for number in range(rounds):
        for way, taken in ((pass_over, plain_s), (read, strict_s))[:: -1 if number % 2 else 1]:
            taken.append(_seconds(way, path))
    plain, strict = statistics.median(plain_s), statistics.median(strict_s)
    peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "plain_s": round(plain, 4),
        "strict_s": round(strict, 4),
        "ratio": round(strict / plain, 2),
        "peak_mb": round(peak_kb / 1024, 1),
    }


def _seconds(way: Callable[[Path], None], path: Path) -> float:
    start = time.process_time()
    way(path)
    return time.process_time() - start


def _run_apart(*arguments: str) -> str:
    argv = (sys.executable, str(Path(__file__).resolve()), *arguments)
    ended = ProcessRunner(os.environ).run(Command(argv=argv, timeout_s=3600))
    if not ended.ok:
        raise click.ClickException(ended.stderr)
    return ended.stdout


@click.command()
@click.option("--lines", type=click.IntRange(100), default=LINES, show_default=True)
@click.option("--rounds", type=click.IntRange(1), default=ROUNDS, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--make", "made", hidden=True, nargs=2)
@click.option("--measure", "measured", hidden=True)
def main(
    lines: int, rounds: int, as_json: bool, made: tuple[str, str] | None, measured: str | None
) -> None:
    """Print how long it takes to read logs, over a plain pass."""
    if made:
        make(Path(made[0]), made[1], lines)
        return
    if measured:
        click.echo(json.dumps(measure(Path(measured), rounds)))
        return
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for form in (*(each.name for each in _FORMS), NOISY):
            path = Path(folder) / f"{form}.log"
            _run_apart("--lines", str(lines), "--make", str(path), form)
            found[form] = json.loads(_run_apart("--rounds", str(rounds), "--measure", str(path)))
            path.unlink()
    if as_json:
        click.echo(json.dumps(found, indent=1))
    else:
        click.echo(f"{lines:,} lines, {rounds} rounds")
        for form, row in found.items():
            click.echo(
                f"{form:<11} {row['strict_s']:.3f} s over {row['plain_s']:.3f} s: "
                f"{row['ratio']:.2f} times, {row['peak_mb']:.0f} MB"
            )
    within = all(row["ratio"] <= MOST_RATIO and row["peak_mb"] <= MOST_MB for row in found.values())
    raise SystemExit(0 if within else 1)


if __name__ == "__main__":
    main()
