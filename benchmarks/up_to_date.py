"""CPU time of a trim that finds everything up to date, over the same without looking for damage.

    python benchmarks/up_to_date.py
    python benchmarks/up_to_date.py --before CHECKOUT

Both sides trim the sample engine once, each into a folder of its own, then take turns; the figure
to quote is the ratio of their medians. The other side compares sizes alone; with --before it is
another version of megtrim, whose checkout is named.
"""

import os
import resource
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import click

from megtrim.libs.util.process import Command, ProcessRunner

TARGET = 1.03
SAMPLE = Path(__file__).parents[1] / "examples/sample-engine/megtrim.yaml"
HERE = Path(__file__).parents[1] / "ci"
_CHECKED = "from megtrim.__main__ import run; run()"
_BY_SIZE = f"""\
from megtrim import integrity
integrity.read_damage = lambda folder, files: ("", {{}} if [
    (folder / name).stat().st_size for name in files] else {{}})
integrity.read_known = lambda path, sha256: sha256
{_CHECKED}
"""


class Side:
    def __init__(self, out: Path, program: str, package: Path) -> None:
        self._argv = (
            sys.executable,
            "-c",
            program,
            "trim",
            "--config",
            str(SAMPLE),
            "--out",
            str(out),
        )
        self._env: Mapping[str, str] = {"PYTHONPATH": str(package)}

    def cpu_s(self) -> float:
        """Trim, and return what that took of the CPU, user and system."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = Command(argv=self._argv, timeout_s=3600, env=self._env)
        ended = ProcessRunner(os.environ).run(command)
        if not ended.ok:
            raise click.ClickException(ended.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@click.command()
@click.option("--before", type=click.Path(path_type=Path), help="Checkout of another megtrim.")
@click.option("--rounds", type=click.IntRange(3), default=15, show_default=True)
def main(before: Path | None, rounds: int) -> None:
    """Take turns, and print the ratio."""
    with tempfile.TemporaryDirectory() as folder:
        other = (_BY_SIZE, HERE) if before is None else (_CHECKED, before.absolute() / "ci")
        sides = [Side(Path(folder, "now"), _CHECKED, HERE), Side(Path(folder, "other"), *other)]
        for side in sides:
            for _ in range(2):  # builds, then remembers what it found
                side.cpu_s()
        taken = [[side.cpu_s() for side in sides] for _ in range(rounds)]
    now, then = (statistics.median(times) for times in zip(*taken, strict=True))
    click.echo(f"{now:.3f} s of CPU, the other {then:.3f} s, medians of {rounds}")
    click.echo(f"ratio {now / then:.3f} (target {TARGET})")


if __name__ == "__main__":
    main()
