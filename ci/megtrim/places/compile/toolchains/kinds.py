"""Finds compilers on the host where programs run: one file per kind, one line each in ``KINDS``."""

from collections.abc import Mapping
from typing import Protocol

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import clang_linux, host, ndk, zig


class Find(Protocol):
    def __call__(
        self,
        wanted: ToolchainConfig,
        processes: ProcessRunner,
        relocations: Relocations = Relocations.NONE,
    ) -> Toolchain: ...


KINDS: Mapping[str, Find] = {
    "zig": zig.find,
    "clang-linux-arm64": clang_linux.find,
    "clang-linux-armhf": clang_linux.find_armhf,
    "ndk": ndk.find,
    "host": host.find,
}


def find(
    wanted: ToolchainConfig,
    processes: ProcessRunner,
    relocations: Relocations = Relocations.NONE,
    *,
    emulated: bool,
) -> Toolchain:
    """Return the toolchain of the requested kind; ``auto`` takes the best that is installed.

    ``emulated``: arm64 programs can run here. If not, ``auto`` builds for this machine.
    """
    if wanted.kind != "auto":
        find_kind = KINDS[wanted.kind]
        return find_kind(wanted, processes, relocations)
    # clang needs no minutes for libraries of its own, and its programs are half as large.
    best: tuple[Find, ...] = () if wanted.prefer == "zig" else (clang_linux.find,)
    choices = (*best, zig.find) if emulated else ()
    problems = []
    for choice in (*choices, zig.find_native, host.find):
        try:
            return choice(wanted, processes, relocations)
        except InputError as problem:
            problems.append(problem.message)
    msg = "no C++ compiler was found: " + "; ".join(problems)
    raise InputError(msg, hint="`pip install ziglang` installs one, without root")
