"""``megtrim init``: a starter configuration, and the workflows that call the kit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.keepset_conversion import convert_keep_set
from megtrim.cli.session.environment import read_git_ceilings
from megtrim.config.config_template import StarterModel, model_files, starter
from megtrim.config.load import load_config
from megtrim.config.model import ToolchainConfig
from megtrim.config.workflow_templates import Callers, Kit, workflows
from megtrim.errors import EXIT_PASS, InputError
from megtrim.images.reference import is_fixed
from megtrim.input_files import read_text
from megtrim.models.reader import read_model
from megtrim.store import write_atomically

_LARGEST_FILE_BYTES = 1024 * 1024
_PACKAGES = {
    "clang-linux-arm64": "clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu",
    "host": "g++",
}
"""Debian packages that a toolchain needs on a machine that has none; zig comes with the kit."""
_RECIPES = {"clang-linux-arm64": "linux-arm64", "ndk": "android-arm64"}
"""Recipe of the kit whose image holds a toolchain."""


@click.command(
    epilog="""\b
Examples:
  megtrim init models/resnet50.mge --engine third_party/MegEngine
  megtrim init --config trim/megtrim.yaml models/*.mge --engine ../MegEngine
  megtrim init --github --kit OWNER/REPO --kit-sha SHA --kit-version v1.2.3
  megtrim init --convert --config trim/megtrim.yaml
"""
)
@click.argument("models", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--config",
    "-c",
    type=click.Path(path_type=Path),
    default=Path("megtrim.yaml"),
    show_default=True,
    help="The file to write; it must not exist.",
)
@click.option(
    "--engine",
    type=click.Path(path_type=Path),
    help="MegEngine checkout. Default: the sample engine.",
)
@click.option(
    "--github",
    is_flag=True,
    help="Write the workflows that call the kit, for MODELS or for an existing configuration.",
)
@click.option("--kit", help="With --github: the kit's repository, OWNER/REPO.")
@click.option("--kit-sha", help="With --github: the kit's commit, 40 hex digits.")
@click.option("--kit-version", help="With --github: that commit's version, such as v1.2.3.")
@click.option(
    "--branch", default="main", show_default=True, help="Default branch of your repository."
)
@click.option(
    "--convert",
    is_flag=True,
    help="Make a folder of a keep set that is one file, and do nothing else.",
)
def init(
    models: tuple[Path, ...],
    config: Path,
    engine: Path | None,
    github: bool,
    kit: str | None,
    kit_sha: str | None,
    kit_version: str | None,
    branch: str,
    convert: bool,
) -> int:
    """Write a commented starter configuration for MODELS."""
    if convert:
        if models or github:
            msg = "--convert does nothing else: leave out MODELS and --github"
            raise InputError(msg)
        show(convert_keep_set(config))
        return EXIT_PASS
    released = _require_kit(kit, kit_sha, kit_version) if github else None
    if models or released is None:
        _write_starter(models, config, engine)
    if released is None:
        show(f"wrote {config}; next: megtrim trim --config {config}")
        return EXIT_PASS
    for written in _write_callers(config, released, branch):
        show(f"wrote {written}")
    show('next: megtrim trim, commit, and require the check "size / verdict"')
    return EXIT_PASS


def _write_starter(models: tuple[Path, ...], config: Path, engine: Path | None) -> None:
    if config.exists():
        msg = f"{config} already exists"
        raise InputError(msg, hint="edit it, or name another file with --config")
    files = model_files([_model(path, config) for path in models])
    texts = {config.parent / name: text for name, text in files.items()}
    for path, text in texts.items():
        if path.exists() and _read(path) != text:
            msg = f"{path} exists and differs"
            raise InputError(msg, hint="name another folder with --config, or remove it")
    texts[config] = starter(
        "megengine" if engine else "sample",
        source=_relative(engine, config) if engine else "",
        # The toolchain that MegEngine is known to build with; auto would take zig.
        toolchain="clang-linux-arm64" if engine else "auto",
    )
    for path, text in texts.items():
        write_atomically(path, text)


def _require_kit(kit: str | None, sha: str | None, version: str | None) -> Kit:
    """Return which kit the workflows call; there is no default that could be cited."""
    if kit and sha and version:
        return Kit(repository=kit, sha=sha, version=version)
    msg = "--github: --kit, --kit-sha and --kit-version are needed, all three"
    raise InputError(msg, hint="name a release of the kit that you have reviewed")


def _write_callers(config: Path, kit: Kit, branch: str) -> Iterator[Path]:
    """Write the files that the repository needs, and yield their paths; nothing is overwritten."""
    loaded = load_config(config)
    top = _top(loaded.folder)
    wanted = loaded.config.toolchain
    callers = Callers(
        kit=kit,
        branch=branch,
        config=_inside(loaded.path.absolute(), top),
        keep_set=_inside(loaded.resolve(loaded.config.keep_set), top),
        packages="" if _in_image(wanted) else _PACKAGES.get(wanted.kind, ""),
        recipe=_recipe(wanted),
    )
    texts = {top / path: text for path, text in workflows(callers).items()}
    for path, text in texts.items():
        if path.exists() and _read(path) != text:
            msg = f"{path} exists and differs"
            raise InputError(msg, hint="edit it, or remove it and run this again")
    for path, text in texts.items():
        if _read(path) != text:
            write_atomically(path, text)
            yield path


def _in_image(toolchain: ToolchainConfig) -> bool:
    """Return whether CI builds in an image: if one is named, and always with an NDK."""
    return bool(toolchain.image) or toolchain.kind == "ndk"


def _recipe(toolchain: ToolchainConfig) -> str:
    """Return the recipe that CI makes the image by; empty if it needs none.

    A tag names an image of one machine: CI makes its own by the kit's recipe.
    """
    if not _in_image(toolchain) or is_fixed(toolchain.image or ""):
        return ""
    if toolchain.kind in _RECIPES:
        return _RECIPES[toolchain.kind]
    msg = f"toolchain.image: found {toolchain.image}, expected NAME@sha256:DIGEST"
    raise InputError(msg, hint="CI takes no tags: a tag may name another image tomorrow")


def _top(folder: Path) -> Path:
    """Return the top folder of the repository that a folder lies in, as git would find it."""
    ceilings = read_git_ceilings()
    for candidate in (folder, *folder.parents):
        if candidate != folder and candidate in ceilings:
            break
        if (candidate / ".git").exists():
            return candidate
    msg = f"{folder} is in no git repository"
    raise InputError(msg, hint="the workflows belong in the repository of the configuration")


def _inside(path: Path, top: Path) -> str:
    relative = Path(os.path.normpath(path))
    if not relative.is_relative_to(top):
        msg = f"{path} is outside the repository {top}"
        raise InputError(msg, hint="the workflows find only what is committed")
    return relative.relative_to(top).as_posix()


def _read(path: Path) -> str:
    """Return a text file's content, empty if there is none."""
    if not path.exists():
        return ""
    return read_text(path, most_bytes=_LARGEST_FILE_BYTES, expected="a short text")


def _model(path: Path, config: Path) -> StarterModel:
    read_model(path)  # a file that is no model is refused now, not in an hour
    strip_info = path.with_name(f"{path.name}.json")
    return StarterModel(
        file=_relative(path, config),
        strip_info=_relative(strip_info, config) if strip_info.is_file() else None,
    )


def _relative(path: Path, config: Path) -> str:
    return Path(os.path.relpath(path.absolute(), config.absolute().parent)).as_posix()
