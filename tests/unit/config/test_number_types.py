"""Numbers of megtrim.yaml as people write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from megtrim.config import number_types
from megtrim.config.number_types import LONGEST_WAIT_S, read_whole
from megtrim.config.units import GrowthLimit
from megtrim.config.value_types import EXPECTED


def read(kind: str, value: object) -> Any:
    return TypeAdapter(getattr(number_types, kind)).validate_python(value)


def expected(kind: str, value: object) -> str:
    """Return what the refusal of a value says that it expected."""
    with pytest.raises(ValidationError) as caught:
        read(kind, value)
    [error] = caught.value.errors()
    assert error["type"] == EXPECTED
    return str(error["msg"])


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        ("SizeBytes", "1 KiB", 1024),
        ("SizeBytes", "1_048_576", 1_048_576),
        ("SizeBytes", "1,024 kB", 1_024_000),
        ("DurationS", "2 minutes", 120.0),
        ("AbsoluteTolerance", "1e-5", 1e-5),
        ("AbsoluteTolerance", "5E3", 5000.0),
        ("RelativeTolerance", 0.5, 0.5),
        ("RelativeTolerance", "1e-5", 1e-5),
        ("RelativeTolerance", "5%", 0.05),
        ("RelativeTolerance", "0.1%", 0.001),
        ("Growth", "5%", GrowthLimit(share=0.05)),
        ("Threads", 16, 16),
    ],
)
def test_a_number_is_read(kind: str, value: object, result: object) -> None:
    """As what it means, with its type."""
    found = read(kind, value)

    assert (found, type(found)) == (result, type(result))


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1), (1000, 1000), ("1_000", 1000), ("1,000", 1000), ("1000", None), ("1_00", None)],
)
def test_thousands_may_stand_apart(value: object, number: int | None) -> None:
    """Text in quotes stays text: only what no one can mean otherwise is a number."""
    assert read_whole(value, least=1, most=1000) == number


@pytest.mark.parametrize("value", [0, 1001, True, 1.0, None, "", "one"])
def test_another_is_none(value: object) -> None:
    """Out of bounds, or no whole number."""
    assert read_whole(value, least=1, most=1000) is None


@pytest.mark.parametrize("value", [0, "0 s", -1])
def test_a_timeout_is_more_than_no_time(value: object) -> None:
    """A run that may take no time at all has failed before it starts."""
    assert expected("TimeoutS", value)
    assert read("DurationS", "0 s") == 0.0


def test_a_wait_is_a_day_at_most() -> None:
    """Its text in a document can be read again."""
    adapter: TypeAdapter[float] = TypeAdapter(number_types.WaitS)

    assert read("WaitS", "24 hours") == LONGEST_WAIT_S
    assert expected("WaitS", "25 hours").startswith("a duration of at most a day")
    written = json.loads(adapter.dump_json(90.0))
    assert isinstance(written, str)
    assert read("WaitS", written) == 90.0


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("AbsoluteTolerance", -1.0),
        ("AbsoluteTolerance", float("inf")),
        ("AbsoluteTolerance", "1e-5x"),
        ("AbsoluteTolerance", "nan"),
        ("RelativeTolerance", 1.0),
        ("RelativeTolerance", "100%"),
        ("RelativeTolerance", "1e0"),
        ("RelativeTolerance", True),
    ],
)
def test_a_tolerance_is_a_number_that_can_be_kept(kind: str, value: object) -> None:
    """One that allows everything would prove nothing."""
    with pytest.raises(ValidationError):
        read(kind, value)


def test_what_threads_may_be_is_said() -> None:
    """A list that is left has a mistake in it."""
    what = "a whole number from 1 to 256, or a list of up to 16 of them"
    assert expected("Threads", [1, "many"]) == what
    assert expected("Threads", 257) == what
