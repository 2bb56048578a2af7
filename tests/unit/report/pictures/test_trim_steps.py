"""What each step won, from the plain build to what ships."""

from __future__ import annotations

from dataclasses import replace

from megtrim.report.pictures.trim_steps import describe_means, draw_steps
from megtrim.verdict.model import ArtifactSizes, TrimChoice, VariantSize
from megtrim.verdict.trim_summary import SizeFlagResult

CHOICE = TrimChoice(level="region", layout="scoped", minimum_size=False, optimize="none")


def artifact(**sizes: int) -> ArtifactSizes:
    return ArtifactSizes(
        name="app",
        sizes=tuple(
            VariantSize(variant=name, size_bytes=size_bytes, share=size_bytes / sizes["plain"])
            for name, size_bytes in sizes.items()
        ),
    )


def test_each_level_shows_what_is_left_and_what_it_took() -> None:
    """The profile build is no step: it does not ship."""
    found = artifact(plain=4096, profile=5000, region=2048, reduced=1024)
    [picture] = draw_steps(found, replace(CHOICE, level="function"))

    assert picture.title == ""
    assert [(bar.name, bar.size, bar.share, bar.won, bar.won_share) for bar in picture.bars] == [
        ("plain", "4 KiB", "100.0%", "", ""),
        ("by regions", "2 KiB", "50.0%", "-2 KiB", "-50.0%"),
        ("by functions", "1 KiB", "25.0%", "-1 KiB", "-50.0%"),
    ]
    assert [(bar.width, bar.gone) for bar in picture.bars] == [
        ("100.000%", "0.000%"),
        ("50.000%", "50.000%"),
        ("25.000%", "25.000%"),
    ]


def test_regions_alone_are_one_step() -> None:
    """The reduced build is then that of the regions."""
    [picture] = draw_steps(artifact(plain=4096, reduced=1024), CHOICE)

    assert [bar.name for bar in picture.bars] == ["plain", "by regions"]


def test_next_to_a_quick_trim_the_full_one_has_steps_of_its_own() -> None:
    """They do not follow each other: both start from plain."""
    quick = replace(CHOICE, level="function", quick=True)
    alone, full = draw_steps(artifact(plain=4096, region=2048, function=1024, reduced=1100), quick)

    assert (alone.title, [bar.name for bar in alone.bars]) == (
        "the quick trim",
        ["plain", "by functions"],
    )
    assert [bar.name for bar in full.bars] == ["plain", "by regions", "by functions"]
    assert [bar.size for bar in full.bars] == ["4 KiB", "2 KiB", "1 KiB"]
    [only] = draw_steps(artifact(plain=4096, reduced=1100), quick)
    assert only.title == "the quick trim"


def test_a_step_that_grew_takes_nothing() -> None:
    """Its bar is longer than the one before."""
    _, second = draw_steps(artifact(plain=1024, reduced=2048), CHOICE)[0].bars

    assert (second.won, second.won_share, second.grew) == ("+1 KiB", "100.0%", True)


def test_one_size_is_no_step() -> None:
    """Nor is none."""
    assert draw_steps(artifact(plain=1024), CHOICE) == ()
    assert draw_steps(ArtifactSizes(name="a", sizes=()), CHOICE) == ()


def test_what_was_not_built_without_is_named() -> None:
    """No bytes are made up for it."""
    flag = SizeFlagResult(name="small_code", value="Oz", why_not="")
    choice = replace(CHOICE, minimum_size=True, switched_off=("rtti",), means=(flag,))

    assert describe_means(choice) == "the engine's minimum size, rtti off, small_code Oz"
    assert describe_means(CHOICE) == ""
