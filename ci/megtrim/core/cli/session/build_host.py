"""Where the programs of a trim run: on this machine, or in the configured image.

What talks to a phone or a board runs outside of it.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Toolchain
from megtrim.core.chain.filenames import SYSROOTS_FOLDER
from megtrim.core.chain.result_store import Store
from megtrim.core.cli.environment import CACHE_INPUT, CACHE_OWN, CACHE_SECRET, read_cache_variables
from megtrim.libs.util.environment import CCACHE
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.images import container_runner
from megtrim.places.compile.images.container_runner import ContainerRunner, Mounts
from megtrim.places.compile.images.docker import DockerClient
from megtrim.places.compile.projects.cmake import compiler_cache
from megtrim.places.compile.projects.cmake.compiler_cache import CompilerCache
from megtrim.places.github_event import read_event

_OF_THE_IMAGE = frozenset(
    ("bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr")
)
"""Folders of the root that compilers are made of: this machine's must not take their place."""


def open_place(
    reference: str | None, processes: ProcessRunner, *, results: Path, readable: Iterable[Path]
) -> ProcessRunner:
    """Return what runs programs in the image of that name; without one, on this machine.

    They write to ``results`` and to the compiler's cache, and may read ``readable``, system
    folders aside: those are the image's own.
    """
    if not reference:
        return processes.for_builds()
    docker = DockerClient(processes)
    docker.version()
    image = docker.image(reference)
    container_runner.end_abandoned(docker)
    own = results / "ccache"
    kept = container_runner.folder(processes.env, otherwise=own)
    if kept == own:
        with suppress(InputError):  # it is used as it is, and `clean` leaves it alone
            Store(results).claim(own.name)
    seen = Mounts(
        writable=(results, kept),
        readable=tuple(sorted(each for each in {*readable} if each.is_dir() and not _hides(each))),
        env={container_runner.VARIABLE: str(kept)},
    )
    return ContainerRunner(docker, image, seen)


def _hides(path: Path) -> bool:
    parts = Path(os.path.normpath(path)).parts
    return len(parts) < 2 or parts[1] in _OF_THE_IMAGE


def attach_image(toolchain: Toolchain, place: ProcessRunner) -> Toolchain:
    if not isinstance(place, ContainerRunner):
        return toolchain
    return replace(toolchain, image=place.image.identity)


def sysroot_here(toolchain: Toolchain, place: ProcessRunner, results: Path) -> Path | None:
    if toolchain.sysroot is None or not isinstance(place, ContainerRunner):
        return toolchain.sysroot
    folder = results / SYSROOTS_FOLDER / place.image.id.removeprefix("sha256:")[:20]
    if folder.is_dir():
        return folder
    Store(results).claim(SYSROOTS_FOLDER)
    half = folder.with_name(f"{folder.name}.half")
    with guard_write(folder):
        shutil.rmtree(half, ignore_errors=True)
        half.mkdir(parents=True)
        place.bring_out(toolchain.sysroot, half)
        half.rename(folder)
    return folder


_NAMES = {
    CACHE_SECRET: "the secret cache-remote",
    CACHE_INPUT: "the input cache-remote",
    **{name: name for name in CACHE_OWN},
}
"""The name that people know each variable by; the first that is set wins."""


def open_compiler_cache(
    env: Mapping[str, str], warn: Callable[[str], None], *, recompile: bool = False
) -> CompilerCache:
    """``recompile``: nothing is taken from it. Raises InputError for a password in an input."""
    given = read_cache_variables()
    name = next((each for each in _NAMES if each in given), "")
    storages = compiler_cache.parse_storages(given.get(name, ""), source=_NAMES.get(name, ""))
    if name == CACHE_INPUT and any(storage.secret for storage in storages):
        msg = f"{_NAMES[name]}: found a password, which a runner prints into every log"
        hint = "change that password, and give the URL as the secret cache-remote"
        raise InputError(msg, hint=hint)
    passed = {each: env[each] for each in CCACHE if env.get(each)}
    if recompile:
        passed["CCACHE_RECACHE"] = "1"
    return CompilerCache(storages, writes=_may_write(env), passed=passed, warn=warn)


def _may_write(env: Mapping[str, str]) -> bool:
    """Return whether results of this run are written to the cache that all share.

    A person who trims by hand decides that alone. Of jobs of GitHub Actions only those of the
    default branch write; an event that cannot be read might be anything.
    """
    if not env.get("GITHUB_EVENT_NAME"):
        return True
    try:
        return read_event(env).of_default_branch
    except InputError:
        return False
