"""``clang-linux-arm64`` and ``clang-linux-armhf``: Debian's clang and lld, dynamic glibc.

The libraries are Debian's cross libraries. Clang 14 is tried first, the one of Debian 12, by which
lists were committed and figures were measured.
"""

import re
from pathlib import Path

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.toolchains import tools

_SYSROOTS = Path("/usr")


class _Target(Value):
    kind: str
    triple: str
    """Of Debian's packages and folders."""
    clang_target: str
    machine: str
    name: str
    """What people call it."""
    loader: str

    @property
    def sysroot(self) -> Path:
        return _SYSROOTS / self.triple

    @property
    def hint(self) -> str:
        return f"on Debian: apt-get install clang-14 lld-14 llvm-14 g++-{self.triple}"


_ARM64 = _Target(
    kind="clang-linux-arm64",
    triple="aarch64-linux-gnu",
    clang_target="aarch64-linux-gnu",
    machine="aarch64",
    name="arm64",
    loader="ld-linux-aarch64.so.1",
)
_ARMHF = _Target(
    kind="clang-linux-armhf",
    triple="arm-linux-gnueabihf",
    # Debian's armhf is Armv7; clang would make code for Armv6 by the other name.
    clang_target="armv7a-linux-gnueabihf",
    machine="arm",
    name="armhf",
    loader="ld-linux-armhf.so.3",
)
_VERSIONS = ("-14", "-15", "-16", "-13", "")

_PACKING_LLD = 15
"""First release of lld that marks packed relocations as glibc requires it."""
_PACKING_GLIBC = (2, 36)
"""First release of glibc that loads packed relocations; an older one refuses with a message."""
_LLD = re.compile(r"\bLLD (\d{1,3})\.")
_GLIBC = re.compile(r"^#define\s+__GLIBC(?:_MINOR)?__\s+(\d{1,3})$", re.MULTILINE)


def find(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    return _find(_ARM64, wanted, processes, relocations)


def find_armhf(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    return _find(_ARMHF, wanted, processes, relocations)


def _find(
    target: _Target, wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations
) -> Toolchain:
    hint = target.hint
    suffix = _version_suffix(wanted.clang, processes, hint)
    if processes.read(target.sysroot / "lib" / target.loader) is None:
        msg = f"the {target.name} C library is not in {target.sysroot} of {processes.where}"
        raise InputError(msg, hint=hint)
    cxx = tools.need(processes, f"clang++{suffix}", hint=hint)
    lld = tools.need(processes, f"ld.lld{suffix}", hint=hint)
    version = tools.first_line(processes, cxx, "--version")
    clang = tools.need(processes, f"clang{suffix}", hint=hint)
    packing = _packing(relocations, lld, target, processes)
    strip = tools.need(processes, f"llvm-strip{suffix}", hint=hint)
    archiver = tools.need(processes, f"llvm-ar{suffix}", hint=hint)
    ranlib = tools.need(processes, f"llvm-ranlib{suffix}", hint=hint)
    target_flag = f"--target={target.clang_target}"
    return Toolchain(
        kind=target.kind,
        target=target.clang_target,
        machine=target.machine,
        version=version,
        c_compiler=(clang,),
        cxx_compiler=(cxx,),
        compile_flags=(target_flag,),
        link_flags=(target_flag, f"-fuse-ld={lld}", "-Wl,--build-id=none", *packing),
        strip=(strip, "--strip-all"),
        archiver=archiver,
        ranlib=ranlib,
        host_cxx=(cxx,),
        sysroot=target.sysroot,
    )


def _version_suffix(release: int | None, processes: ProcessRunner, hint: str) -> str:
    suffixes = _VERSIONS if release is None else (f"-{release}",)
    for suffix in suffixes:
        if all(processes.which(f"{tool}{suffix}") for tool in ("clang++", "ld.lld")):
            return suffix
    if release is not None:
        msg = f"clang++-{release} and ld.lld-{release} were not found on {processes.where}"
        raise InputError(msg, hint=hint.replace("-14", f"-{release}"))
    msg = f"clang and lld of one version were not found on {processes.where}"
    raise InputError(msg, hint=hint)


def _packing(
    relocations: Relocations, lld: str, target: _Target, processes: ProcessRunner
) -> tuple[str, ...]:
    """Raises InputError if lld or glibc is too old."""
    if relocations is Relocations.NONE:
        return ()
    version = tools.first_line(processes, lld, "--version")
    release = _LLD.search(version)
    if release is None or int(release[1]) < _PACKING_LLD:
        msg = f"trim.relocations: relr needs lld {_PACKING_LLD} or later, and this is {version}"
        hint = f"name a later release in toolchain.clang, such as {_PACKING_LLD + 1}"
        raise InputError(msg, hint=hint)
    glibc = _glibc(target, processes)
    if glibc < _PACKING_GLIBC:
        needed, found = (".".join(map(str, each)) for each in (_PACKING_GLIBC, glibc))
        where = target.sysroot
        msg = f"trim.relocations: relr needs glibc {needed} or later, and {where} has {found}"
        raise InputError(msg, hint="leave trim.relocations out, or build where glibc is newer")
    return ("-Wl,-z,pack-relative-relocs",)


def _glibc(target: _Target, processes: ProcessRunner) -> tuple[int, ...]:
    features = target.sysroot / "include" / "features.h"
    numbers = _GLIBC.findall((processes.read(features) or b"").decode("ascii", errors="replace"))
    if len(numbers) != len(_PACKING_GLIBC):
        msg = f"{features} of {processes.where}: expected the release of glibc"
        raise InputError(msg, hint=target.hint)
    return tuple(map(int, numbers))
