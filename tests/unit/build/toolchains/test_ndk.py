from pathlib import Path

import pytest

from megtrim.build.toolchains import ndk
from megtrim.build_spec import Relocations
from megtrim.config.model import ToolchainConfig
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner

ORDER = ToolchainConfig(kind="ndk")
TOOL = '#!/bin/sh\necho "$(basename "$0") version 12"\n'


def lay_out(root: Path, *, revision: str = "21.4.7075529", levels: str = "") -> ProcessRunner:
    texts = {
        "source.properties": f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n",
        "meta/platforms.json": levels or '{"min": 16, "max": 30, "aliases": {}}',
        "build/cmake/android.toolchain.cmake": "",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    programs = root / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    programs.mkdir(parents=True)
    for name in ("clang", "clang++", "llvm-strip"):
        (programs / name).write_text(TOOL, encoding="utf-8")
        (programs / name).chmod(0o755)
    return ProcessRunner({"PATH": "/usr/bin:/bin", "ANDROID_NDK_ROOT": str(root)})


def refused(
    processes: ProcessRunner, spec: ToolchainConfig = ORDER, packing: Relocations = Relocations.NONE
) -> InputError:
    with pytest.raises(InputError) as caught:
        ndk.find(spec, processes, packing)
    return caught.value


def test_an_ndk_is_found_by_its_variable(tmp_path: Path) -> None:
    found = ndk.find(ORDER, lay_out(tmp_path))

    programs = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    assert found.kind == "ndk"
    assert found.target == "aarch64-linux-android21"
    assert (found.machine, found.abi, found.api) == ("aarch64", "arm64-v8a", 21)
    assert found.version == "NDK r21e, clang++ version 12"
    assert found.includes == str(tmp_path / "build/cmake/android.toolchain.cmake")
    assert found.settings == (("ANDROID_ABI", "arm64-v8a"), ("ANDROID_PLATFORM", "android-21"))
    assert found.strip == (str(programs / "llvm-strip"), "--strip-all")
    assert found.link_flags == ("-Wl,--build-id=none",)
    assert found.sysroot is None
    assert found.ndk == str(tmp_path)


def test_the_older_abi_and_another_level(tmp_path: Path) -> None:
    wanted = ToolchainConfig(kind="ndk", abi="armeabi-v7a", api=19, fp16=False)
    found = ndk.find(wanted, lay_out(tmp_path))

    assert (found.machine, found.target) == ("arm", "armv7a-linux-androideabi19")
    assert found.identity()["settings"] == "ANDROID_ABI=armeabi-v7a ANDROID_PLATFORM=android-19"


@pytest.mark.parametrize(
    ("revision", "release"),
    [
        ("20.0.5594570", "r20"),
        ("20.1.5948944", "r20b"),
        ("21.4.7075529", "r21e"),
        ("22.0.7026061", "r22"),
        ("25.2.9519653", "r25c"),
    ],
)
def test_a_release_is_called_as_people_call_it(revision: str, release: str) -> None:
    text = f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n"

    assert ndk.release_of(text, source="source.properties") == release


def test_a_stand_in_says_so() -> None:
    text = "Pkg.Desc = Stand-in for the Android NDK\nPkg.Revision = 21.4.7075529\n"

    assert ndk.release_of(text, source="source.properties") == "r21e (stand-in)"


@pytest.mark.parametrize("text", ["", "Pkg.Revision = x.y.z\n", "Pkg.Revision = 21.99.1\n", "21.4"])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ndk.release_of(text, source="ndk/source.properties")

    expected = "ndk/source.properties: found no line such as Pkg.Revision = 21.4.7075529"
    assert caught.value.message == expected


def test_no_ndk_is_shown_with_both_remedies() -> None:
    error = refused(ProcessRunner({}))

    assert error.message == "ANDROID_NDK_ROOT is not set on this machine"
    assert "toolchain.image" in error.hint
    assert "absolute path" in refused(ProcessRunner({"ANDROID_NDK_ROOT": "ndk"})).message


@pytest.mark.parametrize(
    "name", ["source.properties", "meta/platforms.json", "build/cmake/android.toolchain.cmake"]
)
def test_an_ndk_that_is_not_whole_is_refused(tmp_path: Path, name: str) -> None:
    processes = lay_out(tmp_path)
    (tmp_path / name).unlink()

    whole = f"{tmp_path} on this machine is not a complete Android NDK: it has no {name}"
    assert refused(processes).message == whole


def test_an_ndk_without_its_compiler_is_refused(tmp_path: Path) -> None:
    processes = lay_out(tmp_path)
    compiler = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin/clang++"
    compiler.chmod(0o644)

    assert refused(processes).message == f"{compiler} is not on the PATH of this machine"


def test_another_release_than_asked_for_is_refused(tmp_path: Path) -> None:
    error = refused(lay_out(tmp_path), ToolchainConfig(kind="ndk", ndk="r20b"))

    assert error.message == f"{tmp_path} is NDK r21e, expected r20b"


@pytest.mark.parametrize("api", [16, 31, 99])
def test_a_level_that_it_cannot_build_for_is_refused(tmp_path: Path, api: int) -> None:
    error = refused(lay_out(tmp_path), ToolchainConfig(kind="ndk", api=api))

    assert error.message == (f"NDK r21e builds arm64-v8a for API levels 21 to 30, not for {api}")


@pytest.mark.parametrize(
    "levels",
    [
        *("[]", "{", '{"min": "x", "max": 30}', '{"min": 16}', "null", "[" * 100_000),
        '{"min": 16, "max": Infinity}',
    ],
    ids=range(7),
)
def test_broken_levels_are_refused(tmp_path: Path, levels: str) -> None:
    assert "expected the lowest" in refused(lay_out(tmp_path, levels=levels)).message


@pytest.mark.parametrize(
    ("packing", "api", "flag"),
    [
        (Relocations.ANDROID, 23, "-Wl,--pack-dyn-relocs=android"),
        (Relocations.RELR, 30, "-Wl,--pack-dyn-relocs=relr"),
    ],
)
def test_relocations_are_packed_where_the_loader_takes_it(
    tmp_path: Path, packing: Relocations, api: int, flag: str
) -> None:
    processes = lay_out(tmp_path)
    found = ndk.find(ToolchainConfig(kind="ndk", api=api), processes, packing)
    assert found.link_flags == ("-Wl,--build-id=none", flag)

    older = ToolchainConfig(kind="ndk", api=api - 1)
    assert refused(processes, older, packing).message == (
        f"trim.relocations: {packing} needs API level {api} or later, and toolchain.api is "
        f"{api - 1}: older loaders kill the process without a message"
    )
