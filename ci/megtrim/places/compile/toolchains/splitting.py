"""Which compilers cut functions in two soundly, for trim.level: blocks.

``benchmarks/splitting.py`` tries 55 programs, each cut in five ways: exceptions, jumps, signals,
threads and backtraces, in, through and into what was cut off. A release of clang that was not tried
is refused like one that fails. Pure, but for :func:`choose`.
"""

import re
from collections.abc import Mapping

from megtrim.core.build_spec import Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner

SOUND = (22,)
"""Releases of which all 275 tries are equal (22.1.8), the newest first."""
UNSOUND: Mapping[int, str] = {
    14: "it has no -fbasic-block-address-map",
    19: "of 275 tries of benchmarks/splitting.py, 138 crash, hang or print something else",
}
_CLANG = re.compile(r"\bclang version (\d{1,3})\.")
KIND = "clang-linux-arm64"
_MACHINES = {"aarch64": (KIND, "recorded"), "x86_64": ("recorded",)}
"""Where this was tried, and the kinds of toolchains that have such a clang."""
_INSTALL = "on Debian: apt-get install clang-{0} lld-{0} llvm-{0}"


def choose(wanted: ToolchainConfig, processes: ProcessRunner) -> ToolchainConfig:
    """Return the toolchain for this level, which has a compiler of its own.

    A release that ``toolchain.clang`` names stays. Otherwise it is the newest one that is sound and
    installed, whatever other levels take.
    """
    if wanted.kind not in ("auto", KIND) or wanted.clang is not None:
        return wanted
    tools = ("clang++", "ld.lld")
    there = (each for each in SOUND if all(processes.which(f"{tool}-{each}") for tool in tools))
    return wanted.model_copy(update={"kind": KIND, "clang": next(there, SOUND[0])})


def expect_sound(toolchain: Toolchain, where: str) -> None:
    """Raise InputError, which begins with ``where``, for a compiler that cannot be trusted."""
    sound = " or ".join(map(str, SOUND))
    hint = (
        f"use toolchain.kind: {KIND} with clang {sound} ({_INSTALL.format(SOUND[0])}), "
        "or trim.level: deferred"
    )
    found = _CLANG.search(toolchain.version)
    if found is None or toolchain.kind not in _MACHINES.get(toolchain.machine, ()):
        msg = (
            f"{where}: blocks are cut by clang {sound} for aarch64 Linux, and for x86_64 where "
            f"engine.kind is link, not by {toolchain.version} for {toolchain.target}"
        )
        raise InputError(msg, hint=hint)
    release = int(found[1])
    if release in SOUND:
        return
    why = UNSOUND.get(release, "nobody has tried this release with benchmarks/splitting.py")
    msg = f"{where}: clang {release} does not cut functions soundly: {why}"
    if release not in UNSOUND:
        msg = f"{where}: clang {release} may not cut functions soundly: {why}"
    raise InputError(msg, hint=hint)
