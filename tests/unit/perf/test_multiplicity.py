"""Control over many comparisons."""

from megtrim.perf.multiplicity import adjust_p_values


def test_values_grow_with_their_number() -> None:
    """Adjusted values are never below the given ones, and keep their order and names."""
    adjusted = adjust_p_values({"c": 0.5, "a": 0.001, "b": 0.02})
    assert list(adjusted) == ["a", "b", "c"]
    assert 0.001 < adjusted["a"] < adjusted["b"] < adjusted["c"] <= 1
    assert adjust_p_values({}) == {}
