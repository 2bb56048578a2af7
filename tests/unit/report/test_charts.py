"""The pictures as numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.render.treemap import Tile, layout
from megtrim.report.charts import region_map, size_picture
from megtrim.size.artifact_sizes import ArtifactSizes, VariantSize
from megtrim.trim.usage import RegionsUse
from unit.verdict.examples import regions, sizes, tag


def variant(name: str, size_bytes: int, *sections: tuple[str, int]) -> VariantSize:
    """Return a variant of 1000 plain bytes' artifact."""
    return VariantSize(
        variant=name, size_bytes=size_bytes, share=size_bytes / 1000, sections=sections
    )


def test_bars_are_drawn_to_one_scale_and_reduced_once_more_to_its_own() -> None:
    """The largest variant is the whole width; parts follow each other without a gap."""
    picture = size_picture(
        ArtifactSizes(
            name="a",
            sizes=(
                variant("plain", 1000, ("text", 750), ("data", 250)),
                variant("reduced", 100, ("text", 80), ("data", 20)),
            ),
        )
    )
    plain, reduced = picture.bars

    assert (plain.width, reduced.width) == ("100.000%", "10.000%")
    assert [(part.name, part.x, part.width) for part in plain.segments] == [
        ("text", "0.000%", "75.000%"),
        ("data", "75.000%", "25.000%"),
    ]
    assert [(part.x, part.width, part.label) for part in reduced.segments] == [
        ("0.000%", "8.000%", "none"),
        ("8.000%", "2.000%", "none"),
    ]
    assert [(part.x, part.width, part.label) for part in reduced.enlarged] == [
        ("0.000%", "80.000%", "any"),
        ("80.000%", "20.000%", "wide"),
    ]
    assert (reduced.text, reduced.exact, reduced.share) == ("100 B", "100", "10.0%")
    assert picture.sections == (("text", 0, (750, 80)), ("data", 1, (250, 20)))


def test_bytes_that_no_section_has_are_drawn_too() -> None:
    """A picture that does not add up would lie; a section missing in a variant is empty."""
    picture = size_picture(
        ArtifactSizes(
            name="a", sizes=(variant("plain", 1000), variant("reduced", 50, ("text", 50)))
        )
    )

    assert picture.sections == (
        ("not in a section", 0, (1000, None)),
        ("text", 1, (None, 50)),
    )
    assert [part.name for part in picture.bars[0].segments] == ["not in a section"]


def test_an_empty_artifact_has_no_width() -> None:
    """No division by nothing."""
    picture = size_picture(ArtifactSizes(name="a", sizes=(variant("plain", 0, ("text", 0)),)))

    assert picture.bars[0].width == "0%"
    assert size_picture(ArtifactSizes(name="a", sizes=())).bars == ()


def test_colours_repeat_after_the_eighth() -> None:
    """The style has eight."""
    many = tuple((f"s{number}", 1) for number in range(10))
    picture = size_picture(ArtifactSizes(name="a", sizes=(variant("plain", 10, *many),)))

    assert [colour for _, colour, _ in picture.sections] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert size_picture(sizes()).sections[0][0] == "text"


def test_the_map_is_ordered_by_what_is_held_and_filled_by_what_is_kept() -> None:
    """A tag of which nothing is kept is there, and empty."""
    tiles = region_map(regions())

    assert [tile.tag for tile in tiles[:3]] == [
        "megdnn_fallback_winograd",
        "megdnn_gi_conv_f32",
        "midout_iv",
    ]
    assert (tiles[0].filled, tiles[0].text) == ("0.000%", "0 of 212")
    assert (tiles[1].filled, tiles[1].text) == ("3.333%", "6 of 180")
    assert len(tiles) == 10


@pytest.mark.parametrize(
    ("kept", "held", "filled"), [(0, 0, None), (5, 3, "100.000%"), (1, 4, "25.000%")]
)
def test_a_tag_is_never_filled_over_its_rim(kept: int, held: int, filled: str | None) -> None:
    """More kept than held (another profile build) fills its tile; nothing at all has none."""
    tiles = region_map(RegionsUse(held=held, kept=kept, by_tag=(tag("t", kept, held),)))

    assert [tile.filled for tile in tiles] == ([] if filled is None else [filled])


def test_many_small_tags_share_a_tile() -> None:
    """Sixty tiles can be distinguished; the rest is one."""
    by_tag = tuple(tag(f"t{number:03}", 1, 100 - number) for number in range(70))
    tiles = region_map(RegionsUse(held=0, kept=0, by_tag=by_tag))

    assert len(tiles) == 61
    assert tiles[0].tag == "10 further tags"
    assert tiles[0].text == "10 of 355"


def test_a_label_shows_only_where_it_fits() -> None:
    """Long names keep their ends, by which they differ; small tiles have none."""
    by_tag = (
        tag("a_name_that_is_longer_than_its_tile_is_wide", 0, 600),
        *(tag(f"t{number:03}", 0, 10) for number in range(40)),
    )
    first, *others = region_map(RegionsUse(held=0, kept=0, by_tag=by_tag))
    small = replace(first, label="")

    assert first.shows == "any"
    assert first.label == "a_name_that_is_longer_than_its_tile_is_wide"
    assert {tile.label for tile in others} == {""}
    assert small.label == ""
    long = region_map(
        RegionsUse(held=0, kept=0, by_tag=tuple(tag("x" * 30 + n, 0, 10) for n in "abcd"))
    )
    assert long[0].label.startswith("…x")
    assert long[0].label.endswith("xa")


