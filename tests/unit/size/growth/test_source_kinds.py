"""What a file of an engine's tree is to the program."""

from __future__ import annotations

import pytest

from megtrim.size.growth.source_kinds import (
    SourceKind,
    find_dependency,
    find_kind,
    strip_sources,
)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/opr/conv.cpp", SourceKind.SOURCE),
        ("src/elemwise_modes.txt", SourceKind.SOURCE),
        ("dnn/scripts/gen_param_defs.py", SourceKind.SOURCE),
        ("third_party/cpuinfo/src/init.c", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo/CMakeLists.txt", SourceKind.DEPENDENCY),
        ("src/third_party/z/a.c", SourceKind.DEPENDENCY),
        ("lib/fmt/format.cc", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo.cmake", SourceKind.BUILD),
        ("CMakeLists.txt", SourceKind.BUILD),
        ("cmake/flags.cmake", SourceKind.BUILD),
        ("README.md", SourceKind.OTHER),
        ("src/LICENSE", SourceKind.OTHER),
        (".github/workflows/ci.yml", SourceKind.OTHER),
    ],
)
def test_a_file_is_of_a_kind(path: str, kind: SourceKind) -> None:
    """A submodule anywhere is a third party."""
    assert find_kind(path, {"lib/fmt"}) is kind


def test_a_third_party_is_named_by_its_folder() -> None:
    """So that reports can say which one it is."""
    assert find_dependency("third_party/cpuinfo/src/init.c") == "third_party/cpuinfo"
    assert find_dependency("lib/fmt/src/format.cc", {"lib/fmt"}) == "lib/fmt"
    assert find_dependency("src/a.cpp") == ""


def test_the_name_of_a_source_is_no_flag() -> None:
    """Nor is a comment; an option is."""
    before = "set(sources\n  a.cpp\n)  # all\nadd_compile_options(-O2)\n"
    more = "set(sources\n  a.cpp b/c.cpp\n)\nadd_compile_options(-O2)\n"

    assert strip_sources(before) == strip_sources(more)
    assert strip_sources(before) != strip_sources(before.replace("-O2", "-O3"))
