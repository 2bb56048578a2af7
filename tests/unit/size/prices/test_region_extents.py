"""Which bytes and references of a function are a region's."""

from __future__ import annotations

import numpy as np

from megtrim.elf.references.relocations import References
from megtrim.midout.region import Region
from megtrim.size.prices.region_extents import RegionExtents, find_extents
from megtrim.size.references.graph import Part
from megtrim.size.references.linked_file import LinkedFile, Stretch
from unit.size.references.made_graphs import make_graph

FIRST, SECOND = Region("conv", (1,)), Region("conv", (2,))
TYPE = "N6midout6RegionIJNS_4tags4convESt17integral_constantIiLi{}EEEEE"
PARTS = (
    ("plan", 100),
    ("mul", 50),
    ("log", 50),
    (f"_ZTI{TYPE.format(1)}", 16),
    (f"_Z{TYPE.format(2)[:-1]}7on_usedEv", 16),
    ("_ZTIN6midout6RegionINotOne", 16),
)


def make_file(*references: tuple[int, str]) -> tuple[LinkedFile, References]:
    """Return a file in which the first function refers to others, by place and name."""
    starts, at = {}, 0x1000
    stretches = []
    for name, size_bytes in PARTS:
        starts[name] = at
        stretches.append(Stretch(at, at + size_bytes, 1, ""))
        at += size_bytes
    graph = make_graph((Part((name,), ".text", "", size) for name, size in PARTS), (), {})
    found = References(
        np.array([0x1000 + place for place, _ in references], dtype=np.int64),
        np.array([starts[name] for _, name in references], dtype=np.int64),
    )
    return LinkedFile(graph=graph, exact=True, stretches=tuple(stretches)), found


def test_a_region_lasts_until_the_next_one_begins() -> None:
    """Whether its type or the function that reports it is named; in any order of the table."""
    names = [name for name, _ in PARTS]
    made = make_file((60, names[4]), (20, names[3]), (30, "mul"), (10, "log"), (70, "log"))

    found = find_extents(*made)

    assert found == {
        "plan": RegionExtents(
            sizes={None: 20, FIRST: 40, SECOND: 40},
            references={"log": frozenset({None, SECOND}), "mul": frozenset({FIRST})},
        )
    }


def test_functions_without_regions_have_no_extents() -> None:
    """A type that only looks like a region's is none."""
    assert find_extents(*make_file((30, "mul"), (40, "_ZTIN6midout6RegionINotOne"))) == {}


def test_a_share_is_of_what_the_reduced_build_has() -> None:
    """Regions that it does not keep take no part in it."""
    extents = RegionExtents(sizes={None: 20, FIRST: 40, SECOND: 40}, references={})
    both = frozenset({FIRST, SECOND})

    assert extents.find_share(frozenset({FIRST}), both) == 0.4
    assert extents.find_share(frozenset({FIRST}), frozenset({FIRST})) == 1.0
    assert extents.find_share(frozenset({FIRST}), frozenset({SECOND})) == 0.0


def test_a_reference_goes_if_all_of_its_regions_go() -> None:
    """One that is outside of regions stays, and so does one that the profile build has not."""
    extents = RegionExtents(
        sizes={},
        references={
            "mul": frozenset({FIRST}),
            "log": frozenset({None, FIRST}),
            "both": frozenset({FIRST, SECOND}),
        },
    )
    gone, kept = frozenset({FIRST}), frozenset({FIRST, SECOND})

    found = {name: extents.goes_with(name, gone, kept) for name in ("mul", "log", "both", "x")}

    assert found == {"mul": True, "log": False, "both": False, "x": False}
    assert extents.goes_with("both", gone, gone)
