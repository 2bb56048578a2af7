"""``megtrim release aar``: one Android library of the releases of several ABIs."""

from __future__ import annotations

from pathlib import Path

from megtrim.release.archive import from_path, write_archive
from support.prefab import read_package, unzip
from unit.cli.support import Shell
from unit.elf.made_objects import shared_library
from unit.release.examples import write, write_for_android

LIBRARY = shared_library("LITE_run")
ARMV7 = "armv7a-linux-androideabi16"


def test_it_joins_the_libraries_of_releases(shell: Shell) -> None:
    """Of a folder and of an archive; equal releases give equal bytes, in any order."""
    write_for_android(shell.folder / "arm64", LIBRARY)
    armv7 = write_for_android(shell.folder / "armv7", LIBRARY, target=ARMV7)
    files = (path for path in sorted(armv7.rglob("*")) if path.is_file())
    write_archive(
        [from_path(str(path.relative_to(armv7)), path) for path in files],
        shell.folder / "armv7.tar.gz",
    )
    answer = shell("release", "aar", "out/all.aar", "arm64", "armv7.tar.gz")

    assert (answer.status, answer.out) == (
        0,
        "out/all.aar: libengine.so for arm64-v8a, armeabi-v7a\n",
    )
    data = (shell.folder / "out/all.aar").read_bytes()
    _, modules = read_package(unzip(data))
    assert modules["shared"].libraries.keys() == {"arm64-v8a", "armeabi-v7a"}
    assert shell("release", "aar", "again.aar", "armv7", "arm64").status == 0
    assert (shell.folder / "again.aar").read_bytes() == data


def test_a_damaged_release_is_refused(shell: Shell) -> None:
    """Its library would reach every app."""
    write_for_android(shell.folder / "arm64", LIBRARY)
    (shell.folder / "arm64/lib/libengine.so").write_bytes(shared_library("LITE_stop"))
    answer = shell("release", "aar", "all.aar", "arm64")

    assert answer.status == 1
    assert "lib/libengine.so was changed" in answer.err
    assert not (shell.folder / "all.aar").exists()


def test_a_release_for_something_else_is_refused(shell: Shell) -> None:
    """It names which."""
    write(shell.folder / "linux")
    answer = shell("release", "aar", "all.aar", "linux")

    assert answer.status == 2
    assert "linux has nothing for an AAR: it holds no shared library for Android" in answer.err


def test_nothing_is_overwritten(shell: Shell) -> None:
    """Not even by its own result."""
    write_for_android(shell.folder / "arm64", LIBRARY)
    Path(shell.folder / "all.aar").write_text("mine", encoding="utf-8")

    assert shell("release", "aar", "all.aar", "arm64").status == 2
    assert (shell.folder / "all.aar").read_text(encoding="utf-8") == "mine"
