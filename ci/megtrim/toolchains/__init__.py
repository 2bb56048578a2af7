"""Finds compilers on the host where programs run: one file per kind, one line each in ``KINDS``.

A kind's ``find`` returns a :class:`~megtrim.build_spec.Toolchain` or raises an
:class:`~megtrim.errors.InputError` that says how to get what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from megtrim.build_spec import Toolchain, ToolchainSpec
from megtrim.errors import InputError
from megtrim.process import ProcessRunner
from megtrim.toolchains import clang_linux_arm64, host, ndk, zig

Find = Callable[[ToolchainSpec, ProcessRunner], Toolchain]

KINDS: Mapping[str, Find] = {
    "zig": zig.find,
    "clang-linux-arm64": clang_linux_arm64.find,
    "ndk": ndk.find,
    "host": host.find,
}


def find(spec: ToolchainSpec, processes: ProcessRunner, *, emulated: bool) -> Toolchain:
    """Return the toolchain of the requested kind; ``auto`` takes the best that is installed.

    ``emulated``: arm64 programs can run here. If not, ``auto`` builds for this machine's own
    architecture.
    """
    if spec.kind != "auto":
        return KINDS[spec.kind](spec, processes)
    choices: tuple[Find, ...] = (zig.find,) if emulated else ()
    problems = []
    for choice in (*choices, zig.find_native, host.find):
        try:
            return choice(spec, processes)
        except InputError as problem:
            problems.append(problem.message)
    msg = "no C++ compiler was found: " + "; ".join(problems)
    raise InputError(msg, hint="`pip install ziglang` installs one, without root")
