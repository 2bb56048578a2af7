"""A small tree, built with a real toolchain, whose targets are linked once more."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, LinkSpec, Toolchain, Variant
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.application import ApplicationSpec
from megtrim.places.compile.projects.builder import Builder
from megtrim.places.compile.projects.cmake.compiler_cache import CompilerCache
from megtrim.places.compile.toolchains import kinds as toolchain_kinds

TRAPPED = {"aarch64": 128 + 5, "arm": 128 + 4, "x86_64": 128 + 4}
"""The status of a program that a stub ends."""

KINDS = (
    pytest.param("host", marks=pytest.mark.chain),
    pytest.param("zig", marks=pytest.mark.chain),
    pytest.param("clang-linux-arm64", marks=pytest.mark.clang),
    pytest.param("armv7", marks=pytest.mark.clang),
)
ARM_CODE = pytest.param("armv7 -marm", marks=pytest.mark.clang)


@dataclass
class Lease:
    toolchain: Toolchain
    processes: ProcessRunner
    root: Path
    sources: Path
    spec: BuildSpec

    @property
    def build(self) -> Path:
        return self.root / "work" / "build"

    def link(
        self, *links: LinkSpec, name: str = "folder", applications: tuple[ApplicationSpec, ...] = ()
    ) -> Path:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        builder = Builder(
            checkout.take(self.sources, self.processes),
            self.toolchain,
            self.processes,
            jobs=2,
            cache=CompilerCache((), writes=True, passed={}, warn=lambda _: None),
        )
        builder.link(
            self.spec,
            links,
            work=self.root / "work",
            folder=folder,
            progress=lambda *_: None,
            applications=applications,
        )
        return folder / "links"

    def run(self, program: Path, *arguments: str, **env: str) -> CompletedCommand:
        if self.toolchain.machine != os.uname().machine:
            return self.emulate(program, *arguments, **env)
        return self._run(str(program), *arguments, **env)

    def emulate(self, program: Path, *arguments: str, **env: str) -> CompletedCommand:
        return self._run(*self.emulator, str(program), *arguments, **env)

    @property
    def emulator(self) -> tuple[str, ...]:
        sysroot = ("-L", str(self.toolchain.sysroot)) if self.toolchain.sysroot else ()
        return (f"qemu-{self.toolchain.machine}-static", *sysroot)

    def _run(self, *argv: str, **env: str) -> CompletedCommand:
        return self.processes.run(Command(argv=argv, timeout_s=20, env=env, cwd=self.root))


def lease(kind: str, root: Path, sources: Path, *targets: str, **options: str) -> Lease:
    processes = ProcessRunner({**os.environ, "CCACHE_DISABLE": "1"})
    name, _, mode = kind.partition(" ")
    if name == "armv7":
        found = find_armv7(processes, mode)
    elif kind in CROSSED:
        found = CROSSED[kind](processes)
    else:
        found = find(kind, processes)
    spec = BuildSpec(
        variant=Variant.PLAIN,
        targets=targets,
        options=(("CMAKE_BUILD_TYPE", "Release"), *options.items()),
    )
    return Lease(found, processes, root, sources, spec)


def find(kind: str, processes: ProcessRunner) -> Toolchain:
    return toolchain_kinds.KINDS[kind](ToolchainConfig(kind=kind), processes)


def find_armv7(processes: ProcessRunner, mode: str) -> Toolchain:
    """Make Thumb code by default, as an NDK does, with Debian's clang, lld and C library."""
    made = find("clang-linux-armhf", processes)
    link = (*made.compile_flags, mode or "-mthumb", *made.link_flags[1:])
    return replace(made, compile_flags=link[:2], link_flags=link)


def _find_x86_64_by_lld(processes: ProcessRunner) -> Toolchain:
    """Make programs for x86-64 with Debian's clang and lld."""
    made = find("clang-linux-arm64", processes)
    target = "x86_64-linux-gnu"
    return replace(
        made,
        target=target,
        machine="x86_64",
        compile_flags=(f"--target={target}",),
        link_flags=(f"--target={target}", *made.link_flags[1:]),
        sysroot=None,
    )


def _find_aarch64_by_gnu_ld(processes: ProcessRunner) -> Toolchain:
    """Make programs for arm64 with GCC and GNU ld."""
    made = find("clang-linux-arm64", processes)
    host = find("host", processes)
    return replace(
        host,
        target=made.target,
        machine=made.machine,
        c_compiler=("aarch64-linux-gnu-gcc",),
        cxx_compiler=("aarch64-linux-gnu-g++",),
        sysroot=made.sysroot,
    )


def _find_armhf_by_gnu_ld(processes: ProcessRunner) -> Toolchain:
    """Make programs for armhf with GCC and GNU ld: Thumb code, by Debian's default."""
    made = find("clang-linux-armhf", processes)
    host = find("host", processes)
    return replace(
        host,
        target="arm-linux-gnueabihf",
        machine=made.machine,
        c_compiler=("arm-linux-gnueabihf-gcc",),
        cxx_compiler=("arm-linux-gnueabihf-g++",),
        sysroot=made.sysroot,
    )


def _find_arm_code_by_gnu_ld(processes: ProcessRunner) -> Toolchain:
    made = _find_armhf_by_gnu_ld(processes)
    return replace(made, compile_flags=("-marm",), link_flags=("-marm", *made.link_flags))


CROSSED: Mapping[str, Callable[[ProcessRunner], Toolchain]] = {
    "x86-64 by lld": _find_x86_64_by_lld,
    "arm64 by GNU ld": _find_aarch64_by_gnu_ld,
    "armhf by GNU ld": _find_armhf_by_gnu_ld,
    "armhf by GNU ld -marm": _find_arm_code_by_gnu_ld,
}
"""Pairs of a machine and a linker that no toolchain of the configuration has."""


def places(table: FunctionTable) -> dict[str, int]:
    return {each.name: each.address for each in table.functions}
