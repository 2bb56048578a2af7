"""What is printed of what was left out, by tag and by region."""

from __future__ import annotations

from megtrim.midout.region import Region
from megtrim.size.left_out_document import (
    LeftOutDocument,
    LeftOutView,
    encode_sparsely,
    group_regions,
    list_unplaced,
)
from megtrim.size.prices.region_bytes import RegionBytes, RegionRow
from unit.size.prices.made_prices import count_left_out

FIRST, SECOND, OTHER = Region("conv", (1,)), Region("conv", (2,)), Region("pool", (1,))


def row(region: Region | None, size_bytes: int, *, tag: str = "", kept: bool = False) -> RegionRow:
    """Return a row, half of which stands in the region itself."""
    return RegionRow(
        component=f"kernels/{tag or (region and region.tag) or 'x86'}",
        tag=tag or (region.tag if region else ""),
        region=region,
        is_left_out=not kept,
        size_bytes=size_bytes,
        own_bytes=size_bytes // 2 if region else 0,
    )


FOUND = RegionBytes(
    rows=(
        row(None, 5000, kept=True),
        row(FIRST, 400),
        row(SECOND, 300, kept=True),
        row(None, 90, tag="conv"),
        row(OTHER, 60, kept=True),
        row(None, 7),
    ),
    unplaced={FIRST: 3, OTHER: 9, SECOND: 5},
)


def meaning(region: Region) -> str:
    """Return what only one region has."""
    return "conv<im2col>" if region == FIRST else ""


def test_a_tag_has_what_it_keeps_as_well() -> None:
    """A tag that keeps everything has no row, and neither has what no region needs."""
    conv, several = group_regions(FOUND, LeftOutView.TAG, meaning)

    assert (conv.tag, conv.left_out_bytes, conv.kept_bytes, conv.base_bytes) == (
        "conv",
        490,
        300,
        790,
    )
    assert (conv.own_bytes, conv.regions, conv.kept_regions) == (200, 2, 1)
    assert (several.tag, several.left_out_bytes, several.regions) == ("", 7, 0)


def test_a_region_has_its_meaning() -> None:
    """What several share is in a row without a region; all that was left out is in some row."""
    rows = group_regions(FOUND, LeftOutView.REGION, meaning)

    assert [(each.tag, each.region, each.left_out_bytes) for each in rows] == [
        ("conv", "conv<1>", 400),
        ("conv", "", 90),
        ("", "", 7),
    ]
    assert (rows[0].meaning, rows[0].component) == ("conv<im2col>", "kernels/conv")
    assert sum(each.left_out_bytes for each in rows) == count_left_out(FOUND)


def test_what_has_no_place_was_left_out() -> None:
    """A kept region that was inlined is not listed; the largest comes first."""
    rows = list_unplaced(FOUND, [SECOND], meaning)

    assert [(each.region, each.profile_bytes) for each in rows] == [("pool<1>", 9), ("conv<1>", 3)]


def test_keys_of_other_views_are_not_there() -> None:
    """A reader sees what was asked for."""
    rows = group_regions(FOUND, LeftOutView.TAG, meaning)

    found = encode_sparsely(LeftOutDocument(program="lar", left_out=rows[1:]))

    assert found == {
        "version": 1,
        "program": "lar",
        "left_out": [
            {
                "tag": "",
                "base_bytes": 7,
                "kept_bytes": 0,
                "left_out_bytes": 7,
                "own_bytes": 0,
                "regions": 0,
                "kept_regions": 0,
            }
        ],
    }
