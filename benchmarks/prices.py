"""Prices of models at the margin: attributed, and by builds without each model.

    python benchmarks/prices.py
    python benchmarks/prices.py --level function
    python benchmarks/prices.py --config CONFIG --engine ENGINE --out OUT

Without a configuration, the sample engine is trimmed for its three models and for five that are
written here, each with operators and kernels of its own. Then the engine is built once more without
each model. An attributed price is good if it is within 5% of the real one, or
within 4 KiB if that is more. Builds take a minute or two on an idle machine; those of MegEngine
take as long as the files that differ between its models.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import numpy as np
import yaml

from megtrim.cli.session.setup import Options, open_session
from megtrim.pipeline.pricing import attributed
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.checked import PriceCheck
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PROFILE_REFERENCES, REDUCED, SHIPPED_REFERENCES
from megtrim.size.prices.price_list import Price, PriceKind
from megtrim.stages import runner

ENGINE = Path(__file__).resolve().parents[1] / "examples/sample-engine"
sys.path.insert(0, str(ENGINE))
_SAMPLE: Any = import_module("write_models")
ModelWriter, Noise = _SAMPLE.ModelWriter, _SAMPLE.Noise

WITHIN, WITHIN_BYTES = 0.05, 4096


def wide() -> Any:
    """5 x 5 and 7 x 7 convolutions with a sigmoid, average pooling."""
    model, noise = ModelWriter(), Noise(11)
    value = model.input("data", (1, 3, 32, 32))
    for out, size in ((8, 7), (16, 5)):
        kernel = model.weight(noise.filters(out, value.shape[1], size))
        value = model.conv(value, kernel, stride=2, pad=size // 2, activation="SIGMOID")
    value = model.pool(value, "AVERAGE_COUNT_EXCLUDE_PADDING", 3, 2, 1)
    model.output(value)
    return model


def scaled() -> Any:
    """Resizing both ways, concatenation and transposition."""
    model = ModelWriter()
    image = model.input("data", (1, 3, 24, 24))
    near = model.resize(image, "NEAREST", 16, 16)
    smooth = model.resize(image, "LINEAR", 16, 16)
    model.output(model.transpose(model.concat((near, smooth), 1), 0, 2, 3, 1))
    return model


def perceptron() -> Any:
    """Matrix products with other activations."""
    model, noise = ModelWriter(), Noise(13)
    value = model.input("data", (4, 64))
    for columns, mode in ((48, "TANH"), (32, "GELU"), (16, "SILU")):
        value = model.matmul(value, model.weight(noise.matrix(value.shape[1], columns)))
        value = model.elemwise(mode, value)
    model.output(value)
    return model


def statistics() -> Any:
    """Reductions, and elementwise functions of one, two and three operands."""
    model = ModelWriter()
    value = model.input("data", (1, 8, 16, 16))
    mean = model.reduce(value, "MEAN", 3)
    largest = model.reduce(value, "MAX", 3)
    both = model.elemwise("FUSE_MUL_ADD3", mean, largest, largest)
    model.output(model.elemwise("SQRT", model.elemwise("ABS", both)))
    return model


def signs() -> Any:
    """8-bit convolutions of other sizes, and a product of them."""
    model, noise = ModelWriter(), Noise(17)
    value = model.convert(model.input("data", (1, 3, 24, 24)), "QuantizedS8", 1.0 / 127)
    for out, size in ((8, 5), (8, 1)):
        each = value.shape[1]
        kernel = model.weight(noise.integers(out, each, size, size), "QuantizedS8", 0.001)
        value = model.conv(value, kernel, pad=size // 2, activation="IDENTITY", scale=0.02)
    value = model.elemwise("MUL", value, value, scale=0.04)
    model.output(model.convert(value, "Float32"))
    return model


MORE: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "wide": (wide, (1, 3, 32, 32)),
    "scaled": (scaled, (1, 3, 24, 24)),
    "perceptron": (perceptron, (4, 64)),
    "statistics": (statistics, (1, 8, 16, 16)),
    "signs": (signs, (1, 3, 24, 24)),
}


def write_project(folder: Path, level: str) -> Path:
    """Write all models and a configuration for them; return that."""
    every = {
        name: (make, _SAMPLE.INPUT_SHAPES[name]) for name, make in _SAMPLE.MODELS.items()
    } | MORE
    models = []
    for seed, (name, (make, shape)) in enumerate(every.items(), 100):
        make().write(folder / f"{name}.sample")
        np.save(folder / f"{name}.npy", Noise(seed).uniform(*shape))
        scenario = {"name": "default", "args": ["--cpu"], "inputs": {"data": f"{name}.npy"}}
        models.append({"name": name, "file": f"{name}.sample", "scenarios": [scenario]})
    config = {
        "version": 1,
        "engine": {"kind": "sample", "source": str(ENGINE)},
        "toolchain": {"kind": "auto"},
        "trim": {"level": level},
        "models": models,
    }
    path = folder / "megtrim.yaml"
    path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    return path


def open_artifact(options: Options) -> tuple[Session, PricedArtifact]:
    """Trim, and return the first program with what refers to what in it."""
    session = open_session(options)
    for task in (REDUCED, SHIPPED_REFERENCES, PROFILE_REFERENCES):
        if runner.obtain(task, session) is None:
            raise next(iter(session.results.failed.values()))
    return session, next(attributed.open_artifacts(session))


def is_good(price: Price) -> bool:
    """Return whether the attributed price is near the real one."""
    real, error = price.built_margin_bytes or 0, price.error_bytes or 0
    return abs(error) <= max(WITHIN * real, WITHIN_BYTES)


def measure(options: Options, *, alone: bool, calibrated: int) -> bool:
    """Print every model's prices; return whether all are good."""
    session, artifact = open_artifact(options)
    check = PriceCheck(session=session, obtain=runner.obtain, builds_alone=alone)
    click.echo(f"{artifact.name}: {artifact.size_bytes:,} bytes")
    click.echo(f"{'model':16}{'attributed':>12}{'built':>12}{'error':>10}{'':>9}")
    good = []
    for each in attributed.price_models(artifact):
        if each.kind is PriceKind.MODEL:
            price = check.build(artifact, each)
            good.append(is_good(price))
            more = "" if good[-1] else "  not within 5% or 4 KiB"
            click.echo(_line(price.name, price.margin_bytes, price.built_margin_bytes) + more)
            if price.built_alone_bytes is not None:
                click.echo(_line("  alone", price.alone_bytes or 0, price.built_alone_bytes))
    click.echo(f"{sum(good)} of {len(good)} within 5% or 4 KiB")
    if calibrated:
        sample = check.calibrate(artifact, calibrated, 1)
        name = f"sample of {len(sample.prices)}"
        click.echo(_line(name, sample.attributed_bytes, sample.built_bytes))
        click.echo(f"{sample.mean_error_bytes:,.0f} bytes wrong on average")
    return all(good)


def _line(name: str, attributed_bytes: int, built_bytes: int | None) -> str:
    built = built_bytes or 0
    error = attributed_bytes - built
    share = error / max(abs(built), 1)
    return f"{name:16}{attributed_bytes:>12,}{built:>12,}{error:>+10,}{share:>+9.1%}"


@click.command()
@click.option("--level", type=click.Choice(["region", "function"]), default="region")
@click.option("--config", type=click.Path(path_type=Path), help="In place of the sample models.")
@click.option("--engine", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Else a folder that is removed.")
@click.option("--jobs", "-j", type=int)
@click.option("--alone", is_flag=True, help="Also build for each model alone.")
@click.option("--calibrate", default=0, show_default=True, help="Also leave out so many at random.")
def main(
    level: str,
    config: Path | None,
    engine: Path | None,
    out: Path | None,
    jobs: int | None,
    alone: bool,
    calibrate: int,
) -> None:
    """Measure, print, and exit with 1 if a price is not good."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        options = Options(
            config=config or write_project(folder, level),
            out=out or folder / "out",
            engine=engine,
            jobs=jobs,
            quiet=True,
        )
        good = measure(options, alone=alone, calibrated=calibrate)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
