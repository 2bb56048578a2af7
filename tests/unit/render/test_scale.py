from hypothesis import given
from hypothesis import strategies as st

from megtrim.render.scale import Scale, around, from_zero, round_values


@given(st.floats(0, 2.0**62), st.floats(0, 2.0**62))
def test_a_scale_holds_its_values(one: float, other: float) -> None:
    low, high = sorted((one, other))
    for scale in (around(low, high), from_zero(high)):
        assert scale.low < scale.high
        assert 0 <= scale.part(low) <= scale.part(high) <= 1
        assert len(round_values(scale, 5)) <= 6
        assert all(scale.low <= value * 1.0001 and value <= scale.high * 1.0001
                   for value in round_values(scale, 5))  # fmt: skip


def test_what_is_outside_of_a_scale_is_at_its_end() -> None:
    scale = Scale(low=1.0, high=2.0)

    assert (scale.x(0.0), scale.x(9.0), scale.y(9.0, 100.0)) == ("0.000%", "100.000%", "0.0")
