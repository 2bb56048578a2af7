"""MegEngine's libraries for applications."""

from __future__ import annotations

import pytest

from megtrim.build.engines.megengine.engine import describe_library
from megtrim.build_spec import Linkage, Toolchain
from megtrim.util.errors import InputError

TARGETS = (
    "add_library (no)\nadd_library(\n  lite_static_all_in_one STATIC)\nadd_library(lite_shared S)"
)
LINUX = Toolchain(
    kind="clang-linux-arm64",
    target="aarch64-linux-gnu",
    machine="aarch64",
    version="clang 14",
    c_compiler=("clang",),
    cxx_compiler=("clang++",),
)


def test_a_library_is_found_by_its_target() -> None:
    """However CMake's call is broken into lines."""
    static = describe_library(TARGETS, Linkage.STATIC, LINUX, root="tree")
    shared = describe_library(TARGETS, Linkage.SHARED, LINUX, root="tree")

    assert (static.file, static.is_shared) == ("liblite_static_all_in_one.a", False)
    assert (shared.file, shared.is_shared) == ("liblite_shared.so", True)
    assert "-pthread" in static.needs
    assert "-Wl,--icf=all" in static.link_options


@pytest.mark.parametrize("targets", ["", "add_library(lite_shared_x S)", "# lite_shared"])
def test_a_tree_without_it_is_refused(targets: str) -> None:
    """An application can then only be built as a target of the engine."""
    with pytest.raises(InputError, match=r"^tree has no library .* makes no lite_shared\n"):
        describe_library(targets, Linkage.SHARED, LINUX, root="tree")
