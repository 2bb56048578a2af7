"""What stages find: equal data for equal values, read back whole or not at all."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from megtrim.chain.stage_result import StageResult, dump_result, parse_result
from megtrim.proof.results import VerifyResult
from megtrim.util.errors import InputError
from unit.trim.stages.results import SAMPLES, sample

ODD: tuple[Any, ...] = (None, True, -1, 1.5, "x", [], {}, [[]], {"x": 1})


@pytest.mark.parametrize("result", SAMPLES.values(), ids=lambda each: type(each).__name__)
def test_what_was_written_is_read_back(result: StageResult) -> None:
    data = json.loads(json.dumps(dump_result(result), allow_nan=False))

    assert parse_result(type(result), data) == result
    assert dump_result(parse_result(type(result), data)) == data


def test_a_result_is_plain_json() -> None:
    data = dump_result(sample(VerifyResult))

    assert (data["day"], data["outcome"]["status"]) == ("2027-01-20", "pass")
    assert data["device"] == {"name": "board", "kind": "adb", "facts": {"model": "B"}}


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("binding",), None, "binding: found None, expected text"),
        (("day",), "2027-02-30", "day: found '2027-02-30', expected a date such as 2027-01-31"),
        (("day",), "2027-01-20T00:00:00", "result: found another spelling, expected what Verify"),
        (("day",), 0, "result: found another spelling, expected what VerifyResult holds"),
        (("outcome", "status"), "fine", "outcome.status: found 'fine', expected one of pass, trap"),
        (("outcome", "time_s"), -1.0, "outcome.time_s: found -1.0, expected 0 or more"),
        (("outcome", "time_s"), "1", "outcome.time_s: found '1', expected a number"),
        (("outcome", "more"), 1, "outcome.more: found 1, expected no such key"),
        (("outcome", "outputs", 0, "equal"), 1, "outcome.outputs[0].equal: found 1, expected true"),
        (("outcome", "conditions", "before", "cpu_c"), 1e9, "cpu_c: found 1000000000.0, which no"),
        (("device", "facts", "model"), 1, "device.facts.model: found 1, expected text"),
        (("exit_code",), 0, "exit_code: found 0, expected no such key"),
    ],
)
def test_the_first_wrong_entry_is_named(path: tuple[Any, ...], value: object, said: str) -> None:
    data: Any = dump_result(sample(VerifyResult))
    inner = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value

    with pytest.raises(InputError) as caught:
        parse_result(VerifyResult, data)
    assert caught.value.message.startswith(said)


@pytest.mark.parametrize("result", SAMPLES.values(), ids=lambda each: type(each).__name__)
def test_an_odd_entry_is_refused_or_read_as_what_it_says(result: StageResult) -> None:
    """Whatever stands in whichever place: an input error, never a bug or another value."""
    for data in _mutants(dump_result(result)):
        try:
            found = parse_result(type(result), data)
        except InputError:
            continue
        assert dump_result(found) == data


def _mutants(value: Any) -> Iterator[Any]:
    """Yield copies with one entry missing, added or of another value, at every depth."""
    if isinstance(value, dict):
        yield {**value, "another entry": 1}
        for key, each in value.items():
            yield {name: kept for name, kept in value.items() if name != key}
            for other in (*ODD, *_mutants(each)):
                yield {**value, key: other}
    elif isinstance(value, list):
        for at, each in enumerate(value):
            for other in (*ODD, *_mutants(each)):
                yield [*value[:at], other, *value[at + 1 :]]
