"""``clang-linux-arm64``: Debian's clang and lld with Debian's cross libraries, dynamic glibc.

Clang 14 is asked for first: newer ones refuse the flatbuffers that the engine bundles
(seen with clang 19), and this one was seen to build the whole engine.
"""

from __future__ import annotations

from pathlib import Path

from megtrim.errors import InputError
from megtrim.process import Processes
from megtrim.recipe import Toolchain, ToolchainOrder
from megtrim.toolchains import tools

_TARGET = "aarch64-linux-gnu"
_VERSIONS = ("-14", "-15", "-16", "-13", "")
_SYSROOT = Path("/usr/aarch64-linux-gnu")
_HINT = "on Debian: apt-get install clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu"


def find(order: ToolchainOrder, processes: Processes) -> Toolchain:
    """Return clang and lld of one version, and the sysroot an emulator needs."""
    del order  # it has one architecture and no settings
    suffix = _version_suffix(processes)
    if processes.read(_SYSROOT / "lib" / "ld-linux-aarch64.so.1") is None:
        msg = f"the arm64 C library is not below {_SYSROOT} of {processes.where}"
        raise InputError(msg, hint=_HINT)
    cxx = tools.need(processes, f"clang++{suffix}", hint=_HINT)
    lld = tools.need(processes, f"ld.lld{suffix}", hint=_HINT)
    return Toolchain(
        kind="clang-linux-arm64",
        target=_TARGET,
        machine="aarch64",
        version=tools.first_line(processes, cxx, "--version"),
        c_compiler=(tools.need(processes, f"clang{suffix}", hint=_HINT),),
        cxx_compiler=(cxx,),
        compile_flags=(f"--target={_TARGET}",),
        link_flags=(f"--target={_TARGET}", f"-fuse-ld={lld}", "-Wl,--build-id=none"),
        strip=(tools.need(processes, f"llvm-strip{suffix}", hint=_HINT), "--strip-all"),
        archiver=tools.need(processes, f"llvm-ar{suffix}", hint=_HINT),
        ranlib=tools.need(processes, f"llvm-ranlib{suffix}", hint=_HINT),
        host_cxx=(cxx,),
        sysroot=_SYSROOT,
    )


def _version_suffix(processes: Processes) -> str:
    for suffix in _VERSIONS:
        if all(processes.which(f"{tool}{suffix}") for tool in ("clang++", "ld.lld")):
            return suffix
    msg = f"clang and lld of one version were not found on {processes.where}"
    raise InputError(msg, hint=_HINT)
