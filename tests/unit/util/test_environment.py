import pytest

from megtrim.util.environment import describe_ignored, is_name, is_value, select_passed


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "_", "a1", "PATHS", "MGB_LOG"])
def test_any_other_variable_is_a_scenarios(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "A B", "A=B", "1A", "a-b", "A\n", "A" * 201),
        *("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "QEMU_LOG", "MIDOUT_OUTPUT", "MEGTRIM_PADDING"),
    ],
)
def test_what_launchers_and_megtrim_read_is_refused(name: str) -> None:
    assert not is_name(name)


def test_a_value_is_one_line() -> None:
    assert is_value("")
    assert is_value("a=b 'c' \N{GREEK SMALL LETTER ALPHA}")
    assert not is_value("a\nb")
    assert not is_value("\0")
    assert not is_value("x" * 4097)


def test_only_what_no_key_has_to_contain_passes() -> None:
    env = {"PATH": "/bin", "CCACHE_DIR": "/c", "LC_ALL": "de_DE.UTF-8", "GITHUB_TOKEN": "t"}

    assert select_passed({**env, "CLICOLOR_FORCE": "1", "CXXFLAGS": "-O0"}) == {
        "PATH": "/bin",
        "CCACHE_DIR": "/c",
    }


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("PATH HOME LANG CI ANDROID_HOME ANDROID_NDK_ROOT CCACHE_DIR ZIG_GLOBAL_CACHE_DIR", ""),
        ("FORCE_COLOR PYTHONPATH GCC_VERSION LDAP_HOST ARCH CCACHE", ""),
        ("LDFLAGS CXXFLAGS PATH", "CXXFLAGS, LDFLAGS"),
        ("CPATH CPLUS_INCLUDE_PATH C_INCLUDE_PATH LIBRARY_PATH LD_RUN_PATH", None),
        ("COMPILER_PATH GCC_EXEC_PREFIX SOURCE_DATE_EPOCH LDEMULATION", None),
        ("CMAKE_PREFIX_PATH CMAKE_BUILD_TYPE CMAKE_GENERATOR CMAKE_TOOLCHAIN_FILE CC CXX", None),
        ("ZIG_LIB_DIR CCC_OVERRIDE_OPTIONS NINJA_STATUS NINJAFLAGS MAKEFLAGS", None),
        ("CCACHE_SLOPPINESS CCACHE_PREFIX CCACHE_COMPILER", None),
        (
            "LD_PRELOAD LD_LIBRARY_PATH GLIBC_TUNABLES MALLOC_ARENA_MAX QEMU_CPU QEMU_LD_PREFIX",
            None,
        ),
    ],
)
def test_what_tools_would_have_read_is_named(names: str, expected: str | None) -> None:
    wanted = ", ".join(sorted(names.split())) if expected is None else expected
    found = describe_ignored(names.split())

    assert found.startswith(f"ignored: {wanted}: " if wanted else "")
    assert bool(found) is bool(wanted)
