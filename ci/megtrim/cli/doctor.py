"""``megtrim doctor``: what this machine has, what is missing, and how to get it."""

import platform
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

import click

from megtrim.build.images.docker import DockerClient
from megtrim.build.toolchains import kinds as toolchain_kinds
from megtrim.cli.echo import show_json, show_summary
from megtrim.cli.environment import open_processes
from megtrim.cli.options import json_option
from megtrim.config.model import ToolchainConfig
from megtrim.devices import adb, qemu, ssh, virtual_phone
from megtrim.util.errors import EXIT_PASS, InfrastructureFailure, InputError
from megtrim.util.process import ProcessRunner
from megtrim.util.value import Value


class Finding(Value):
    what: str
    there: bool
    text: str
    """Version or path; if it is missing, how to get it."""


class Remote(Protocol):
    def missing(self, processes: ProcessRunner) -> str:
        """Return what is missing and how to get it; empty if nothing is."""

    def describe_tools(self, processes: ProcessRunner) -> str:
        """Return which tools are used, if none is missing."""


_REMOTE: Mapping[str, Remote] = {"adb": adb, "ssh": ssh, "virtual-phone": virtual_phone}


@click.command(
    epilog="""\b
Example:
  megtrim doctor
"""
)
@json_option
def doctor(as_json: bool) -> int:
    """Show what this machine has, what is missing, and how to get it.

    Exits with 2 if no toolchain here can build an engine.
    """
    processes = open_processes()
    findings = tuple(_findings(processes))
    if as_json:
        show_json(findings)
    else:
        for finding in findings:
            state = "ok     " if finding.there else "missing"
            show_summary(f"{state} {finding.what}: {finding.text}")
    can_build = any(each.there for each in findings if each.what.startswith("toolchain"))
    return EXIT_PASS if can_build else InputError.exit_code


def _findings(processes: ProcessRunner) -> Iterator[Finding]:
    yield Finding(what="python", there=True, text=platform.python_version())
    for name in ("cmake", "ninja"):
        yield _try(name, partial(processes.build_tool, name))
    for kind in toolchain_kinds.KINDS:
        yield _try(f"toolchain {kind}", partial(_find_version, kind, processes))
    emulator = qemu.program(processes)
    yield Finding(
        what="device qemu",
        there=emulator is not None,
        text=emulator
        or "on Debian: apt-get install qemu-user-static; without it only programs "
        "of this machine's own architecture run",
    )
    for kind, room in _REMOTE.items():
        missing = room.missing(processes)
        text = missing or room.describe_tools(processes)
        yield Finding(what=f"device {kind}", there=not missing, text=text)
    daemon = DockerClient(processes)
    yield _try("docker, for toolchain.image", lambda: f"daemon {daemon.version()}")
    for name, why in (("git", "commit and changes of an engine"), ("ccache", "quicker rebuilds")):
        found = processes.which(name)
        text = found or f"optional, for {why}; on Debian: apt-get install {name}"
        yield Finding(what=name, there=found is not None, text=text)


def _find_version(kind: str, processes: ProcessRunner) -> str:
    return toolchain_kinds.KINDS[kind](ToolchainConfig(), processes.for_builds()).version


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, there=True, text=look())
    except (InputError, InfrastructureFailure) as error:
        return Finding(what=what, there=False, text=f"{error.message}; {error.hint}")
