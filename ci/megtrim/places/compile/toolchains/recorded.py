"""The compiler that a project's own commands call, by its name on the PATH."""

import re
from collections.abc import Sequence
from pathlib import Path

from megtrim.core.build_spec import Toolchain
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import tools

_NAME = re.compile(
    r"(?P<prefix>(?:[\w.]+-)*)"
    r"(?P<tool>cc|gcc|g\+\+|c\+\+|clang|clang\+\+)"
    r"(?P<release>(?:-\d+(?:\.\d+)*)?)"
)
_PAIRS = {
    "cc": "c++",
    "gcc": "g++",
    "clang": "clang++",
}
_LOADERS = ("ld-linux-aarch64.so.1", "ld-linux-armhf.so.3")


def find(name: str, processes: ProcessRunner) -> Toolchain:
    """Raises InputError if it is not there."""
    parts = _NAME.fullmatch(name)
    if parts is None:
        msg = f"engine.compiler: found {name!r}, which names no compiler"
        raise InputError(msg, hint="name one such as gcc, clang++-14 or aarch64-linux-gnu-gcc")
    by_cxx = {cxx: c for c, cxx in _PAIRS.items()}
    tool = by_cxx.get(parts["tool"], parts["tool"])
    before = parts["prefix"]
    behind = parts["release"]
    c = tools.need(processes, f"{before}{tool}{behind}", hint="install it, or name another")
    cxx = processes.which(f"{before}{_PAIRS[tool]}{behind}") or c
    target = tools.first_line(processes, c, "-dumpmachine")
    return Toolchain(
        kind="recorded",
        target=target,
        machine=_name_machine(target),
        version=tools.first_line(processes, c, "--version"),
        c_compiler=(c,),
        cxx_compiler=(cxx,),
        strip=(_find_strip(before, target, processes), "--strip-all"),
        sysroot=_find_sysroot((before.rstrip("-"), target), processes),
    )


def _name_machine(target: str) -> str:
    """From a compiler's triple to what ``uname -m`` prints."""
    machine = target.partition("-")[0]
    if machine.startswith("arm"):
        return "armv7l"
    return "i686" if re.fullmatch(r"i[3-6]86", machine) else machine


def _find_strip(before: str, target: str, processes: ProcessRunner) -> str:
    own = (f"{before}strip", f"{target}-strip")
    found = next((path for name in own if (path := processes.which(name))), None)
    return found or tools.need(processes, "strip", hint="on Debian: apt-get install binutils")


def _find_sysroot(names: Sequence[str], processes: ProcessRunner) -> Path | None:
    """Where Debian's cross compilers keep the loader and libraries of their target.

    The compiler clang has another name for the target than the folder has.
    """
    for folder in (Path("/usr", name) for name in names if name):
        loaders = (folder / "lib" / name for name in _LOADERS)
        if any(processes.read(each) is not None for each in loaders):
            return folder
    return None