@pytest.mark.parametrize(
    ("part", "expected"),
    [(89, "none"), (90, "wide"), (249, "wide"), (250, "any"), (1, "none"), (999, "any")],
)
def test_a_segment_is_named_where_its_name_fits(part: int, expected: str) -> None:
    """From 9% of the width on a wide screen, from 25% on any."""
    whole = ArtifactSizes(name="a", sizes=(variant("plain", 1000, ("x", part)),))

    assert size_picture(whole).bars[0].enlarged[0].label == expected


def test_a_single_byte_counts() -> None:
    """One byte outside of every section is drawn, and an empty section has no width."""
    one = variant("plain", 1, ("text", 0))
    (bar,) = size_picture(ArtifactSizes(name="a", sizes=(one,))).bars

    assert [(part.name, part.width, part.label) for part in bar.segments] == [
        ("text", "0.000%", "none"),
        ("not in a section", "100.000%", "any"),
    ]
    nothing = variant("plain", 0, ("text", 0))
    (empty,) = size_picture(ArtifactSizes(name="a", sizes=(nothing,))).bars
    assert [(part.width, part.label) for part in empty.segments] == [("0%", "none")]


def columns(*shares: int) -> list[tuple[str, str, str]]:
    """Return (label, shows, width) of a map of tags that hold ``shares`` thousandths each."""
    by_tag = tuple(
        tag(f"{number}234567890abcdefghijklmnopqrs", 0, share)
        for number, share in enumerate(shares)
    )
    tiles = region_map(RegionsUse(held=0, kept=0, by_tag=by_tag))
    return [(tile.label, tile.shows, tile.width) for tile in tiles]


def test_a_tag_is_named_as_far_as_its_tile_is_wide() -> None:
    """Ten letters in a tenth of the width, its numbers alone in less, nothing in little."""
    half, tall, *_ = columns(500, 500)
    assert half == ("0234567890abcdefghijklmnopqrs", "any", "50.000%")
    assert tall == ("1234567890abcdefghijklmnopqrs", "any", "50.000%")

    labels = columns(640, 60, 60, 60, 60, 60, 60)
    assert labels[1] == ("…hijklmnopqrs", "wide", "12.000%")
    assert {shows for _, shows, _ in labels} == {"any", "wide"}

    narrow = columns(920, 20, 20, 20, 20)
    assert narrow[1] == ("", "wide", "8.000%")
    assert columns(960, 10, 10, 10, 10)[1] == ("", "none", "4.000%")


def test_a_tile_keeps_its_place_and_size() -> None:
    """The map is 100 by 34, its tiles are in percent of that."""
    (first, second) = region_map(
        RegionsUse(held=4, kept=0, by_tag=(tag("a", 0, 3), tag("b", 0, 1)))
    )

    assert (first.x, first.y, first.width, first.height) == (
        "0.000%",
        "0.000%",
        "75.000%",
        "100.000%",
    )
    assert (second.x, second.y, second.width, second.height) == (
        "75.000%",
        "0.000%",
        "25.000%",
        "100.000%",
    )


def test_the_example_of_the_paper() -> None:
    """Values 6, 6, 4, 3, 2, 2, 1 in a frame of 6 by 4 (Bruls, Huizing, van Wijk, figure 6)."""
    tiles = layout([6, 6, 4, 3, 2, 2, 1], width=6, height=4)

    rounded = [
        tuple(round(value, 2) for value in (tile.x, tile.y, tile.width, tile.height))
        for tile in tiles
    ]
    assert rounded == [
        (0, 0, 3, 2),
        (0, 2, 3, 2),
        (3, 0, 1.71, 2.33),
        (4.71, 0, 1.29, 2.33),
        (3, 2.33, 1.2, 1.67),
        (4.2, 2.33, 1.2, 1.67),
        (5.4, 2.33, 0.6, 1.67),
    ]


def test_nothing_and_one() -> None:
    """No value, no tile; one value, the whole frame."""
    assert layout([], width=3, height=2) == ()
    assert layout([7], width=3, height=2) == (Tile(x=0, y=0, width=3, height=2),)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=60))
def test_areas_are_in_ratio_and_inside(values: list[int]) -> None:
    """Whatever the values, nothing lies outside, overlaps are ruled out by the sum of areas."""
    values.sort(reverse=True)
    tiles = layout(values, width=100, height=34)

    for value, tile in zip(values, tiles, strict=True):
        assert tile.width * tile.height == pytest.approx(3400 * value / sum(values), rel=1e-6)
        assert -1e-6 <= tile.x <= tile.x + tile.width <= 100 + 1e-6
        assert -1e-6 <= tile.y <= tile.y + tile.height <= 34 + 1e-6
    corners = [(round(tile.x, 6), round(tile.y, 6)) for tile in tiles]
    assert len(set(corners)) == len(corners)
