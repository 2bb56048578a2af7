"""``ndk``: the Android NDK that ``ANDROID_NDK_ROOT`` names, for arm64-v8a and armeabi-v7a.

Names and formats of its files are those of r22.
"""

import hashlib
import json
import re
from pathlib import Path

from megtrim.core.build_spec import LOADED_FROM, LOWEST_API, PACKED, Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.core.config.units import parse_bytes
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.toolchains import tools

VARIABLE = "ANDROID_NDK_ROOT"
_RELEASE = "source.properties"
_LEVELS = "meta/platforms.json"
_TOOLCHAIN_FILE = "build/cmake/android.toolchain.cmake"
_PREBUILT = "toolchains/llvm/prebuilt/linux-x86_64"
_PROGRAMS = f"{_PREBUILT}/bin"
_LIBRARIES = f"{_PREBUILT}/sysroot"
"""Has libc++_shared.so, which no phone has."""
_HINT = f"unpack an NDK and set {VARIABLE} to its folder, or build in an image: toolchain.image"
_REVISION = re.compile(r"^Pkg\.Revision *= *(\d{1,4})\.(\d{1,4})\.", re.MULTILINE)
_DESCRIPTION = re.compile(r"^Pkg\.Desc *= *([^\n]{1,200})", re.MULTILINE)


_SMALLEST_PAGE_BYTES = 4096
_LARGE_PAGES = ("-Wl,-z,max-page-size=16384", "-Wl,-z,common-page-size=16384")
"""The second is for the end of RELRO, which linkers pad to 4 KiB."""


class _Abi(Value):
    machine: str
    target: str
    pages: str


_ABIS = {
    "arm64-v8a": _Abi(machine="aarch64", target="aarch64-linux-android", pages="16 KiB"),
    "armeabi-v7a": _Abi(machine="arm", target="armv7a-linux-androideabi", pages="4 KiB"),
}
ABIS = tuple(_ABIS)


def find(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    """Raises InputError unless the NDK is complete, as requested, and can build for that phone."""
    root = _root(processes)
    properties = _text(root, _RELEASE, processes)
    release = release_of(properties, source=str(root / _RELEASE))
    if wanted.ndk and wanted.ndk != release:
        msg = f"{root} is NDK {release}, expected {wanted.ndk}"
        raise InputError(msg, hint=f"set {VARIABLE} to that one, or change toolchain.ndk")
    name = wanted.abi or ABIS[0]
    abi = _ABIS[name]
    api = wanted.api or LOWEST_API[name]
    _check_level(api, name, _text(root, _LEVELS, processes), release)
    needed = LOADED_FROM.get(relocations, 0)
    if api < needed:
        msg = (
            f"trim.relocations: {relocations} needs API level {needed} or later, "
            f"and toolchain.api is {api}: older loaders kill the process without a message"
        )
        raise InputError(
            msg, hint="set toolchain.api to that of the oldest phone, or change the key"
        )
    rules = _text(root, _TOOLCHAIN_FILE, processes)
    page_bytes = parse_bytes(wanted.pages or abi.pages)
    large = _LARGE_PAGES if page_bytes > _SMALLEST_PAGE_BYTES else ()
    programs = root / _PROGRAMS
    cxx = tools.need(processes, str(programs / "clang++"), hint=_HINT)
    cxx_version = tools.first_line(processes, cxx, "--version")
    strip = tools.need(processes, str(programs / "llvm-strip"), hint=_HINT)
    host = [processes.which(name) for name in ("g++", "clang++", "clang++-14", "c++")]
    files = hashlib.sha256(f"{properties}\0{rules}".encode()).hexdigest()
    settings = [("ANDROID_ABI", name), ("ANDROID_PLATFORM", f"android-{api}")]
    if wanted.stl:
        settings.append(("ANDROID_STL", wanted.stl))
    return Toolchain(
        kind="ndk",
        target=f"{abi.target}{api}",
        machine=abi.machine,
        version=f"NDK {release}, {cxx_version}",
        files=files[:16],
        c_compiler=(str(programs / "clang"),),
        cxx_compiler=(cxx,),
        link_flags=("-Wl,--build-id=none", *large, *PACKED.get(relocations, ())),
        strip=(strip, "--strip-all"),
        host_cxx=tuple(path for path in host if path)[:1],
        abi=name,
        api=api,
        fp16=wanted.fp16,
        page_bytes=page_bytes,
        ndk=str(root),
        includes=str(root / _TOOLCHAIN_FILE),
        settings=tuple(settings),
        sysroot=root / _LIBRARIES if wanted.stl == "c++_shared" else None,
    )


def release_of(properties: str, *, source: str) -> str:
    """Such as ``r21e`` for revision 21.4, or ``r21e (stand-in)``."""
    found = _REVISION.search(properties)
    if found is None or int(found[2]) > 25:
        msg = f"{source}: found no line such as Pkg.Revision = 21.4.7075529"
        raise InputError(msg, hint="is it the folder of an NDK?")
    minor = int(found[2])
    described = _DESCRIPTION.search(properties)
    stand_in = " (stand-in)" if described and "stand-in" in described[1].lower() else ""
    return f"r{int(found[1])}{chr(ord('a') + minor) if minor else ''}{stand_in}"


def _root(processes: ProcessRunner) -> Path:
    named = processes.env.get(VARIABLE, "")
    if not named:
        msg = f"{VARIABLE} is not set on {processes.where}"
        raise InputError(msg, hint=_HINT)
    root = Path(named)
    if not root.is_absolute():
        msg = f"{VARIABLE}: found {named!r}, expected an absolute path"
        raise InputError(msg, hint=_HINT)
    return root


def _text(root: Path, name: str, processes: ProcessRunner) -> str:
    data = processes.read(root / name)
    if data is None:
        msg = f"{root} on {processes.where} is not a complete Android NDK: it has no {name}"
        raise InputError(msg, hint=_HINT)
    return data.decode("utf-8", errors="replace")


def _check_level(api: int, abi: str, levels: str, release: str) -> None:
    try:
        known = json.loads(levels)
        lowest = int(known["min"])
        highest = int(known["max"])
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        msg = f"{_LEVELS} of NDK {release}: expected the lowest and the highest API level"
        raise InputError(msg, hint="unpack the NDK again") from None
    lowest = max(lowest, LOWEST_API[abi])
    if not lowest <= api <= highest:
        msg = f"NDK {release} builds {abi} for API levels {lowest} to {highest}, not for {api}"
        raise InputError(msg, hint="change toolchain.api, or use another NDK")
