"""``megtrim doctor``: what this machine has, what is missing, and how to get it."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Protocol

import click

from megtrim.build import toolchains
from megtrim.build.images.docker import DockerClient
from megtrim.cli.echo import show
from megtrim.cli.environment import open_processes
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
    """What a kind of device reports about this machine."""

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
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(as_json: bool) -> int:
    """Show what this machine has, what is missing, and how to get it.

    Exits with 2 if no toolchain here can build an engine.
    """
    processes = open_processes()
    findings = tuple(_findings(processes))
    if as_json:
        show(json.dumps([asdict(finding) for finding in findings], indent=1))
    else:
        for finding in findings:
            show(f"{'ok     ' if finding.there else 'missing'} {finding.what}: {finding.text}")
    return EXIT_PASS if _can_build(findings) else InputError.exit_code


def _findings(processes: ProcessRunner) -> Iterator[Finding]:
    yield Finding(what="python", there=True, text=platform.python_version())
    for name in ("cmake", "ninja"):
        yield _try(name, partial(processes.build_tool, name))
    for kind in toolchains.KINDS:
        yield _try(f"toolchain {kind}", partial(_version, kind, processes))
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
    yield _try("docker, for toolchain.image", partial(_daemon, processes))
    for name, why in (("git", "commit and changes of an engine"), ("ccache", "quicker rebuilds")):
        found = processes.which(name)
        text = found or f"optional, for {why}; on Debian: apt-get install {name}"
        yield Finding(what=name, there=found is not None, text=text)


def _version(kind: str, processes: ProcessRunner) -> str:
    return toolchains.KINDS[kind](ToolchainConfig(), processes.for_builds()).version


def _daemon(processes: ProcessRunner) -> str:
    return f"daemon {DockerClient(processes).version()}"


def _try(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what=what, there=True, text=look())
    except (InputError, InfrastructureFailure) as error:
        return Finding(what=what, there=False, text=f"{error.message}; {error.hint}")


def _can_build(findings: tuple[Finding, ...]) -> bool:
    return any(f.there for f in findings if f.what.startswith("toolchain"))
