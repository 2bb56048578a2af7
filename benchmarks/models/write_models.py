"""Write networks and an input for them, through the engine's own dump interface.

    python benchmarks/models/write_models.py --engine ENGINE
    python benchmarks/models/write_models.py --engine ENGINE --network resnet50
    python benchmarks/models/write_models.py --engine ENGINE --network resnet-int8 --format v2

Builds the plain engine (half an hour on two cores; second_level.py goes on from there with the
same --out), links the program in writer/ with it, and runs that on the configuration's device.
Leaves NETWORK.mge, or NETWORK.v2.mge in the engine's second format (weights of noise), and, for
networks of full size, data.npy in the folder that resnet50.yaml reads. The same engine writes the
same bytes again.
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
INT8_NETWORKS = ("resnet-int8", "mobilenet-int8")
"""Small ones, which stand in tests/data/models as well."""
FORMATS = {"v1": ".mge", "v2": ".v2.mge"}
INPUT = "data.npy"
SHAPE = (1, 3, 224, 224)
_TIMEOUT_S = 600.0


def write_networks(session: Session, names: tuple[str, ...], model_format: str) -> dict[str, bytes]:
    plain = stages.obtain(PLAIN, session)
    if plain is None:
        raise session.results.failed[PLAIN]
    written = {}
    device = next(iter(session.services.devices.values()))
    with device.reserve() as lease, lease.open() as directory:
        directory.put(binary(plain, WRITER), WRITER)
        for name in names:
            file = name + FORMATS[model_format]
            ended = directory.run((WRITER, name, file, model_format), timeout_s=_TIMEOUT_S)
            data = directory.get(file)
            if ended.rc != 0 or not data:
                msg = f"{WRITER} {name}: {ended.rc}, {len(data or b'')} bytes\n{ended.stderr}"
                raise SystemExit(msg)
            written[file] = data
    return written


def write_input(path: Path) -> None:
    """Write numbers from 0 to 1 that look like noise, by multiplication: the same everywhere."""
    index = np.arange(np.prod(SHAPE), dtype=np.uint64)
    spread = index * np.uint64(2654435761) % np.uint64(2**32)
    np.save(path, (spread / 2.0**32).astype(np.float32).reshape(SHAPE))


@click.command()
@click.option("--config", type=click.Path(path_type=Path), default=HERE / "writer.yaml")
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=TO / "megtrim")
@click.option("--to", type=click.Path(path_type=Path), default=TO, help="Folder of the models.")
@click.option(
    "--network",
    "names",
    type=click.Choice(NETWORKS + INT8_NETWORKS),
    multiple=True,
    default=NETWORKS,
)
@click.option("--format", "model_format", type=click.Choice(tuple(FORMATS)), default="v1")
def main(
    config: Path,
    engine: Path | None,
    out: Path,
    to: Path,
    names: tuple[str, ...],
    model_format: str,
) -> None:
    """Build, run, write."""
    session = open_session(Options(config=config, out=out, engine=engine, jobs=None, quiet=False))
    to.mkdir(parents=True, exist_ok=True)
    written = write_networks(session, names, model_format)
    for file, data in written.items():
        (to / file).write_bytes(data)
    write_input(to / INPUT)
    for file in (*written, INPUT):
        click.echo(f"{to / file}: sha256 {sha256_file(to / file)}")


if __name__ == "__main__":
    main()
