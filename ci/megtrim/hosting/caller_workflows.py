"""The callers of a team's repository: what they need, which there are, and what an upgrade does."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.core.cli.environment import read_git_ceilings
from megtrim.core.cli.session.callers import CallerPlan, CallerRequest
from megtrim.core.cli.session.starter import find_missing
from megtrim.core.cli.session.templates import name_keep_set
from megtrim.core.config.config_id import choose, split
from megtrim.core.config.kinds import BLOCKS, LINK
from megtrim.core.config.load import LoadedConfig, list_toolchains, load_config
from megtrim.core.config.model import Config
from megtrim.hosting.caller_texts import (
    CALLED,
    GITLAB,
    NIGHT,
    RELEASE,
    Callers,
    Kit,
    Provision,
    expect_plain,
    find_pins,
    gitlab_pipeline,
    name_check,
    name_own,
    parse_kit,
    upgrade,
    warn_of_environment,
    workflows,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_text
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.images.docker import is_fixed
from megtrim.places.compile.sources.git import choose_version, find_default_branch, list_versions
from megtrim.places.compile.toolchains import splitting

_SERVER = "https://github.com"
_NAME_KIT = "--kit OWNER/REPO, or its URL; the newest version is pinned"
_GITLAB_PAGE = "docs/how-to/use-any-ci.md"
_LARGEST_WORKFLOW_BYTES = 1024 * 1024
_CLANG = "clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu"
_NEW_CLANG = "clang-22 lld-22 llvm-22 g++-aarch64-linux-gnu"
"""For the level blocks."""
_PACKAGES = {
    "auto": _CLANG,
    "clang-linux-arm64": _CLANG,
    "clang-linux-armhf": "clang-14 lld-14 llvm-14 g++-arm-linux-gnueabihf",
    "host": "g++",
}
"""Debian packages that a toolchain needs on a machine that has none; zig comes with the kit.

