"""CPU time of the profile build over that of the plain one, both cold and without ccache.

    python benchmarks/profile_build.py
    python benchmarks/profile_build.py --config examples/megengine-linux-arm64.yaml --engine ENGINE

Both are built in one run into a folder that is removed afterwards; the figure to quote is the
ratio. MegEngine takes an hour on two cores.
"""

import os
import resource
import tempfile
from pathlib import Path

import click

from megtrim.core import stages
from megtrim.core.chain.graph import PLAIN, PROFILE
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.core.parts import hand_in
from megtrim.parts import PARTS

TARGET = 0.6
SAMPLE = Path(__file__).parents[1] / "examples/sample-engine/megtrim.yaml"


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=SAMPLE)
@click.option("--engine", type=click.Path(path_type=Path))
def main(config: Path, engine: Path | None) -> None:
    """Build both, and print the ratio."""
    os.environ["CCACHE_DISABLE"] = "1"
    with tempfile.TemporaryDirectory() as out:
        options = Options(config=config, out=Path(out), engine=engine, jobs=None, quiet=True)
        hand_in(PARTS)
        session = open_session(options)
        taken = []
        for task in (PLAIN, PROFILE):
            before = cpu_s()
            if stages.obtain(task, session) is None:
                raise session.results.failed[task]
            taken.append(cpu_s() - before)
    plain, profile = taken
    click.echo(f"plain {plain:.1f} s, profile {profile:.1f} s of CPU")
    click.echo(f"ratio {profile / plain:.2f} (target {TARGET})")


if __name__ == "__main__":
    main()
