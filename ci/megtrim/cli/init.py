"""``megtrim init``: a starter configuration with inputs, and the workflows that call the kit."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from megtrim.build.images.docker import is_fixed
from megtrim.build.sources.git import expect_version, find_default_branch, list_versions
from megtrim.checks.invocation import Invocation
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes, read_git_ceilings
from megtrim.cli.options import PATH
from megtrim.cli.session.starter import (
    Content,
    StarterFiles,
    find_missing,
    plan_models,
    plan_starter,
    write_files,
)
from megtrim.config.config_id import choose, split
from megtrim.config.load import list_toolchains, load_config
from megtrim.config.model import ToolchainConfig
from megtrim.config.templates import (
    CALLED,
    RELEASE,
    Callers,
    Kit,
    Provision,
    check_kit,
    name_check,
    name_keep_set,
    workflows,
)
from megtrim.util.errors import InputError
from megtrim.util.input_files import read_text

_SERVER = "https://github.com"
_LARGEST_WORKFLOW_BYTES = 1024 * 1024
_PACKAGES = {"clang-linux-arm64": "clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu", "host": "g++"}
"""Debian packages that a toolchain needs on a machine that has none; zig comes with the kit."""
_RECIPES = {"clang-linux-arm64": "linux-arm64", "ndk": "android-arm64"}
"""Recipe of the kit whose image holds a toolchain."""


@click.command(
    epilog="""\b
