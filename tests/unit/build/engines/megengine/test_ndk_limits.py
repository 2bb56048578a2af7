"""NDKs that are known not to build MegEngine."""

from __future__ import annotations

import pytest

from megtrim.build.engines.megengine import android_script
from megtrim.build_spec import Toolchain
from megtrim.util.errors import InputError


def toolchain(version: str) -> Toolchain:
    """Return an NDK of that version."""
    return Toolchain(
        kind="ndk",
        target="aarch64-linux-android21",
        machine="aarch64",
        version=version,
        c_compiler=("clang",),
        cxx_compiler=("clang++",),
    )


@pytest.mark.parametrize(
    "version",
    [
        "NDK r20, Android (5220042) clang version 8.0.7",
        "NDK r21e, Android (7019983) clang version 9.0.9",
        "NDK r22, Debian clang version 14.0.6",
        "NDK r27c, Android (12470979) clang version 18.0.3",
    ],
)
def test_what_is_not_known_to_fail_is_let_through(version: str) -> None:
    """Also what no one tried."""
    android_script.check_ndk(toolchain(version))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("NDK r19c, Android clang version 8.0.2", "NDK r19 is too old for this engine"),
        ("NDK r28, Android clang version 19.0.0", "clang 19 of the NDK is too new for this engine"),
    ],
)
def test_what_is_known_to_fail_is_refused(version: str, message: str) -> None:
    """Before an hour of building, with the release that the engine suggests."""
    with pytest.raises(InputError) as caught:
        android_script.check_ndk(toolchain(version))

    assert caught.value.message.startswith(message)
    assert "r21e" in caught.value.hint
