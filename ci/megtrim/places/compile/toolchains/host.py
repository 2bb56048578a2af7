"""``host``: this machine's own C++ compiler, for its own architecture."""

import platform

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import tools

_PAIRS = (("g++", "gcc"), ("clang++", "clang"), ("c++", "cc"))


def find(
    wanted: ToolchainConfig, processes: ProcessRunner, relocations: Relocations = Relocations.NONE
) -> Toolchain:
    del wanted, relocations  # it always builds for this machine
    for cxx_name, c_name in _PAIRS:
        cxx = processes.which(cxx_name)
        c = processes.which(c_name)
        if cxx and c:
            return Toolchain(
                kind="host",
                target=processes.capture(cxx, "-dumpmachine").strip(),
                machine=platform.machine(),
                version=tools.first_line(processes, cxx, "--version"),
                c_compiler=(c,),
                cxx_compiler=(cxx,),
                link_flags=("-s", "-Wl,--build-id=none"),
            )
    msg = f"{processes.where} has no C++ compiler"
    raise InputError(msg, hint="on Debian: apt-get install g++; or use the toolchain zig")
