"""Write networks of full size and an input for them, through the engine's own dump interface.

    python benchmarks/models/write_models.py --engine ENGINE
    python benchmarks/models/write_models.py --engine ENGINE --network resnet50

Builds the plain engine (half an hour on two cores; second_level.py goes on from there with the
same --out), links the program in writer/ with it, and runs that on the configuration's device.
Leaves NETWORK.mge (the engine's first format, weights of noise) and data.npy in the folder that
resnet50.yaml reads. The same engine writes the same bytes again.
"""

from pathlib import Path

import click
import numpy as np

from megtrim.core import stages
from megtrim.core.chain.graph import PLAIN
from megtrim.core.chain.session import Session, binary
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.setup import open_session
from megtrim.libs.util.files import sha256_file

HERE = Path(__file__).resolve().parent
TO = HERE / "out"
WRITER = "write-model"
NETWORKS = ("resnet50", "mobilenet", "squeezenet")
"""102 MB, 17 MB and 5 MB; mobilenet leaves it to the engine to fuse its operators."""
INPUT = "data.npy"
SHAPE = (1, 3, 224, 224)
_TIMEOUT_S = 600.0


def write_networks(session: Session, names: tuple[str, ...]) -> dict[str, bytes]:
    plain = stages.obtain(PLAIN, session)
    if plain is None:
        raise session.results.failed[PLAIN]
    written = {}
    device = next(iter(session.services.devices.values()))
    with device.reserve() as lease, lease.open() as directory:
        directory.put(binary(plain, WRITER), WRITER)
        for name in names:
            ended = directory.run((WRITER, name, _file_of(name)), timeout_s=_TIMEOUT_S)
            data = directory.get(_file_of(name))
            if ended.rc != 0 or not data:
                msg = f"{WRITER} {name}: {ended.rc}, {len(data or b'')} bytes\n{ended.stderr}"
                raise SystemExit(msg)
            written[name] = data
    return written


def write_input(path: Path) -> None:
    """Write numbers from 0 to 1 that look like noise, by multiplication: the same everywhere."""
    index = np.arange(np.prod(SHAPE), dtype=np.uint64)
    spread = index * np.uint64(2654435761) % np.uint64(2**32)
    np.save(path, (spread / 2.0**32).astype(np.float32).reshape(SHAPE))


def _file_of(network: str) -> str:
    return f"{network}.mge"


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=HERE / "writer.yaml")
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=TO / "megtrim")
@click.option("--to", type=click.Path(path_type=Path), default=TO, help="Folder of the models.")
@click.option("--network", "names", type=click.Choice(NETWORKS), multiple=True, default=NETWORKS)
def main(config: Path, engine: Path | None, out: Path, to: Path, names: tuple[str, ...]) -> None:
    """Build, run, write."""
    session = open_session(Options(config=config, out=out, engine=engine, jobs=None, quiet=False))
    to.mkdir(parents=True, exist_ok=True)
    for name, data in write_networks(session, names).items():
        (to / _file_of(name)).write_bytes(data)
    write_input(to / INPUT)
    for file in (*(_file_of(name) for name in names), INPUT):
        click.echo(f"{to / file}: sha256 {sha256_file(to / file)}")


if __name__ == "__main__":
    main()
