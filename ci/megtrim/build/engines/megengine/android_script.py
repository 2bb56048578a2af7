"""MegEngine's own script for Android builds.

The script chooses options that a direct CMake call would have to repeat, so it is used unchanged.
It pastes paths and further options into shell commands, so options are quoted for the shell, and
paths that it would split are rejected.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from megtrim.build_spec import BuildScript, Toolchain
from megtrim.util.errors import InputError
from megtrim.util.value import Value

PATH = "scripts/cmake-build/cross_build_android_arm_inference.sh"
_WHY = "the engine's own build for Android: it makes flatc, and chooses the ABI's options"
_GETOPTS = re.compile(r'\bgetopts +"([^"\n]{1,99})"')


def script_for(toolchain: Toolchain, targets: Sequence[str]) -> BuildScript:
    return BuildScript(
        path=PATH,
        arguments=(
            *("-a", toolchain.abi),
            *(("-f",) if toolchain.fp16 else ()),
            *("-e", " ".join(targets)),
        ),
        build=f"build_dir/android/{toolchain.abi}/Release/build",
        why=_WHY,
    )


def expect_abi(text: str, abi: str, *, root: str) -> None:
    if not text:
        msg = f"{root} has no {PATH}, which Android builds need"
        raise InputError(msg, hint="use a complete checkout of MegEngine, or another toolchain")
    if f'"{abi}"' not in text:
        msg = f"{root}/{PATH} does not name the ABI {abi}, so this tree cannot build it"
        raise InputError(msg, hint="change toolchain.abi to one that the script names")
    taken = _GETOPTS.search(text)
    if taken is None or not {"e:", "j:"} <= set(re.findall("[a-z]:", taken[1])):
        msg = f"{root}/{PATH} has no options -e TARGET and -j JOBS, which megtrim uses"
        raise InputError(msg, hint="the engine's script has them from release 1.6 on")


def environment(ndk: str, entries: Sequence[str]) -> Mapping[str, str]:
    """``entries`` (CMake's) override the script's own."""
    arguments = (*entries, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON")
    return {"NDK_ROOT": ndk, "EXTRA_CMAKE_ARGS": shlex.join(arguments)}


_RELEASE = re.compile(r"^NDK r(\d+)")
_CLANG = re.compile(r"\bclang version (\d+)\.")


class NdkLimit(Value):
    what: str
    pattern: re.Pattern[str]
    lowest: int
    highest: int
    wrong: str
    seen: str


LIMITS = (
    NdkLimit(
        what="NDK r{}",
        pattern=_RELEASE,
        lowest=20,
        highest=99,
        wrong="is too old for this engine",
        seen="the engine's own page on building suggests r20 or r21",
    ),
    NdkLimit(
        what="clang {} of the NDK",
        pattern=_CLANG,
        lowest=0,
        highest=18,
        wrong="is too new for this engine: it rejects the flatbuffers that the engine bundles",
        seen="clang 19 on Linux: -Werror, a deprecated declaration; clang 14 accepts them",
    ),
)


def check_ndk(toolchain: Toolchain) -> None:
    """Complete builds were seen with the parts of r22 and clang 14."""
    for limit in LIMITS:
        found = limit.pattern.search(toolchain.version)
        if found is None or limit.lowest <= int(found[1]) <= limit.highest:
            continue
        msg = f"{limit.what.format(found[1])} {limit.wrong}"
        raise InputError(msg, hint=f"use NDK r21e, which the engine suggests ({limit.seen})")
