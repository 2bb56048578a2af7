import pytest

from megtrim.report.html import size_picture
from megtrim.size.rows import ArtifactSizes, VariantSize
from unit.verdict.examples import sizes


def variant(name: str, size_bytes: int, *sections: tuple[str, int]) -> VariantSize:
    return VariantSize(
        variant=name, size_bytes=size_bytes, share=size_bytes / 1000, sections=sections
    )


def test_bars_are_drawn_to_one_scale_and_reduced_once_more_to_its_own() -> None:
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
    assert picture.sections == (("text", 0, (750, 80)), ("data", 1, (250, 20)))


def test_bytes_that_no_section_has_are_drawn_too() -> None:
    """A picture that does not add up would lie; a section missing in a variant is empty."""
    picture = size_picture(
        ArtifactSizes(
            name="a", sizes=(variant("plain", 1000), variant("reduced", 50, ("text", 50)))
        )
    )

    assert picture.sections == (("not in a section", 0, (1000, None)), ("text", 1, (None, 50)))
    assert [part.name for part in picture.bars[0].segments] == ["not in a section"]


def test_an_empty_artifact_has_no_width() -> None:
    picture = size_picture(ArtifactSizes(name="a", sizes=(variant("plain", 0, ("text", 0)),)))

    assert picture.bars[0].width == "0%"
    assert size_picture(ArtifactSizes(name="a", sizes=())).bars == ()


def test_colours_repeat_after_the_eighth() -> None:
    many = tuple((f"s{number}", 1) for number in range(10))
    picture = size_picture(ArtifactSizes(name="a", sizes=(variant("plain", 10, *many),)))

    assert [colour for _, colour, _ in picture.sections] == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert size_picture(sizes()).sections[0][0] == "text"


@pytest.mark.parametrize(
    ("part", "expected"),
    [(89, "none"), (90, "wide"), (249, "wide"), (250, "any"), (1, "none"), (999, "any")],
)
def test_a_segment_is_named_where_its_name_fits(part: int, expected: str) -> None:
    whole = ArtifactSizes(name="a", sizes=(variant("plain", 1000, ("x", part)),))

    assert size_picture(whole).bars[0].enlarged[0].label == expected


def test_a_single_byte_counts() -> None:
    one = variant("plain", 1, ("text", 0))
    (bar,) = size_picture(ArtifactSizes(name="a", sizes=(one,))).bars

    assert [(part.name, part.width, part.label) for part in bar.segments] == [
        ("text", "0.000%", "none"),
        ("not in a section", "100.000%", "any"),
    ]
    nothing = variant("plain", 0, ("text", 0))
    (empty,) = size_picture(ArtifactSizes(name="a", sizes=(nothing,))).bars
    assert [(part.width, part.label) for part in empty.segments] == [("0%", "none")]
