import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from megtrim.load_and_run.parity import EXACT, Numbers, Tolerance, differences, refusal, within

NAN, INF = math.nan, math.inf

FINITE = st.floats(-(2.0**100), 2.0**100, width=32)
NARROW = st.builds(Tolerance, absolute=st.floats(0, 1), relative=st.floats(0, 0.25))
"""Tolerances that leave most outputs evidence."""
TOLERANCES = NARROW | st.builds(
    Tolerance, absolute=st.floats(0, 1e30), relative=st.floats(0, 1, exclude_max=True)
)


def numbers(*values: complex, dtype: str = "f8") -> Numbers:
    return np.array(values, dtype)


def softmax(classes: int) -> Numbers:
    scores = np.exp(np.sin(np.arange(classes)))
    return np.asarray(scores / scores.sum())


@pytest.mark.parametrize(
    ("tolerance", "text"),
    [
        (Tolerance(), "0"),
        (Tolerance(absolute=1e-5), "1e-05"),
        (Tolerance(relative=0.001), "0.001 * |plain|"),
        (Tolerance(absolute=0.5, relative=0.001), "0.5 + 0.001 * |plain|"),
    ],
)
def test_a_tolerance_is_shown(tolerance: Tolerance, text: str) -> None:
    assert str(tolerance) == text
    assert tolerance.is_exact is (text == "0")


@pytest.mark.parametrize(
    ("plain", "reduced", "tolerance", "same"),
    [
        ((1.0, 100.0), (1.25, 100.25), Tolerance(absolute=0.25), True),
        ((1.0, 100.0), (1.25, 100.5), Tolerance(absolute=0.25), False),
        ((1.0, 100.0), (1.25, 125.0), Tolerance(relative=0.25), True),
        ((1.0, 100.0), (1.5, 100.0), Tolerance(relative=0.25), False),
        # Plain is the reference: a quarter of 4 is 1, of 3 it is less.
        ((4.0,), (3.0,), Tolerance(relative=0.25), True),
        ((3.0,), (4.0,), Tolerance(relative=0.25), False),
        ((0.0, 4.0), (0.5, 5.5), Tolerance(absolute=0.5, relative=0.25), True),
        ((0.0, 4.0), (0.75, 4.0), Tolerance(absolute=0.5, relative=0.25), False),
        ((INF, NAN, -INF), (INF, NAN, -INF), Tolerance(absolute=1.0), True),
        ((INF, 1.0), (1.0, INF), Tolerance(absolute=1.0, relative=0.5), False),
        ((INF,), (-INF,), Tolerance(absolute=1.0, relative=0.5), False),
        ((NAN, 1.0), (1.0, NAN), Tolerance(absolute=1.0, relative=0.5), False),
        ((1 + 1j,), (1.5 + 1j,), Tolerance(absolute=0.5), True),
        ((1 + 1j,), (1.5 + 1.5j,), Tolerance(absolute=0.5), False),
    ],
)
def test_numbers_within_a_tolerance(
    plain: tuple[complex, ...], reduced: tuple[complex, ...], tolerance: Tolerance, same: bool
) -> None:
    dtype = "c16" if any(each.imag for each in plain) else "f8"

    assert within(numbers(*plain, dtype=dtype), numbers(*reduced, dtype=dtype), tolerance) is same


@given(
    arrays.arrays("f4", 5, elements=st.floats(width=32)),
    arrays.arrays("f4", 5, elements=st.floats(width=32)),
    TOLERANCES,
)
def test_the_meaning_is_that_of_numpy(
    plain: Numbers, reduced: Numbers, tolerance: Tolerance
) -> None:
    plain, reduced = plain.astype("f8"), reduced.astype("f8")
    with np.errstate(over="ignore", invalid="ignore"):
        close = np.isclose(
            reduced, plain, rtol=tolerance.relative, atol=tolerance.absolute, equal_nan=True
        )

    assert within(plain, reduced, tolerance) is bool(np.all(close))


