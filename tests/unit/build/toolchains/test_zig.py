import platform
from pathlib import Path
from types import SimpleNamespace

import pytest

from megtrim.build import toolchains
from megtrim.build.toolchains import zig
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.toolchains.support import machine

ORDER = ToolchainConfig(kind="zig")


def test_a_missing_zig_is_an_input_error(
    processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(InputError) as caught:
        zig.find(ORDER, processes)
    assert caught.value.message == "the package ziglang is not installed"
    assert caught.value.hint == "pip install 'megtrim[zig]'"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessRunner:
    processes = machine(tmp_path, "zig")
    spec = SimpleNamespace(origin=str(tmp_path / "bin" / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    return processes


@pytest.mark.parametrize(
    ("here", "target"), [("x86_64", "x86_64-linux-musl"), ("arm64", "aarch64-linux-musl")]
)
def test_native_programs_are_for_this_architecture(
    wheel: ProcessRunner, monkeypatch: pytest.MonkeyPatch, here: str, target: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: here)

    assert zig.find_native(ORDER, wheel).target == target
    assert zig.find(ORDER, wheel).target == "aarch64-linux-musl"


def test_an_architecture_without_a_target_is_refused(
    wheel: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "s390x")

    with pytest.raises(InputError, match=r"^zig has no Linux target for s390x$"):
        zig.find_native(ORDER, wheel)


def test_a_zig_that_the_build_cannot_start_is_refused(wheel: ProcessRunner, tmp_path: Path) -> None:
    (tmp_path / "bin" / "zig").unlink()

    with pytest.raises(InputError, match="but not in this machine") as caught:
        zig.find(ORDER, wheel)
    assert "--no-docker" in caught.value.hint


@pytest.mark.chain
@pytest.mark.parametrize(
    ("find", "architecture"), [(zig.find, "aarch64"), (zig.find_native, platform.machine())]
)
def test_zig_makes_static_programs(
    processes: ProcessRunner, find: toolchains.Find, architecture: str
) -> None:
    found = find(ORDER, processes)

    target = f"{architecture}-linux-musl"
    assert (found.kind, found.target, found.machine) == ("zig", target, architecture)
    assert found.cxx_compiler[1:] == ("c++",)
    assert found.c_compiler == (found.cxx_compiler[0], "cc")
    assert found.compile_flags == ("-target", target, "-s")
    assert found.link_flags == ("-target", target, "-static", "-s", "-Wl,--build-id=none")
    assert found.compiler_check == f"string:zig {found.version}"
    assert found.sysroot is None
