from dataclasses import replace

from megtrim.size.history import ComponentGrowth, SizePoint, SizeTrend
from megtrim.size.report.trend import draw_trends
from megtrim.verdict.join import join
from megtrim.verdict.model import Verdict
from unit.verdict.examples import budget, facts


def trend(*sizes: int, artifact: str = "load_and_run", variant: str = "reduced") -> SizeTrend:
    return SizeTrend(
        config="megtrim.yaml",
        quick=False,
        measure="",
        artifact=artifact,
        variant=variant,
        points=tuple(
            SizePoint(
                commit=f"{number:02}" * 20,
                committed_at=f"2026-11-{number + 1:02}T02:00:00Z",
                megtrim="1.0.0",
                components=(ComponentGrowth(component="runtime", growth_bytes=7),)
                if number
                else (),
                size_bytes=size_bytes,
                growth_bytes=None if number == 0 else size_bytes - sizes[number - 1],
            )
            for number, size_bytes in enumerate(sizes)
        ),
    )


def verdict(*trends: SizeTrend, **limits: object) -> Verdict:
    return replace(join(facts(budgets=(budget(**limits),))), trends=trends)


def test_points_are_in_order_and_joined() -> None:
    [picture] = draw_trends(verdict(trend(2_000_000, 2_100_000, 2_050_000)))

    assert [mark.x for mark in picture.marks] == ["16.667%", "50.000%", "83.333%"]
    first, second, third = (float(mark.y) for mark in picture.marks)
    assert second < third < first
    assert len(picture.lines) == 2
    assert (picture.lines[0].x1, picture.lines[0].y2) == ("16.667%", picture.marks[1].y)
    assert picture.text == "3 commits, from 1,953.1 KiB to 2,050.8 KiB, +48.8 KiB altogether"
    assert (picture.first, picture.last) == ("2026-11-01", "2026-11-03")


def test_every_number_is_in_words() -> None:
    [picture] = draw_trends(verdict(trend(1024, 2048)))

    assert picture.rows == (
        ("2026-11-02", "010101010101", "2,048", "+1 KiB", "runtime +7 B"),
        ("2026-11-01", "000000000000", "1,024", "", ""),
    )
    assert picture.marks[1].text == "2026-11-02 at 010101010101: 2,048 bytes (+1 KiB)"


def test_a_limit_that_is_near_is_a_line() -> None:
    near = draw_trends(verdict(trend(2_000_000), max_bytes=2_200_000, warn_bytes=2_100_000))
    far = draw_trends(verdict(trend(2_000_000), max_bytes=9_000_000))

    assert [(line.tone, line.text) for line in near[0].limits] == [
        ("limit", "budget 2,148.4 KiB"),
        ("warn", "warning from 2,050.8 KiB on"),
    ]
    assert float(near[0].limits[0].y) < float(near[0].limits[1].y) < float(near[0].marks[0].y)
    assert (far[0].limits, far[0].far) == ((), ("budget 8,789.1 KiB",))


def test_a_budget_is_of_its_own_file() -> None:
    plain = draw_trends(verdict(trend(2_000_000, variant="plain"), max_bytes=2_100_000))
    part = draw_trends(verdict(trend(2_000_000), measure="section .text"))

    assert plain[0].limits == part[0].limits == ()


def test_what_ships_comes_first() -> None:
    found = draw_trends(
        verdict(trend(5, variant="plain"), trend(), trend(7, artifact="b"), trend(6, artifact="a"))
    )

    assert [(each.artifact, each.variant) for each in found] == [
        ("a", "reduced"),
        ("b", "reduced"),
        ("load_and_run", "plain"),
    ]
    assert draw_trends(verdict()) == ()


def test_one_commit_and_equal_sizes_can_be_drawn() -> None:
    """A line of one point, or one without a slope, divides by nothing."""
    alone, level = (draw_trends(verdict(trend(*sizes)))[0] for sizes in ((0,), (300, 300)))

    assert (len(alone.marks), alone.lines) == (1, ())
    assert level.marks[0].y == level.marks[1].y
