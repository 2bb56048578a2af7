import pytest

from megtrim.core.keep.region import Region
from megtrim.engines.midout.names import NameTable, name_hash

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


TWICE = (("src/pass.cpp", 5), ("src/pass.cpp", 8))
A = dnn("AlgoA::exec")
B = dnn("AlgoB::get_workspace")
FUSE = src("Fuse::apply")


@pytest.mark.parametrize(
    ("wanted", "meaning", "places"),
    [
        (region("kern", A), 'kern<"AlgoA::exec">', (("dnn/kern.cpp", 5),)),
        (region("kern", 3, B), 'kern<3, "AlgoB::get_workspace">', (("dnn/kern.cpp", 7),)),
        (region("kern", 3), "", (("dnn/kern.cpp", 11),)),
        (region("other", 12345), "", (("dnn/kern.cpp", 14),)),
        (region("passes", FUSE), 'passes<"Fuse::apply">', TWICE),
        (region("passes", src("Split::apply")), 'passes<"Split::apply">', (("src/pass.cpp", 9),)),
        (region("passes", "a::B", FUSE), 'passes<a::B, "Fuse::apply">', None),
        (region("passes", 12345), "", (("src/pass.cpp", 3),)),
        (region("kern", dnn("Unknown")), "", None),
        (region("kern", dnn("lost")), "", None),
        (region("kern", "float"), "", None),
        (region("kern"), "", None),
        (region("hidden", 1), "", (("src/d.h", 1),)),
        (region("nowhere", 1), "", ()),
    ],
)
def test_meanings_and_places(
    wanted: Region, meaning: str, places: tuple[tuple[str, int], ...] | None
) -> None:
    """As close as the source reports: by name, by the macro's use, by tag, by declaration.

    Where no name stands in the source, none is guessed.
    """
    assert TABLE.meaning(wanted) == meaning
    if places is not None:
        assert TABLE.places(wanted) == places


@pytest.mark.parametrize("call", ['midout_iv("A"_hash))\n', "(" * 10_000], ids=["other", "endless"])
def test_a_tag_whose_regions_have_no_place_of_their_own_is_shown_as_a_whole(call: str) -> None:
    table = NameTable([("k.cpp", f"MIDOUT_BEGIN(t, {call}")])

    assert table.places(region("t", 5)) == (("k.cpp", 1),)


def test_places_are_sorted_and_each_stands_once() -> None:
    line = 'MIDOUT_BEGIN(t, midout_iv("A"_hash)) {} MIDOUT_BEGIN(t, midout_iv("A"_hash)) {}\n'
    table = NameTable([(f"{name}.cpp", f"\n{line}{line}") for name in "dbca"])

    assert table.places(region("t", dnn("A"))) == tuple(
        (f"{name}.cpp", number) for name in "abcd" for number in (2, 3)
    )
