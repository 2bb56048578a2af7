"""What an AAR says of its libraries: made toolchains."""

from __future__ import annotations

import json

import pytest

from megtrim.checks.check import ToolchainIdentity
from megtrim.release.packages import (
    AndroidLibrary,
    AndroidTarget,
    list_library_paths,
    parse_target,
    render_descriptions,
)

ARM64 = AndroidTarget(abi="arm64-v8a", api=23, ndk=21)
ARMV7 = AndroidTarget(abi="armeabi-v7a", api=16, ndk=21)


def toolchain(
    *, kind: str = "ndk", target: str = "aarch64-linux-android23", version: str = "NDK r21e, clang"
) -> ToolchainIdentity:
    return ToolchainIdentity(kind=kind, target=target, version=version)


def library(target: AndroidTarget) -> AndroidLibrary:
    return AndroidLibrary(target=target, file="libengine.so", stl="none")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (toolchain(), ARM64),
        (toolchain(target="armv7a-linux-androideabi16"), ARMV7),
        (toolchain(version="NDK r21 (stand-in), clang"), ARM64),
        (toolchain(kind="zig", target="aarch64-linux-musl", version="0.13"), None),
        (toolchain(target="aarch64-linux-android"), None),
        (toolchain(target="riscv64-linux-android35"), None),
        (toolchain(version="clang 14"), None),
    ],
)
def test_the_phones_that_a_toolchain_builds_for(
    found: ToolchainIdentity, expected: AndroidTarget | None
) -> None:
    """As release.json states it; anyone may have written that."""
    assert parse_target(found) == expected


def test_an_app_is_for_phones_that_every_library_is_for() -> None:
    """A phone takes the library of its own ABI, whatever the app was tried with."""
    texts = render_descriptions([library(ARMV7), library(ARM64)])

    assert 'android:minSdkVersion="23"' in texts["AndroidManifest.xml"]
    assert json.loads(texts["prefab/modules/shared/libs/android.armeabi-v7a/abi.json"]) == {
        "abi": "armeabi-v7a",
        "api": 16,
        "ndk": 21,
        "stl": "none",
        "static": False,
    }


def test_a_library_is_there_for_the_package_and_for_the_linker() -> None:
    """By the ABI's name in both."""
    assert list_library_paths(library(ARM64)) == (
        "jni/arm64-v8a/libengine.so",
        "prefab/modules/shared/libs/android.arm64-v8a/libengine.so",
    )
