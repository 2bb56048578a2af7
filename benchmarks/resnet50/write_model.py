"""Write a full-size ResNet-50 and an input for it, tasks_up_to the engine's own dump interface.

    python benchmarks/resnet50/write_model.py --engine ENGINE

Builds the plain engine (half an hour on two cores; second_level.py goes on from there with the
same --out), links the program in writer/ with it, and runs that on the configuration's device.
Leaves resnet50.mge (102 MB, the engine's first format, weights of noise) and data.npy in the
folder that megtrim.yaml reads. The same engine writes the same bytes again.
"""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from megtrim.cli.session.setup import Options, open_session
from megtrim.pipeline.session import Session, binary
from megtrim.plan.graph import PLAIN
from megtrim.stages import runner
from megtrim.store import sha256_file

HERE = Path(__file__).resolve().parent
TO = HERE / "out"
WRITER = "write-resnet50"
MODEL = "resnet50.mge"
INPUT = "data.npy"
SHAPE = (1, 3, 224, 224)
_TIMEOUT_S = 600.0


def model_bytes(session: Session) -> bytes:
    """Build the writer, run it on the first device, and return the model."""
    plain = runner.obtain(PLAIN, session)
    if plain is None:
        raise session.results.failed[PLAIN]
    device = next(iter(session.services.devices.values()))
    with device.reserve() as lease, lease.open() as directory:
        directory.put(binary(plain, WRITER), WRITER)
        ended = directory.run((WRITER, MODEL), timeout_s=_TIMEOUT_S)
        data = directory.get(MODEL)
    if ended.rc != 0 or not data:
        msg = f"{WRITER} ended with {ended.rc} and wrote {len(data or b'')} bytes\n{ended.stderr}"
        raise SystemExit(msg)
    return data


def write_input(path: Path) -> None:
    """Write numbers from 0 to 1 that look like noise, by multiplication: the same everywhere."""
    index = np.arange(np.prod(SHAPE), dtype=np.uint64)
    spread = index * np.uint64(2654435761) % np.uint64(2**32)
    np.save(path, (spread / 2.0**32).astype(np.float32).reshape(SHAPE))


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=HERE / "writer.yaml")
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=TO / "megtrim")
@click.option("--to", type=click.Path(path_type=Path), default=TO, help="Folder of the model.")
def main(config: Path, engine: Path | None, out: Path, to: Path) -> None:
    """Build, run, write."""
    session = open_session(Options(config=config, out=out, engine=engine, jobs=None, quiet=False))
    to.mkdir(parents=True, exist_ok=True)
    (to / MODEL).write_bytes(model_bytes(session))
    write_input(to / INPUT)
    for name in (MODEL, INPUT):
        click.echo(f"{to / name}: sha256 {sha256_file(to / name)}")


if __name__ == "__main__":
    main()