``auto`` gets what it would choose first, so that CI and desks use one compiler.
"""
_RECIPES = {"clang-linux-arm64": "linux-arm64", "ndk": "android-arm64"}
"""Recipe of the kit whose image holds a toolchain."""


def plan_asked(asked: CallerRequest, processes: ProcessRunner) -> CallerPlan:
    top = find_top(asked.config.absolute().parent)
    pin = (asked.kit, asked.kit_version, asked.kit_sha)
    if not asked.github:
        return plan_gitlab(asked.config, asked.toolchain, choose_gitlab_kit(*pin, processes), top)
    pinned = choose_kit(*pin, top=top, upgrading=asked.upgrade, processes=processes)
    branch = asked.branch or find_default_branch(top, processes)
    callers = make_callers(asked.config, asked.toolchain, pinned, branch, top)
    if asked.release and callers.toolchains:
        msg = f"--release: {asked.config} has several toolchains, but a release is for one"
        raise InputError(msg, hint="choose one: --config FILE#NAME")
    return plan_callers(replace(callers, releases=asked.release), top, upgrading=asked.upgrade)


def choose_kit(
    named: str, version: str, sha: str, *, top: Path, upgrading: bool, processes: ProcessRunner
) -> Kit:
    """Take the newest version, unless another is named, or is pinned and stays."""
    pins = {pin for _, text in _list_callers(top) for pin in find_pins(text)}
    if not named:
        if len({pin.repository for pin in pins}) != 1:
            msg = "--kit is needed: no caller names one kit"
            raise InputError(msg, hint=_NAME_KIT)
        first = min(pins, key=lambda pin: pin.sha)
        named = first.repository
        if len(pins) == 1 and not (upgrading or version or sha):
            version = first.version
            sha = first.sha
    server = processes.env.get("GITHUB_SERVER_URL") or _SERVER
    repository = parse_kit(named, server)
    expect_plain("repository", repository)
    found = _find_version(f"{server}/{repository}", version, sha, processes)
    return replace(found, repository=repository)


def choose_gitlab_kit(named: str, version: str, sha: str, processes: ProcessRunner) -> Kit:
    """Its repository is a URL, which may be of any server."""
    if not named:
        msg = "--gitlab: --kit is needed"
        raise InputError(msg, hint=_NAME_KIT)
    url = named if "://" in named else f"{_SERVER}/{named}"
    expect_plain("url", url)
    return _find_version(url, version, sha, processes)


def _find_version(url: str, version: str, sha: str, processes: ProcessRunner) -> Kit:
    for name, value in (("version", version), ("sha", sha)):
        if value:
            expect_plain(name, value)
    known = list_versions(url, processes)
    chosen = choose_version(url, known, version=version, sha=sha)
    return Kit(repository=url, sha=known[chosen], version=chosen)


def plan_gitlab(config: Path, toolchain: str, kit: Kit, top: Path) -> CallerPlan:
    """``toolchain``: its kind, if the configuration is yet to be written."""
    packages = _PACKAGES.get(toolchain, "")
    if not toolchain:
        if names := list_toolchains(config):
            msg = f"--gitlab: {config} has several toolchains, expected one"
            raise InputError(msg, hint=f"choose one: --config {choose(str(config), names[0])}")
        loaded = load_config(config).config
        wanted = loaded.toolchain
        if wanted.image or wanted.kind == "ndk":
            msg = f"--gitlab: found toolchain.{'image' if wanted.image else 'kind: ndk'}"
            raise InputError(msg, hint=f"the job needs an image that has it: {_GITLAB_PAGE}")
        packages = _list_packages(loaded)
    text = gitlab_pipeline(kit, _name_config(config, top), packages)
    hint = f"add the job to it by hand, as {_GITLAB_PAGE} shows it"
    new = find_missing({top / GITLAB: text}, hint=hint)
    return CallerPlan(new=new, lines=(*(f"wrote {path}" for path in new), _describe(kit)))


def _describe(kit: Kit) -> str:
    return f"the kit is {kit.repository} {kit.version}, commit {kit.sha}"


def make_callers(config: Path, toolchain: str, kit: Kit, branch: str, top: Path) -> Callers:
    """``toolchain``: its kind, if the configuration is yet to be written."""
    legs: dict[str, Provision] = {}
    nights: tuple[str, ...] = ()
    if toolchain:
        keep_set = config.absolute().parent / name_keep_set(config)
        own = Provision(packages=_PACKAGES.get(toolchain, ""))
    else:
        names = list_toolchains(config)
        loaded = {name: load_config(Path(choose(str(config), name))) for name in names}
        one = next(iter(loaded.values())) if loaded else load_config(config)
        legs = {name: _provide(leg.config) for name, leg in loaded.items()}
        own = Provision() if legs else _provide(one.config)
        keep_set = one.resolve(one.config.keep_set)
        nights = tuple(
            name for name, leg in (loaded or {"": one}).items() if _has_runner(leg.config)
        )
    return Callers(
        kit=kit,
        branch=branch,
        config=_name_config(config, top),
        keep_set=_inside(keep_set.parent if legs else keep_set, top),
        packages=own.packages,
        recipe=own.recipe,
        toolchains=legs,
        nights=nights,
    )


def _name_config(config: Path, top: Path) -> str:
    file, chosen = split(str(config))
    path = _inside(Path(file).absolute(), top)
    return choose(path, chosen) if chosen else path


def _has_runner(config: Config) -> bool:
    """A machine of GitHub's own takes no times."""
    return any(each.runner and each.class_ not in config.hosted_classes for each in config.devices)


def _provide(config: Config) -> Provision:
    wanted = config.toolchain
    if _needs_new_clang(config) and not wanted.image:
        return Provision(recipe=_RECIPES[splitting.KIND])
    if not wanted.image and wanted.kind != "ndk":
        return Provision(packages=_list_packages(config))
    if is_fixed(wanted.image or ""):
        return Provision()
    if wanted.kind in _RECIPES:
        return Provision(recipe=_RECIPES[wanted.kind])
    msg = f"toolchain.image: found {wanted.image}, expected NAME@sha256:DIGEST"
    raise InputError(msg, hint="CI accepts no tags, because a tag may name another image tomorrow")


def _needs_new_clang(config: Config) -> bool:
    """Ubuntu 24.04 does not have it. Commands of kind link choose their own compiler."""
    if config.engine.kind == LINK:
        return False
    return config.trim.level == BLOCKS and config.toolchain.kind in ("auto", splitting.KIND)


def _list_packages(config: Config) -> str:
    if _needs_new_clang(config):
        return _NEW_CLANG
    wanted = config.toolchain
    return "" if wanted.prefer else _PACKAGES.get(wanted.kind, "")


def describe_devices(loaded: LoadedConfig) -> tuple[str, ...]:
    """Return what a team that has its own devices in workflows is told; empty: it has none."""
    if not _has_runner(loaded.config):
        return ()
    try:
        top = find_top(loaded.path.absolute().parent)
    except InputError:
        return ()
    called = next(_list_callers(top), None)
    return (warn_of_environment("https://github.com/OWNER/REPO"),) if called else ()


