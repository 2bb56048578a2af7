"""MegEngine's libraries that applications link, as data: the file, and the options it needs.

Read from the link lines that the engine's own CMake makes for its examples and programs (1.6.0 and
1.13). Its operators do not need the whole archive: the registry calls a function in the file that
registers them all. Pure.
"""

from __future__ import annotations

from megtrim.build_spec import EngineLibrary, Linkage, Toolchain
from megtrim.util.errors import InputError

TARGETS_FILE = "lite/CMakeLists.txt"

_TARGETS = {
    # The engine in one archive with flatbuffers, cpuinfo and clog, which lite_static needs.
    Linkage.STATIC: ("lite_static_all_in_one", "liblite_static_all_in_one.a"),
    Linkage.SHARED: ("lite_shared", "liblite_shared.so"),
}
_INCLUDE = ("lite/include", "lite/lite-c/include")
_COPIES = tuple(
    (f"lite-c/{name}", f"lite/include/lite/{name}") for name in ("common_enum_c.h", "macro.h")
)
"""The C interface includes them by these names alone; the engine's own build names a third folder,
whose other headers have names such as tensor.h, which an app may have, too."""
_ANDROID = ("-ldl", "-llog")
_LINUX = ("-ldl", "-lrt", "-latomic", "-pthread")
_SECTIONS = ("-Wl,--gc-sections",)
_LLD = ("-Wl,-z,nocopyreloc", "-Wl,--icf=all", *_SECTIONS, "-flto=full")


def library(targets: str, linkage: Linkage, toolchain: Toolchain, *, root: str) -> EngineLibrary:
    """Return what an application links; ``targets`` is the text of the tree's TARGETS_FILE.

    Raises InputError for a tree without that library.
    """
    target, file = _TARGETS[linkage]
    if f"add_library({target} " not in " ".join(targets.split()).replace("( ", "("):
        msg = f"{root} has no library for applications: {TARGETS_FILE} makes no {target}"
        raise InputError(msg, hint="put the application into the engine's tree, without source")
    return EngineLibrary(
        linkage=linkage,
        file=file,
        include=_INCLUDE,
        copies=_COPIES,
        needs=_ANDROID if toolchain.ndk else _LINUX,
        link_options=_LLD if toolchain.kind in ("clang-linux-arm64", "ndk") else _SECTIONS,
    )