def test_differences_of_whole_numbers_are_exact() -> None:
    found = differences(numbers(2**62, -1, dtype="i8"), numbers(2**62 + 1, 1, dtype="i8"))

    assert found.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("plain", "tolerance", "why"),
    [
        (numbers(), EXACT, "is empty"),
        (numbers(2, 2), EXACT, "is constant: every number is 2"),
        (numbers(1 + 1j, 1 + 1j, dtype="c16"), EXACT, "is constant: every number is 1+1j"),
        (numbers(7, 7, dtype="i8"), EXACT, "is constant: every number is 7"),
        (numbers(1, 2, *[NAN] * 998), EXACT, "has 998 NaN or infinite numbers of 1000"),
        (numbers(INF, -INF), EXACT, "has 2 NaN or infinite numbers of 2"),
        (numbers(NAN), EXACT, "has 1 NaN or infinite numbers of 1"),
        (
            softmax(1000),
            Tolerance(absolute=0.02),
            (
                "varies by 0.00185684, so a constant passes for it at a tolerance of 0.02 "
                "(set a tolerance below 0.00092842)"
            ),
        ),
        (
            numbers(1, 3),
            Tolerance(absolute=1),
            (
                "varies by 2, so a constant passes for it at a tolerance of 1 "
                "(set a tolerance below 1)"
            ),
        ),
        (
            numbers(3, 4),
            Tolerance(relative=0.15),
            (
                "varies by 1, so a constant passes for it at a tolerance of 0.15 * |plain| "
                "(set a smaller tolerance or relative_tolerance)"
            ),
        ),
        (
            numbers(1 + 1j, 2 + 3j, dtype="c16"),
            Tolerance(absolute=1),
            (
                "varies by 2, so a constant passes for it at a tolerance of 1 "
                "(set a tolerance below 1)"
            ),
        ),
        (
            numbers(0.5),
            Tolerance(absolute=0.5),
            "is 0.5, and 0 passes for it at a tolerance of 0.5 (set a tolerance below 0.5)",
        ),
        (
            numbers(0),
            Tolerance(absolute=1e-5),
            "is 0, and 0 passes for it at a tolerance of 1e-05 (set tolerance: 0)",
        ),
    ],
)
def test_what_proves_nothing(plain: Numbers, tolerance: Tolerance, why: str) -> None:
    said = refusal("o", plain, tolerance)

    assert said == f"the output o {why}"


@pytest.mark.parametrize(
    ("plain", "tolerance"),
    [
        (numbers(1, 3), Tolerance(absolute=0.99)),
        (numbers(3, 4), Tolerance(relative=0.14)),
        (numbers(0.5), Tolerance(absolute=0.49)),
        (numbers(0), EXACT),
        (numbers(1, 2, NAN, INF), EXACT),
        (numbers(1, 2, dtype="i8"), Tolerance(absolute=9)),
        (numbers(1, 1 + 3j, dtype="c16"), Tolerance(absolute=1)),
        (softmax(1000), Tolerance(absolute=1e-5)),
        (softmax(1000), Tolerance(relative=0.02)),
    ],
)
def test_what_is_evidence(plain: Numbers, tolerance: Tolerance) -> None:
    assert refusal("o", plain, tolerance) is None


@given(
    arrays.arrays("f4", st.integers(1, 6), elements=FINITE),
    TOLERANCES,
    st.one_of(st.just(0.0), FINITE),
)
def test_no_constant_passes_for_evidence(
    plain: Numbers, tolerance: Tolerance, constant: float
) -> None:
    plain = plain.astype("f8")
    assume(refusal("o", plain, tolerance) is None)

    assert within(plain, np.zeros_like(plain), tolerance) is bool(np.all(plain == 0))
    if plain.size > 1:
        middle = np.full_like(plain, (plain.max() + plain.min()) / 2)
        for fake in (np.full_like(plain, constant), np.full_like(plain, plain[0]), middle):
            assert not within(plain, fake, tolerance)


@given(
    arrays.arrays(
        "c8", st.integers(2, 6), elements=st.complex_numbers(max_magnitude=2.0**30, width=64)
    ),
    NARROW,
)
def test_no_constant_passes_for_complex_evidence(plain: Numbers, tolerance: Tolerance) -> None:
    plain = plain.astype("c16")
    assume(refusal("o", plain, tolerance) is None)

    for constant in (0, plain[0], plain.mean()):
        assert not within(plain, np.full_like(plain, constant), tolerance)