def _find_checked(callers: Callers, top: Path) -> str:
    if callers.releases and _find_caller(_as_leg(callers.config), top, ()):
        return split(callers.config)[0]
    return callers.config


def plan_callers(callers: Callers, top: Path, *, upgrading: bool) -> CallerPlan:
    own = {kind: top / path for kind, path in name_own(callers.config).items()}
    if upgrading and own[RELEASE].exists():
        callers = replace(callers, releases=True)
    texts = {top / path: text for path, text in workflows(callers).items()}
    checked = _find_checked(callers, top)
    if checked == callers.config:
        _expect_only_callers(callers.config, top, [*own.values()])
        _expect_own_keep_set(callers, top, [*own.values()])
    else:
        texts = {path: text for path, text in texts.items() if path == own[RELEASE]}
    there = [path for path in texts if upgrading and path.exists()]
    changed = {path: _upgrade(path, texts[path], callers.kit) for path in there}
    hint = "--upgrade replaces what init wrote; remove or rename anything else"
    new = find_missing({path: texts[path] for path in texts.keys() - changed.keys()}, hint=hint)
    ours = {path: text == texts[path] for path, text in changed.items()}
    lines = [f"wrote {path}" for path in texts if path in new or ours.get(path)]
    lines += [
        f"{path} was edited: its pins are new, its text is not" for path in ours if not ours[path]
    ]
    if own[NIGHT].exists() and own[NIGHT] not in texts:
        lines.append(f"{own[NIGHT]} has no device to measure on: remove it, or add one")
    if callers.nights:  # there are devices of the team's own
        lines.append(warn_of_environment("https://github.com/OWNER/REPO"))
    lines.append(_describe(callers.kit))
    lines.append(f"the default branch is {callers.branch}: --branch names another")
    return CallerPlan(new=new, changed=changed, lines=tuple(lines), check=name_check(checked))


def _upgrade(path: Path, text: str, kit: Kit) -> str:
    old = read_text(path, most_bytes=_LARGEST_WORKFLOW_BYTES, expected="a workflow")
    if upgraded := upgrade(old, text, kit):
        return upgraded
    msg = f"{path} exists and differs: it calls no workflow of the kit"
    raise InputError(msg, hint="rename it, or remove it, and run this again")


def _expect_only_callers(config: str, top: Path, own: Sequence[Path]) -> None:
    """Two would write one comment, and end each other's jobs."""
    alone = rf"{re.escape(config)}[,}}\s]"
    path = _find_caller(rf"(?:{alone}|{_as_leg(config)})", top, own)
    if path is not None:
        msg = f"{path} calls the kit for {config} already"
        raise InputError(msg, hint="keep it, or remove it and run this again")


def _expect_own_keep_set(callers: Callers, top: Path, own: Sequence[Path]) -> None:
    """Each would replace the files of the other. A link to the same file is no other."""
    given = re.compile(
        rf'\bconfig: "?([^\s",}}#]+).*\bkeep-set: "?{re.escape(callers.keep_set)}(?:/\$|[,}}\s])'
    )
    file, _ = split(callers.config)
    for path, text in _list_callers(top, own):
        other = given.search(text)
        if other is not None and (top / other[1]).resolve() != (top / file).resolve():
            msg = f"{path} proposes {callers.keep_set} for another configuration already"
            raise InputError(msg, hint="name a separate folder as keep_set, and run this again")


def _as_leg(config: str) -> str:
    file, toolchain = split(config)
    return rf'"{re.escape(choose(file, ""))}\$' if toolchain else "(?!)"


def _find_caller(config: str, top: Path, own: Sequence[Path]) -> Path | None:
    given = re.compile(rf"\bconfig: {config}")
    found = (path for path, text in _list_callers(top, own) if given.search(text))
    return next(found, None)


def _list_callers(top: Path, without: Sequence[Path] = ()) -> Iterator[tuple[Path, str]]:
    for path in sorted({*(top / RELEASE).parent.glob("*.y*ml")} - {*without}):
        text = read_text(path, most_bytes=_LARGEST_WORKFLOW_BYTES, expected="a workflow")
        if any(f"/{name}@" in text for name in CALLED):
            yield path, text


def find_top(folder: Path) -> Path:
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
