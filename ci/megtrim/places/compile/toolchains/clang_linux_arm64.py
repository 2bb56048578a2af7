"""``clang-linux-arm64``: Debian's clang and lld with Debian's cross libraries, dynamic glibc.

Clang 14 is tried first: newer ones reject the flatbuffers that the engine bundles (seen with 19).
"""

import re
from pathlib import Path

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.model import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import tools

_TARGET = "aarch64-linux-gnu"
_VERSIONS = ("-14", "-15", "-16", "-13", "")
_SYSROOT = Path("/usr/aarch64-linux-gnu")
_HINT = "on Debian: apt-get install clang-14 lld-14 llvm-14 g++-aarch64-linux-gnu"

_PACKING_LLD = 15
"""First release of lld that marks packed relocations as glibc requires it."""
_PACKING_GLIBC = (2, 36)
"""First release of glibc that loads packed relocations; an older one refuses with a message."""
_LLD = re.compile(r"\bLLD (\d{1,3})\.")
_GLIBC = re.compile(r"^#define\s+__GLIBC(?:_MINOR)?__\s+(\d{1,3})$", re.MULTILINE)


def find(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    suffix = _version_suffix(wanted.clang, processes)
    if processes.read(_SYSROOT / "lib" / "ld-linux-aarch64.so.1") is None:
        msg = f"the arm64 C library is not in {_SYSROOT} of {processes.where}"
        raise InputError(msg, hint=_HINT)
    cxx = tools.need(processes, f"clang++{suffix}", hint=_HINT)
    lld = tools.need(processes, f"ld.lld{suffix}", hint=_HINT)
    version = tools.first_line(processes, cxx, "--version")
    clang = tools.need(processes, f"clang{suffix}", hint=_HINT)
    packing = _packing(relocations, lld, processes)
    strip = tools.need(processes, f"llvm-strip{suffix}", hint=_HINT)
    archiver = tools.need(processes, f"llvm-ar{suffix}", hint=_HINT)
    ranlib = tools.need(processes, f"llvm-ranlib{suffix}", hint=_HINT)
    target_flag = f"--target={_TARGET}"
    return Toolchain(
        kind="clang-linux-arm64",
        target=_TARGET,
        machine="aarch64",
        version=version,
        c_compiler=(clang,),
        cxx_compiler=(cxx,),
        compile_flags=(target_flag,),
        link_flags=(target_flag, f"-fuse-ld={lld}", "-Wl,--build-id=none", *packing),
        strip=(strip, "--strip-all"),
        archiver=archiver,
        ranlib=ranlib,
        host_cxx=(cxx,),
        sysroot=_SYSROOT,
    )


def _version_suffix(release: int | None, processes: ProcessRunner) -> str:
    suffixes = _VERSIONS if release is None else (f"-{release}",)
    for suffix in suffixes:
        if all(processes.which(f"{tool}{suffix}") for tool in ("clang++", "ld.lld")):
            return suffix
    if release is not None:
        msg = f"clang++-{release} and ld.lld-{release} were not found on {processes.where}"
        raise InputError(msg, hint=_HINT.replace("-14", f"-{release}"))
    msg = f"clang and lld of one version were not found on {processes.where}"
    raise InputError(msg, hint=_HINT)


def _packing(relocations: Relocations, lld: str, processes: ProcessRunner) -> tuple[str, ...]:
    """Raises InputError if lld or glibc is too old."""
    if relocations is Relocations.NONE:
        return ()
    version = tools.first_line(processes, lld, "--version")
    release = _LLD.search(version)
    if release is None or int(release[1]) < _PACKING_LLD:
        msg = f"trim.relocations: relr needs lld {_PACKING_LLD} or later, and this is {version}"
        hint = f"name a later release in toolchain.clang, such as {_PACKING_LLD + 1}"
        raise InputError(msg, hint=hint)
    glibc = _glibc(processes)
    if glibc < _PACKING_GLIBC:
        needed, found = (".".join(map(str, each)) for each in (_PACKING_GLIBC, glibc))
        msg = f"trim.relocations: relr needs glibc {needed} or later, and {_SYSROOT} has {found}"
        raise InputError(msg, hint="leave trim.relocations out, or build where glibc is newer")
    return ("-Wl,-z,pack-relative-relocs",)


def _glibc(processes: ProcessRunner) -> tuple[int, ...]:
    features = _SYSROOT / "include" / "features.h"
    numbers = _GLIBC.findall((processes.read(features) or b"").decode("ascii", errors="replace"))
    if len(numbers) != len(_PACKING_GLIBC):
        msg = f"{features} of {processes.where}: expected the release of glibc"
        raise InputError(msg, hint=_HINT)
    return tuple(map(int, numbers))
