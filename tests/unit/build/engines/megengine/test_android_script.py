from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.build.engines.megengine import android_script
from megtrim.build_spec import Toolchain
from megtrim.util.errors import InputError

TOOLCHAIN = Toolchain(
    kind="ndk",
    target="aarch64-linux-android21",
    machine="aarch64",
    version="NDK r21e",
    c_compiler=("clang",),
    cxx_compiler=("clang++",),
    abi="arm64-v8a",
)


def test_the_script_is_shown_abi_and_targets() -> None:
    script = android_script.script_for(TOOLCHAIN, ("load_and_run", "lite_shared"))

    assert script.path == "scripts/cmake-build/cross_build_android_arm_inference.sh"
    assert script.arguments == ("-a", "arm64-v8a", "-e", "load_and_run lite_shared")
    assert script.build == "build_dir/android/arm64-v8a/Release/build"
    assert script.why


def test_options_win_over_its_own_and_come_as_words() -> None:
    """It pastes them into a shell: a value with spaces stays one word, and runs nothing."""
    hostile = "a b; touch x $(id) 'q'"
    reported = android_script.environment("/ndk", ("-DMGE_WITH_JIT=OFF", f"-DX={hostile}"))

    assert reported["NDK_ROOT"] == "/ndk"
    assert shlex.split(reported["EXTRA_CMAKE_ARGS"]) == [
        *("-DMGE_WITH_JIT=OFF", f"-DX={hostile}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"),
    ]


@given(st.text(min_size=1))
def test_no_value_leaves_its_word(value: str) -> None:
    reported = android_script.environment("/ndk", (f"-DX={value}",))

    assert shlex.split(reported["EXTRA_CMAKE_ARGS"])[0] == f"-DX={value}"


def test_an_abi_that_the_tree_cannot_build_is_refused() -> None:
    script = 'ARCHS=("arm64-v8a" "armeabi-v7a")\nwhile getopts "lnvrkhdfa:e:j:" arg; do'
    android_script.expect_abi(script, "armeabi-v7a", root="engine")

    with pytest.raises(InputError, match="does not name the ABI x86, so this tree cannot build it"):
        android_script.expect_abi(script, "x86", root="engine")
    with pytest.raises(InputError, match=r"^engine has no scripts/cmake-build/cross_build_android"):
        android_script.expect_abi("", "arm64-v8a", root="engine")


@pytest.mark.parametrize("options", ['getopts "rkhdfpa:" arg', 'getopts "nvrkhdfa:e:" arg', ""])
def test_a_script_that_takes_no_targets_or_jobs_is_refused(options: str) -> None:
    """Those of the releases up to 1.5 would end with their usage, in the middle of a build."""
    with pytest.raises(InputError) as caught:
        android_script.expect_abi(f'"arm64-v8a"\nwhile {options}', "arm64-v8a", root="engine")

    script = f"engine/{android_script.PATH}"
    expected = f"{script} has no options -e TARGET and -j JOBS, which megtrim uses"
    assert caught.value.message == expected
    assert caught.value.hint == "the engine's script has them from release 1.6 on"


def toolchain(version: str) -> Toolchain:
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
    android_script.check_ndk(toolchain(version))


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("NDK r19c, Android clang version 8.0.2", "NDK r19 is too old for this engine"),
        ("NDK r28, Android clang version 19.0.0", "clang 19 of the NDK is too new for this engine"),
    ],
)
def test_what_is_known_to_fail_is_refused(version: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        android_script.check_ndk(toolchain(version))

    assert caught.value.message.startswith(message)
    assert "r21e" in caught.value.hint
