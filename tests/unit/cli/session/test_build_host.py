"""Where the programs of a trim run: this machine, or an image."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.images.container_runner import ContainerRunner
from megtrim.build_spec import Toolchain
from megtrim.cli.session import build_host
from megtrim.util.process import Command
from unit.build.images.stub import ID, Stub

SYSROOT = Path("/usr/aarch64-linux-gnu")


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin", HOME=str(tmp_path / "home"))


def toolchain(sysroot: Path | None = SYSROOT) -> Toolchain:
    return Toolchain(
        kind="host",
        target="t",
        machine="aarch64",
        version="1",
        c_compiler=("cc",),
        cxx_compiler=("c++",),
        sysroot=sysroot,
    )


@pytest.mark.parametrize("reference", [None, ""])
def test_without_an_image_docker_is_not_asked(
    stub: Stub, tmp_path: Path, reference: str | None
) -> None:
    """Programs run here, without the variables that no key contains."""
    stub.processes.env["CXXFLAGS"] = "-O0"
    opened = build_host.open_place(reference, stub.processes, results=tmp_path, readable=())

    assert opened.env == {name: stub.processes.env[name] for name in ("PATH", "HOME")}
    assert build_host.attach_image(toolchain(), opened).image == ""
    assert build_host.sysroot_here(toolchain(), opened, tmp_path) == SYSROOT
    assert stub.calls() == []


def test_an_image(stub: Stub, tmp_path: Path) -> None:
    """Results and the compiler's cache are written, sysroots that are there are read."""
    results, sysroot = tmp_path / "out", tmp_path / "android"
    sysroot.mkdir()
    readable = (sysroot, sysroot, tmp_path / "none")
    opened = build_host.open_place("a:b", stub.processes, results=results, readable=readable)
    opened.run(Command(argv=("true",), timeout_s=60))

    cache = tmp_path / "home" / ".cache" / "ccache"
    assert isinstance(opened, ContainerRunner)
    assert build_host.attach_image(toolchain(), opened).image == ID
    assert build_host.attach_image(toolchain(), opened).identity()["image"] == ID
    argv = stub.calls("run")[0]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--mount"] == [
        f"type=bind,source={results},target={results}",
        f"type=bind,source={cache},target={cache}",
        f"type=bind,source={sysroot},target={sysroot},readonly",
    ]
    assert stub.env("run")["CCACHE_DIR"] == str(cache)
    assert results.is_dir()
    assert cache.is_dir()
    assert stub.calls("ps") != []


@pytest.mark.parametrize("folder", ["/", "/usr", "/usr/lib", "/etc", "/home/../usr/lib", "/run"])
def test_a_sysroot_does_not_hide_the_image(stub: Stub, tmp_path: Path, folder: str) -> None:
    """Whatever a configuration names: compilers and libraries stay those of the image."""
    assert Path(folder).is_dir()
    opened = build_host.open_place(
        "a:b", stub.processes, results=tmp_path, readable=(Path(folder),)
    )
    opened.run(Command(argv=("true",), timeout_s=60))

    argv = stub.calls("run")[0]
    assert len([word for word in argv if word == "--mount"]) == 2
    assert not any("readonly" in word for word in argv)


def test_a_sysroot_for_boards_is_brought_out_once(stub: Stub, tmp_path: Path) -> None:
    """A board needs the libraries that the image's compiler linked with."""
    opened = build_host.open_place("a:b", stub.processes, results=tmp_path, readable=())
    first = build_host.sysroot_here(toolchain(), opened, tmp_path)
    second = build_host.sysroot_here(toolchain(), opened, tmp_path)

    assert first == second == tmp_path / "sysroots" / ID.removeprefix("sha256:")[:20]
    copies = stub.calls("cp")
    assert len(copies) == 1
    assert copies[0][1].endswith(f":{SYSROOT}/.")
    assert len(stub.calls("rm")) == 1
    assert build_host.sysroot_here(toolchain(None), opened, tmp_path) is None
