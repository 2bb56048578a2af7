from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build import toolchains
from megtrim.build.toolchains import host, zig
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.toolchains.support import machine

ORDER = ToolchainConfig(kind="auto")


def chosen(monkeypatch: pytest.MonkeyPatch, *there: str, emulated: bool) -> str:
    calls = {"zig": (zig, "find"), "zig native": (zig, "find_native"), "host": (host, "find")}
    for name, (module, function) in calls.items():

        def find(*_: object, name: str = name) -> str:
            if name not in there:
                msg = f"no {name}"
                raise InputError(msg)
            return name

        monkeypatch.setattr(module, function, find)
    return str(toolchains.find(ORDER, ProcessRunner({}), emulated=emulated))


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
