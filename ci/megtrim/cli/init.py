"""``megtrim init`` and ``megtrim schema``: a starter configuration, and help for editors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from megtrim.cli.output import show
from megtrim.config.schema import json_schema
from megtrim.config.starter import StarterModel, starter
from megtrim.errors import EXIT_PASS, InputError
from megtrim.models.reader import read_model
from megtrim.store import write_atomically


@click.command(
    epilog="""\b
Examples:
  megtrim init models/resnet50.mge --engine third_party/MegEngine
  megtrim init --config trim/megtrim.yaml models/*.mge --engine ../MegEngine
"""
)
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--config",
    "-c",
    type=click.Path(path_type=Path),
    default=Path("megtrim.yaml"),
    show_default=True,
    help="The file to write; it must not exist.",
)
@click.option(
    "--engine", type=click.Path(path_type=Path), help="MegEngine checkout; else the sample engine."
)
def init(models: tuple[Path, ...], config: Path, engine: Path | None) -> int:
    """Write a commented starter configuration for MODELS."""
    if config.exists():
        msg = f"{config} is already there"
        raise InputError(msg, hint="edit it, or name another file with --config")
    text = starter(
        "megengine" if engine else "sample",
        models=[_model(path, config) for path in models],
        source=_relative(engine, config) if engine else "",
        # The toolchain that MegEngine is known to build with; auto would take zig.
        toolchain="clang-linux-arm64" if engine else "auto",
    )
    write_atomically(config, text)
    show(f"wrote {config}; next: megtrim trim --config {config}")
    return EXIT_PASS


@click.command(
    epilog="""\b
Example:
  megtrim schema > megtrim.schema.json
"""
)
def schema() -> int:
    """Print the JSON Schema of megtrim.yaml, for editors."""
    show(json.dumps(json_schema(), indent=1))
    return EXIT_PASS


def _model(path: Path, config: Path) -> StarterModel:
    read_model(path)  # a file that is no model is refused now, not in an hour
    beside = path.with_name(f"{path.name}.json")
    return StarterModel(
        file=_relative(path, config),
        strip_info=_relative(beside, config) if beside.is_file() else None,
    )


def _relative(path: Path, config: Path) -> str:
    return Path(os.path.relpath(path.absolute(), config.absolute().parent)).as_posix()
