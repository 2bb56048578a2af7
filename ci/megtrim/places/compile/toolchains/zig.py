"""``zig``: a compiler that is installed from a wheel, without root, and makes static programs."""

import importlib.util
import platform
from pathlib import Path

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner

_MACHINES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def find(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    del wanted, relocations  # it has no settings
    return _toolchain(processes, "aarch64")


def find_native(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    del wanted, relocations  # it has no settings
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        msg = f"zig has no Linux target for {platform.machine()}"
        raise InputError(msg)
    return _toolchain(processes, machine)


def _toolchain(processes: ProcessRunner, machine: str) -> Toolchain:
    program = str(_program())
    if processes.which(program) is None:
        msg = f"zig is installed in megtrim's own Python environment, but not in {processes.where}"
        raise InputError(msg, hint="choose another toolchain.kind, or use --no-docker")
    target = f"{machine}-linux-musl"
    version = processes.capture(program, "version").strip()
    return Toolchain(
        kind="zig",
        target=target,
        machine=machine,
        version=version,
        c_compiler=(program, "cc"),
        cxx_compiler=(program, "c++"),
        # "-s" says nothing to a compilation. CMake links some programs by these flags alone, and
        # zig would compile its whole C++ library once more, with symbols, for those.
        compile_flags=("-target", target, "-s"),
        link_flags=("-target", target, "-static", "-s", "-Wl,--build-id=none"),
        # Hashing this file of 180 MB would slow down every compilation, even a cache hit.
        compiler_check=f"string:zig {version}",
        first_link="zig builds its C++ library, once on this machine",
        # The machine's own ar may not know the symbols of another architecture.
        archive=(program, "ar"),
    )


def _program() -> Path:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        msg = "the package ziglang is not installed"
        raise InputError(msg, hint="pip install 'megtrim[zig]'")
    return Path(spec.origin).parent / "zig"
