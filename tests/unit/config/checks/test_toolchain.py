"""Which keys a toolchain may have, and which packing of relocations its oldest phone loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build_spec import LOADED_FROM, LOWEST_API, Relocations
from megtrim.config.yaml.problems import ConfigError
from megtrim.toolchains import ndk
from unit.config.support import SMALL, load


def refused(tmp_path: Path, more: str) -> str:
    """Return what is said of a small configuration with more in it."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{SMALL}{more}")
    return caught.value.message


@pytest.mark.parametrize(
    "more",
    [
        "toolchain: {kind: ndk}\n",
        "toolchain: {kind: ndk, ndk: r21e, abi: armeabi-v7a, api: 16}\n",
        "toolchain: {kind: ndk, fp16: true, api: 23}\ntrim: {relocations: android}\n",
        "toolchain: {kind: ndk, api: 30}\ntrim: {relocations: relr}\n",
        "toolchain: {kind: host, fp16: false}\ntrim: {relocations: none}\n",
        "toolchain: {kind: clang-linux-arm64, clang: 16}\ntrim: {relocations: relr}\n",
    ],
)
def test_what_fits_is_taken(tmp_path: Path, more: str) -> None:
    """Without a message."""
    assert load(tmp_path, f"{SMALL}{more}").warnings == ()


@pytest.mark.parametrize("key", ["ndk: r21e", "abi: arm64-v8a", "api: 21", "fp16: true"])
def test_keys_of_the_ndk_need_the_ndk(tmp_path: Path, key: str) -> None:
    """Elsewhere they would do nothing."""
    reported = refused(tmp_path, f"toolchain: {{kind: host, {key}}}\n")

    name = key.partition(":")[0]
    assert f"toolchain.{name}: found a key of kind ndk on a toolchain of kind host" in reported


@pytest.mark.parametrize(
    ("toolchain", "trim", "expected"),
    [
        ("api: 22", "android", "found 'android' for phones from API level 22 on"),
        ("abi: arm64-v8a", "android", "found 'android' for phones from API level 21 on"),
        ("api: 29", "relr", "found 'relr' for phones from API level 29 on"),
    ],
)
def test_what_the_oldest_phone_cannot_load_is_refused(
    tmp_path: Path, toolchain: str, trim: str, expected: str
) -> None:
    """Its loader would end the program without a message."""
    more = f"toolchain: {{kind: ndk, {toolchain}}}\ntrim: {{relocations: {trim}}}\n"

    assert expected in refused(tmp_path, more)


@pytest.mark.parametrize(
    ("kind", "packing"), [("host", "android"), ("host", "relr"), ("clang-linux-arm64", "android")]
)
def test_packing_needs_a_loader_that_is_known(tmp_path: Path, kind: str, packing: str) -> None:
    """Android's by its level, glibc's by its release, and that takes one form alone."""
    more = f"toolchain: {{kind: {kind}}}\ntrim: {{relocations: {packing}}}\n"

    assert f"found '{packing}' with a toolchain of kind {kind}" in refused(tmp_path, more)


def test_a_release_of_clang_is_for_the_toolchain_that_looks_for_one(tmp_path: Path) -> None:
    """The NDK brings its own."""
    reported = refused(tmp_path, "toolchain: {kind: ndk, clang: 16}\n")

    assert "found a key of kind clang-linux-arm64 on a toolchain of kind ndk" in reported


def test_64_bits_begin_at_level_21_and_have_fp16_alone(tmp_path: Path) -> None:
    """Both at once are shown at once."""
    assert "found 19 for arm64-v8a" in refused(tmp_path, "toolchain: {kind: ndk, api: 19}\n")
    more = "toolchain: {kind: ndk, abi: armeabi-v7a, api: 16, fp16: true}\n"
    assert "found fp16 for armeabi-v7a" in refused(tmp_path, more)


def test_levels_are_known_of_every_abi_and_packing() -> None:
    """One table for the configuration, which is refused early, and for the toolchain."""
    assert LOADED_FROM == {"android": 23, "relr": 30}
    assert LOWEST_API == {"arm64-v8a": 21, "armeabi-v7a": 16}
    assert set(ndk.ABIS) == set(LOWEST_API)
    assert {name.value for name in Relocations} == {"none", *LOADED_FROM}
