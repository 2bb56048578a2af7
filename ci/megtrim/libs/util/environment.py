"""Variables that builds and programs see: which of the shell's, and which a scenario may set.

Of the shell's only those pass that change no result: no key of one contains them. Pure.
"""

import re
from collections.abc import Iterable, Mapping

NAME_PATTERN = r"^(?!(LD_|MEGTRIM_|MIDOUT_|QEMU_))(?!PATH$)[A-Za-z_][A-Za-z0-9_]*$"
NAME_EXPECTED = (
    "the name of a variable, such as OMP_NUM_THREADS, but not PATH, LD_..., QEMU_..., MIDOUT_... "
    "or MEGTRIM_..., which are megtrim's or a launcher's"
)
LONGEST_NAME = 200
LONGEST_VALUE = 4096
MOST_VARIABLES = 64
_NAME = re.compile(NAME_PATTERN)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Variables = tuple[tuple[str, str], ...]
"""Name and value of each, sorted."""

CCACHE = (
    "CCACHE_DISABLE",
    "CCACHE_MAXSIZE",
    "CCACHE_NAMESPACE",
    "CCACHE_READONLY",
    "CCACHE_RECACHE",
    "CCACHE_REMOTE_ONLY",
    "CCACHE_RESHARE",
)

PASSED: Mapping[str, str] = {
    "PATH": "where compilers and Python are; a compiler's path and version are in every key",
    "HOME": "where ccache and zig keep their files",
    "XDG_CACHE_HOME": "the same",
    "XDG_CONFIG_HOME": "where ccache's configuration is",
    "TMPDIR": "where compilers keep temporary files",
    "ANDROID_NDK_ROOT": "the NDK, whose release is in every key",
    "CCACHE_CONFIGPATH": "ccache's configuration",
    "CCACHE_DIR": "ccache's folder",
    "CCACHE_TEMPDIR": "the same",
    "CCACHE_DEPEND": "how ccache finds an entry",
    "CCACHE_NODEPEND": "the same",
    "ZIG_GLOBAL_CACHE_DIR": "zig's folder",
    "ZIG_LOCAL_CACHE_DIR": "the same",
    **dict.fromkeys(CCACHE, "whether ccache uses its entries, not what they are"),
}
"""Each with its reason. The remote storage of compilations is passed by the builder alone."""

_READ_BY_TOOLS = re.compile(
    r"(ANDROID_STANDALONE_TOOLCHAIN|AR|ARFLAGS|AS|ASFLAGS|ASM|CC|CFLAGS|CLANG_\w+|CCACHE_\w+"
    r"|CCC_\w+|CMAKE_\w+|COLLECT_\w+|COMPILER_PATH|CPATH|CPP|CPPFLAGS|CUDA(CXX|FLAGS|HOSTCXX)"
    r"|(C|CPLUS|OBJC|OBJCPLUS)_INCLUDE_PATH|CXX|CXXFLAGS|DEPENDENCIES_OUTPUT|EXTRA_CMAKE_\w+|FC"
    r"|FFLAGS|GCC_(COMPARE_DEBUG|EXEC_PREFIX|ROOT)|GLIBC_TUNABLES|LD|LDEMULATION|LDFLAGS|LD_\w+|LIBRARY_PATH|LTO_\w+"
    r"|MAKEFLAGS|MALLOC_\w+|NINJAFLAGS|NINJA_STATUS|NM|OBJCOPY|OBJCXX|OBJDUMP"
    r"|PKG_CONFIG_(PATH|LIBDIR|SYSROOT_DIR)|QEMU_\w+|RANLIB|RUSTFLAGS|SDKROOT|SOURCE_DATE_EPOCH"
    r"|STRIP|SUNPRO_DEPENDENCIES|ZIG_\w+)"
)
"""Variables that change what tools make or how programs run: whoever sets one expects an effect."""


def is_name(text: str) -> bool:
    return len(text) <= LONGEST_NAME and _NAME.fullmatch(text) is not None


def is_value(text: str) -> bool:
    return len(text) <= LONGEST_VALUE and _CONTROL.search(text) is None


def select_passed(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name in PASSED}


def describe_ignored(names: Iterable[str]) -> str:
    ignored = sorted(
        name for name in names if name not in PASSED and _READ_BY_TOOLS.fullmatch(name)
    )
    if not ignored:
        return ""
    return (
        f"ignored: {', '.join(ignored)}: builds and runs do not see the shell's variables; "
        "use engine.cmake, such as CMAKE_CXX_FLAGS, or a scenario's environment"
    )
