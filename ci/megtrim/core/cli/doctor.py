"""``megtrim doctor``: what this machine has, what is missing, and how to get it."""

import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from megtrim.core.cli.echo import show_json, show_summary
from megtrim.core.cli.environment import open_processes
from megtrim.core.config.config_id import DEFAULT_CONFIG, choose
from megtrim.core.config.kinds import BLOCKS, LINK
from megtrim.core.config.load import LoadedConfig, list_toolchains, load_config
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.core.parts import list_notes
from megtrim.libs.util.errors import EXIT_PASS, InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.images.docker import DockerClient
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from megtrim.places.compile.toolchains import splitting
from megtrim.places.devices import adb, qemu, ssh, virtual_phone
from megtrim.places.devices.counting import HINT, find_counter


class Finding(Value):
    what: str
    there: bool
    text: str
    """Version or path; if it is missing, how to get it."""
    needed: bool = False


class Remote(Protocol):
    def missing(self, processes: ProcessRunner) -> str:
        """Return what is missing and how to get it; empty if nothing is."""

    def describe_tools(self, processes: ProcessRunner) -> str:
        """Return which tools are used, if none is missing."""


_DOCKER = "docker, for toolchain.image"
_WORK = "qemu-user, for work"
_BLOCKS = "clang, for the level blocks"
_REMOTE: Mapping[str, Remote] = {"adb": adb, "ssh": ssh, "virtual-phone": virtual_phone}


def doctor(config: Path, as_json: bool) -> int:
    processes = open_processes()
    configured = str(config) != DEFAULT_CONFIG or config.exists()
    needed = {"python", "cmake", "ninja"}
    notes: dict[str, None] = {}
    if configured:
        for loaded in _load_all(config):
            needed.update(_list_needed(loaded, processes))
            notes |= dict.fromkeys(list_notes(loaded))
    found = tuple(_findings(processes))
    if not configured:
        every = [each for each in found if each.what.startswith("toolchain")]
        needed |= {each.what for each in [each for each in every if each.there] or every}
    findings = tuple(replace(each, needed=each.what in needed) for each in found)
    if as_json:
        show_json(findings)
    else:
        by = f" by {config}" if configured else ""
        for head, wanted in ((f"needed{by}", True), ("optional", False)):
            show_summary(head)
            for each in (each for each in findings if each.needed is wanted):
                show_summary(f"  {'ok     ' if each.there else 'missing'} {each.what}: {each.text}")
        for note in notes:
            show_summary(f"note: {note}")
    complete = all(each.there for each in findings if each.needed)
    return EXIT_PASS if complete else InputError.exit_code


def _load_all(config: Path) -> Iterator[LoadedConfig]:
    """Yield one for each toolchain."""
    names = list_toolchains(config)
    for file in [Path(choose(str(config), name)) for name in names] or [config]:
        yield load_config(file)


def _list_needed(loaded: LoadedConfig, processes: ProcessRunner) -> Iterator[str]:
    """Yield the names of findings."""
    from megtrim.core.cli.session.device_specs import standing_for
    from megtrim.core.cli.session.setup import find_toolchain

    wanted = loaded.config.toolchain
    # Where auto finds none, zig is the one that needs no root.
    kind = "zig" if wanted.kind == "auto" else str(wanted.kind)
    machine = "aarch64"
    with suppress(InputError):
        found = find_toolchain(loaded, processes.for_builds())
        kind = found.kind
        machine = found.machine
    own_compiler = loaded.config.engine.kind == LINK
    by_blocks = loaded.config.trim.level == BLOCKS and not own_compiler
    here = _BLOCKS if by_blocks else f"toolchain {kind}"
    yield _DOCKER if wanted.image else here
    if loaded.config.work is not None:
        yield _WORK
    emulated = not wanted.image and machine != platform.machine()
    for device, *_ in standing_for(loaded, None).values():
        yield f"device {'qemu' if emulated and device.kind == 'auto' else device.kind}"


def _findings(processes: ProcessRunner) -> Iterator[Finding]:
    yield Finding(what="python", there=True, text=platform.python_version())
    for name in ("cmake", "ninja"):
        yield _try(name, partial(processes.build_tool, name))
    for kind in toolchain_kinds.KINDS:
        wanted = ToolchainConfig()
        yield _try(f"toolchain {kind}", partial(_find_version, kind, wanted, processes))
    yield _try(_BLOCKS, partial(_find_version, splitting.KIND, _choose(processes), processes))
    emulator = qemu.program(processes)
    yield Finding(
        what="device qemu",
        there=emulator is not None,
        text=emulator
        or "on Debian: apt-get install qemu-user-static; without it only programs "
        "of this machine's own architecture run",
    )
    counting = find_counter("qemu-aarch64", processes)
    yield Finding(what=_WORK, there=counting is not None, text=counting or HINT)
    for kind, room in _REMOTE.items():
        missing = room.missing(processes)
        text = missing or room.describe_tools(processes)
        yield Finding(what=f"device {kind}", there=not missing, text=text)
    daemon = DockerClient(processes)
    yield _try(_DOCKER, lambda: f"daemon {daemon.version()}")
    for name, why in (("git", "commit and changes of an engine"), ("ccache", "quicker rebuilds")):
        found = processes.which(name)
        text = found or f"for {why}; on Debian: apt-get install {name}"
        yield Finding(what=name, there=found is not None, text=text)


def _choose(processes: ProcessRunner) -> ToolchainConfig:
    return splitting.choose(ToolchainConfig(), processes.for_builds())


def _find_version(kind: str, wanted: ToolchainConfig, processes: ProcessRunner) -> str:
    return toolchain_kinds.KINDS[kind](wanted, processes.for_builds()).version


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, there=True, text=look())
    except (InputError, InfrastructureFailure) as error:
        return Finding(what=what, there=False, text=f"{error.message}; {error.hint}")
