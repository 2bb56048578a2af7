"""Meanings and places of regions, from source text of the engine's manner."""

from __future__ import annotations

import pytest

from megtrim.regions.names import NameTable, name_hash
from megtrim.regions.region import Region

KERNEL = """#include "midout.h"
MIDOUT_DECL(kern)
MIDOUT_DECL(other)
void f() {
    MIDOUT_BEGIN(kern, midout_iv("AlgoA::exec"_hash)) { g("text, not a name"); }
    MIDOUT_END();
    MIDOUT_BEGIN(
            kern,
            midout_iv(3), midout_iv("AlgoB::get_workspace"_hash)) {}
    MIDOUT_END();
    MIDOUT_BEGIN(kern, midout_iv(3)) {}
}
#define CASE(x) \\
    MIDOUT_BEGIN \\
            (other, midout_iv(#x##_hash)) {}
"""
PASS = """#include "midout.h"
MIDOUT_DECL(passes)
#define MIDOUT_B(tag) MIDOUT_BEGIN(passes, midout_iv(MGB_HASH_STR(tag))) {
void apply() {
    MIDOUT_B("Fuse::apply")
}
void again() {
    MIDOUT_B("Fuse::apply")
    MIDOUT_B("Split::apply")
}
"""
DECLARED = 'MIDOUT_DECL(hidden)\n#define M(t) MIDOUT_BEGIN(t, 1)\nconst char* x = "Fuse::apply";\n'
TABLE = NameTable(
    [("dnn/kern.cpp", KERNEL), ("src/pass.cpp", PASS), ("src/d.h", DECLARED), ("a.txt", '"lost"')]
)


def region(tag: str, *args: int | str) -> Region:
    return Region(tag, args)


def dnn(name: str) -> int:
    return name_hash(name, terminated=False)


def src(name: str) -> int:
    return name_hash(name, terminated=True)


@pytest.mark.parametrize(
    ("name", "terminated", "number"),
    [
        ("AlgoF32K8x12x1::get_workspace", False, 1178041756),
        ("ParamMergePass::apply", True, -1263809715),
        ("", False, 222618265),
    ],
)
def test_numbers_of_names(name: str, terminated: bool, number: int) -> None:
    assert name_hash(name, terminated=terminated) == number


@pytest.mark.parametrize(
    ("wanted", "meaning"),
    [
        (region("kern", dnn("AlgoA::exec")), 'kern<"AlgoA::exec">'),
        (region("kern", 3, dnn("AlgoB::get_workspace")), 'kern<3, "AlgoB::get_workspace">'),
        (region("passes", src("Fuse::apply")), 'passes<"Fuse::apply">'),
        (region("passes", "a::B", src("Fuse::apply")), 'passes<a::B, "Fuse::apply">'),
        (region("kern", 3), ""),
        (region("kern", dnn("Unknown")), ""),
        (region("kern", dnn("lost")), ""),
        (region("kern", "float"), ""),
        (region("kern"), ""),
    ],
)
def test_meanings(wanted: Region, meaning: str) -> None:
    """Names that stand in the source are shown; where there is none, nothing is guessed."""
    assert TABLE.meaning(wanted) == meaning


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        (region("kern", dnn("AlgoA::exec")), (("dnn/kern.cpp", 5),)),
        (region("kern", 3, dnn("AlgoB::get_workspace")), (("dnn/kern.cpp", 7),)),
        (region("kern", 3), (("dnn/kern.cpp", 11),)),
        (region("other", 12345), (("dnn/kern.cpp", 14),)),
        (region("passes", src("Fuse::apply")), (("src/pass.cpp", 5), ("src/pass.cpp", 8))),
        (region("passes", src("Split::apply")), (("src/pass.cpp", 9),)),
        (region("passes", 12345), (("src/pass.cpp", 3),)),
        (region("hidden", 1), (("src/d.h", 1),)),
        (region("nowhere", 1), ()),
    ],
)
def test_places(wanted: Region, places: tuple[tuple[str, int], ...]) -> None:
    """As close as the source reports: by name, by the macro's use, by tag, by declaration."""
    assert TABLE.places(wanted) == places


def test_a_tag_whose_regions_all_have_other_names_is_shown_as_a_whole() -> None:
    table = NameTable([("k.cpp", 'MIDOUT_BEGIN(t, midout_iv("A"_hash))\n')])

    assert table.places(region("t", 5)) == (("k.cpp", 1),)


def test_a_macro_call_that_never_ends_is_cut() -> None:
    table = NameTable([("k.cpp", "MIDOUT_BEGIN(t, " + "(" * 10_000)])

    assert table.places(region("t", 5)) == (("k.cpp", 1),)


def test_places_are_sorted_and_each_stands_once() -> None:
    """Whatever the order in which the engine's files are read."""
    line = 'MIDOUT_BEGIN(t, midout_iv("A"_hash)) {} MIDOUT_BEGIN(t, midout_iv("A"_hash)) {}\n'
    table = NameTable([(f"{name}.cpp", f"\n{line}{line}") for name in "dbca"])

    assert table.places(region("t", dnn("A"))) == tuple(
        (f"{name}.cpp", number) for name in "abcd" for number in (2, 3)
    )
