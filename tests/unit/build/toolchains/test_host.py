from __future__ import annotations

import platform
from pathlib import Path

import pytest

from megtrim.build.toolchains import host
from megtrim.build_spec import Toolchain
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from unit.build.toolchains.support import machine

ORDER = ToolchainConfig(kind="host")


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (("g++", "gcc", "clang++", "clang"), ("gcc", "g++")),
        (("g++", "clang++", "clang"), ("clang", "clang++")),
        (("c++", "cc"), ("cc", "c++")),
    ],
)
def test_the_hosts_own_compiler(
    tmp_path: Path, there: tuple[str, ...], taken: tuple[str, str]
) -> None:
    found = host.find(ORDER, machine(tmp_path, *there))

    c, cxx = (str(tmp_path / "bin" / name) for name in taken)
    assert found == Toolchain(
        kind="host",
        target=f"{taken[1]} version 1 -dumpmachine\nmore",
        machine=platform.machine(),
        version=f"{taken[1]} version 1 --version",
        c_compiler=(c,),
        cxx_compiler=(cxx,),
        link_flags=("-s", "-Wl,--build-id=none"),
    )


def test_a_missing_compiler_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        host.find(ORDER, machine(tmp_path))

    assert caught.value.message == "this machine has no C++ compiler"
    assert "apt-get install g++" in caught.value.hint