Examples:
  megtrim init models/resnet50.mge
  megtrim init --config trim/megtrim.yaml models/*.mge --engine ../MegEngine
  megtrim init --github --kit OWNER/REPO --kit-sha SHA --kit-version v1.2.3
  megtrim init --github --release --kit OWNER/REPO --kit-sha SHA --kit-version v1.2.3
  megtrim init --add models/mobilenet.mge
"""
)
@click.argument("models", nargs=-1, type=PATH)
@click.option(
    "--config",
    "-c",
    type=PATH,
    default=Path("megtrim.yaml"),
    show_default=True,
    help="The file to write; it must not exist.",
)
@click.option(
    "--engine",
    type=PATH,
    help="MegEngine checkout. Default: the one in, next to or above the configuration's folder.",
)
@click.option(
    "--github",
    is_flag=True,
    help="Write the workflows that call the kit, for MODELS or for an existing configuration.",
)
@click.option(
    "--release", is_flag=True, help="With --github: also write the one that makes releases of tags."
)
@click.option("--kit", help="With --github: the kit's repository, OWNER/REPO.")
@click.option("--kit-sha", help="With --github: the kit's commit, 40 hex digits.")
@click.option("--kit-version", help="With --github: its tag, such as v1.2.3.")
@click.option("--branch", help="Default branch of your repository. Default: the one git knows.")
@click.option(
    "--add", is_flag=True, help="Add MODELS to a configuration that is there: files of their own."
)
def init(
    models: tuple[Path, ...],
    config: Path,
    engine: Path | None,
    github: bool,
    release: bool,
    kit: str | None,
    kit_sha: str | None,
    kit_version: str | None,
    branch: str | None,
    add: bool,
) -> None:
    """Write a commented starter configuration for MODELS, and inputs next to them.

    The inputs have the names, types and shapes that a model's file states, and numbers that differ:
    replace them by real ones when you have some. The engine is the one that runs such models.
    Nothing is written unless everything can be.
    """
    if release and not github:
        msg = "--release writes a workflow: it needs --github"
        raise InputError(msg)
    reviewed = _require_kit(kit, kit_sha, kit_version) if github else None
    if add and engine:
        msg = "--add leaves the configuration as it is: leave out --engine"
        raise InputError(msg)
    new = StarterFiles(files={}, lines=())
    if models or reviewed is None:
        new = plan_models(models, config) if add else plan_starter(models, config, engine)
    if reviewed is None:
        write_files(new.files)
        for line in new.lines:
            show(line)
        _show_next(config)
        return
    processes = open_processes()
    top = _top(config.absolute().parent)
    check_kit(reviewed)
    server = processes.env.get("GITHUB_SERVER_URL") or _SERVER
    known = list_versions(f"{server}/{reviewed.repository}", processes)
    expect_version(reviewed.repository, reviewed.version, reviewed.sha, known)
    branch = branch or find_default_branch(top, processes)
    callers = replace(_make_callers(config, new.toolchain, reviewed, branch, top), releases=release)
    if release and callers.toolchains:
        msg = f"--release: {config} has several toolchains, and a release is of one"
        raise InputError(msg, hint="choose one: --config FILE#NAME")
    checked = _find_checked(callers, top)
    workflow_files = _plan_callers(callers, top, checked)
    write_files({**new.files, **workflow_files})
    for line in (*new.lines, *(f"wrote {path}" for path in workflow_files)):
        show(line)
    show(f"the default branch is {branch}: --branch names another")
    _show_next(config)
    show(f'then commit, and require the check "{name_check(checked)}"')


def _show_next(config: Path) -> None:
    show(f"next: {Invocation(config=str(config)).again('trim')}")


def _require_kit(kit: str | None, sha: str | None, version: str | None) -> Kit:
    if kit and sha and version:
        return Kit(repository=kit, sha=sha, version=version)
    msg = "--github: --kit, --kit-sha and --kit-version are needed, all three"
    raise InputError(msg, hint="name a release of the kit that you have reviewed")


def _make_callers(config: Path, toolchain: str, kit: Kit, branch: str, top: Path) -> Callers:
    """``toolchain``: its kind, if the configuration is yet to be written."""
    file, chosen = split(str(config))
    path = _inside(Path(file).absolute(), top)
    legs: dict[str, Provision] = {}
    if toolchain:
        keep_set = config.absolute().parent / name_keep_set(config)
        own = Provision(packages=_PACKAGES.get(toolchain, ""))
    else:
        names = list_toolchains(config)
        loaded = {name: load_config(Path(choose(str(config), name))) for name in names}
        one = next(iter(loaded.values())) if loaded else load_config(config)
        legs = {name: _provide(leg.config.toolchain) for name, leg in loaded.items()}
        own = Provision() if legs else _provide(one.config.toolchain)
        keep_set = one.resolve(one.config.keep_set)
    return Callers(
        kit=kit,
        branch=branch,
        config=choose(path, chosen) if chosen else path,
        keep_set=_inside(keep_set.parent if legs else keep_set, top),
        packages=own.packages,
        recipe=own.recipe,
        toolchains=legs,
    )


def _provide(wanted: ToolchainConfig) -> Provision:
    if not wanted.image and wanted.kind != "ndk":
        return Provision(packages=_PACKAGES.get(wanted.kind, ""))
    if is_fixed(wanted.image or ""):
        return Provision()
    if wanted.kind in _RECIPES:
        return Provision(recipe=_RECIPES[wanted.kind])
    msg = f"toolchain.image: found {wanted.image}, expected NAME@sha256:DIGEST"
    raise InputError(msg, hint="CI takes no tags: a tag may name another image tomorrow")


def _find_checked(callers: Callers, top: Path) -> str:
    folder = (top / RELEASE).parent
    if callers.releases and _find_caller(_as_leg(callers.config), folder, ()):
        return split(callers.config)[0]
    return callers.config


def _plan_callers(callers: Callers, top: Path, checked: str) -> dict[Path, Content]:
    texts = {top / path: text for path, text in workflows(callers).items()}
    if checked == callers.config:
        _expect_only_callers(callers.config, (top / RELEASE).parent, [*texts])
        _expect_own_keep_set(callers, top, [*texts])
    else:
        own = Path(RELEASE).stem
        texts = {path: text for path, text in texts.items() if path.name.startswith(own)}
    return find_missing(texts, hint="edit it, or remove it and run this again")


def _expect_only_callers(config: str, folder: Path, own: Sequence[Path]) -> None:
    """Two would write one comment, and end each other's jobs."""
    alone = rf"{re.escape(config)}[,}}\s]"
    path = _find_caller(rf"(?:{alone}|{_as_leg(config)})", folder, own)
    if path is not None:
        msg = f"{path} calls the kit for {config} already"
        raise InputError(msg, hint="keep it, or remove it and run this again")


def _expect_own_keep_set(callers: Callers, top: Path, own: Sequence[Path]) -> None:
    """Each would replace the files of the other. A link to the same file is no other."""
    given = re.compile(
        rf'\bconfig: "?([^\s",}}#]+).*\bkeep-set: "?{re.escape(callers.keep_set)}(?:/\$|[,}}\s])'
    )
    file, _ = split(callers.config)
    for path, text in _list_other_callers((top / RELEASE).parent, own):
        other = given.search(text)
        if other is not None and (top / other[1]).resolve() != (top / file).resolve():
            msg = f"{path} proposes {callers.keep_set} for another configuration already"
            raise InputError(msg, hint="name a folder of its own as keep_set, and run this again")


def _as_leg(config: str) -> str:
    file, toolchain = split(config)
    return rf'"{re.escape(choose(file, ""))}\$' if toolchain else "(?!)"


def _find_caller(config: str, folder: Path, own: Sequence[Path]) -> Path | None:
    given = re.compile(rf"\bconfig: {config}")
    found = (path for path, text in _list_other_callers(folder, own) if given.search(text))
    return next(found, None)


def _list_other_callers(folder: Path, own: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for path in sorted({*folder.glob("*.y*ml")} - {*own}):
        text = read_text(path, most_bytes=_LARGEST_WORKFLOW_BYTES, expected="a workflow")
        if any(f"/{name}@" in text for name in CALLED):
            yield path, text


def _top(folder: Path) -> Path:
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
