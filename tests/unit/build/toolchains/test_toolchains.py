import platform
from pathlib import Path

import pytest

from megtrim.build import toolchains
from megtrim.build.toolchains import host, tools, zig
from megtrim.build_spec import Toolchain
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.toolchains.support import machine

AUTO = ToolchainConfig(kind="auto")
HOST = ToolchainConfig(kind="host")


def chosen(monkeypatch: pytest.MonkeyPatch, *there: str, emulated: bool) -> str:
    calls = {"zig": (zig, "find"), "zig native": (zig, "find_native"), "host": (host, "find")}
    for name, (module, function) in calls.items():

        def find(*_: object, name: str = name) -> str:
            if name not in there:
                msg = f"no {name}"
                raise InputError(msg)
            return name

        monkeypatch.setattr(module, function, find)
    return str(toolchains.find(AUTO, ProcessRunner({}), emulated=emulated))


@pytest.mark.parametrize(
    ("there", "emulated", "taken"),
    [
        (("zig", "zig native", "host"), True, "zig"),
        (("zig", "zig native", "host"), False, "zig native"),
        (("zig native", "host"), True, "zig native"),
        (("host",), True, "host"),
        (("host",), False, "host"),
    ],
)
def test_auto_takes_the_best_that_is_there(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], emulated: bool, taken: str
) -> None:
    assert chosen(monkeypatch, *there, emulated=emulated) == taken


def test_auto_says_all_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        chosen(monkeypatch, emulated=True)

    assert caught.value.message == ("no C++ compiler was found: no zig; no zig native; no host")
    assert "pip install ziglang" in caught.value.hint


def test_a_kind_that_was_asked_for_is_taken(tmp_path: Path) -> None:
    here = machine(tmp_path, "g++", "gcc")
    assert toolchains.find(ToolchainConfig(kind="host"), here, emulated=True).kind == "host"
    with pytest.raises(InputError, match="clang and lld"):
        wanted = ToolchainConfig(kind="clang-linux-arm64")
        toolchains.find(wanted, ProcessRunner({"PATH": "/nowhere"}), emulated=True)


def test_programs_are_looked_for_on_the_given_path(tmp_path: Path) -> None:
    processes = machine(tmp_path, "tool")

    assert processes.which("tool") == str(tmp_path / "bin" / "tool")
    assert processes.which("sh") is None
    assert ProcessRunner({}).which("sh") is None
    assert tools.need(processes, "tool", hint="") == str(tmp_path / "bin" / "tool")
    assert tools.first_line(processes, str(tmp_path / "bin/tool"), "-v") == "tool version 1 -v"
    with pytest.raises(InputError) as caught:
        tools.need(processes, "gone", hint="get it")
    assert (caught.value.message, caught.value.hint) == (
        "gone is not on the PATH of this machine",
        "get it",
    )


def test_a_tool_that_prints_nothing_is_refused(tmp_path: Path) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)

    with pytest.raises(InputError, match="--version prints nothing"):
        tools.first_line(ProcessRunner({}), str(tool), "--version")


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
    found = host.find(HOST, machine(tmp_path, *there))

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
        host.find(HOST, machine(tmp_path))

    assert caught.value.message == "this machine has no C++ compiler"
    assert "apt-get install g++" in caught.value.hint
