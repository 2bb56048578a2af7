from pathlib import Path

import pytest

from megtrim.build.toolchains import clang_linux_arm64
from megtrim.build_spec import Relocations, Toolchain
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.toolchains.support import machine

ORDER = ToolchainConfig(kind="clang-linux-arm64")


def test_a_missing_compiler_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        clang_linux_arm64.find(ORDER, machine(tmp_path))

    assert caught.value.message == "clang and lld of one version were not found on this machine"
    assert "apt-get install clang-14 lld-14" in caught.value.hint


def test_clang_and_lld_of_one_version_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        *(f"{name}-15" for name in ("clang", "clang++", "ld.lld")),
        *(f"{name}-15" for name in ("llvm-strip", "llvm-ar", "llvm-ranlib")),
        *("clang++-14", "clang++", "ld.lld"),
    ]
    sysroot = tmp_path / "sysroot"
    monkeypatch.setattr(clang_linux_arm64, "_SYSROOT", sysroot)
    processes = machine(tmp_path, *names)

    with pytest.raises(InputError) as caught:
        clang_linux_arm64.find(ORDER, processes)
    assert caught.value.message == f"the arm64 C library is not in {sysroot} of this machine"

    (sysroot / "lib").mkdir(parents=True)
    (sysroot / "lib" / "ld-linux-aarch64.so.1").touch()
    folder = tmp_path / "bin"
    assert clang_linux_arm64.find(ORDER, processes) == Toolchain(
        kind="clang-linux-arm64",
        target="aarch64-linux-gnu",
        machine="aarch64",
        version="clang++-15 version 1 --version",
        c_compiler=(f"{folder}/clang-15",),
        cxx_compiler=(f"{folder}/clang++-15",),
        compile_flags=("--target=aarch64-linux-gnu",),
        link_flags=(
            "--target=aarch64-linux-gnu",
            f"-fuse-ld={folder}/ld.lld-15",
            "-Wl,--build-id=none",
        ),
        strip=(f"{folder}/llvm-strip-15", "--strip-all"),
        archiver=f"{folder}/llvm-ar-15",
        ranlib=f"{folder}/llvm-ranlib-15",
        host_cxx=(f"{folder}/clang++-15",),
        sysroot=sysroot,
    )

    (folder / "llvm-ar-15").unlink()
    with pytest.raises(InputError, match=r"^llvm-ar-15 is not on the PATH"):
        clang_linux_arm64.find(ORDER, processes)


def cross_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: int, glibc: str
) -> ProcessRunner:
    tools = ("clang", "clang++", "ld.lld", "llvm-strip", "llvm-ar", "llvm-ranlib")
    processes = machine(tmp_path, *(f"{name}-{release}" for name in tools))
    linker = tmp_path / "bin" / f"ld.lld-{release}"
    linker.write_text(f"#!/bin/sh\necho Debian LLD {release}.0.6\n", encoding="utf-8")
    sysroot = tmp_path / "sysroot"
    (sysroot / "lib").mkdir(parents=True)
    (sysroot / "lib" / "ld-linux-aarch64.so.1").touch()
    (sysroot / "include").mkdir()
    (sysroot / "include" / "features.h").write_text(glibc, encoding="ascii")
    monkeypatch.setattr(clang_linux_arm64, "_SYSROOT", sysroot)
    return processes


def glibc(release: str) -> str:
    major, minor = release.split(".")
    return f"#define\t__GLIBC__\t{major}\n#define\t__GLIBC_MINOR__\t{minor}\n"


NEWER = ToolchainConfig(kind="clang-linux-arm64", clang=16)


def test_relocations_are_packed_as_glibc_loads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = cross_machine(tmp_path, monkeypatch, 16, glibc("2.36"))
    found = clang_linux_arm64.find(NEWER, processes, Relocations.RELR)

    assert found.link_flags[-1] == "-Wl,-z,pack-relative-relocs"


@pytest.mark.parametrize(
    ("release", "header", "message"),
    [
        (14, glibc("2.36"), "trim.relocations: relr needs lld 15 or later, and this is"),
        (16, glibc("2.35"), "trim.relocations: relr needs glibc 2.36 or later, and"),
        (16, "", "expected the release of glibc"),
    ],
)
def test_relocations_that_would_not_load_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, release: int, header: str, message: str
) -> None:
    processes = cross_machine(tmp_path, monkeypatch, release, header)

    with pytest.raises(InputError) as caught:
        clang_linux_arm64.find(
            NEWER.model_copy(update={"clang": release}), processes, Relocations.RELR
        )
    assert message in caught.value.message


def test_the_release_that_was_asked_for_is_taken_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = cross_machine(tmp_path, monkeypatch, 16, glibc("2.36"))

    with pytest.raises(InputError) as caught:
        clang_linux_arm64.find(NEWER.model_copy(update={"clang": 15}), processes)
    assert caught.value.message == "clang++-15 and ld.lld-15 were not found on this machine"
    assert "apt-get install clang-15 lld-15 llvm-15" in caught.value.hint
