"""The gate's reader says what the whole one says, and takes nothing that contradicts itself."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.errors import InputError
from megtrim.verdict.conclusion import conclude, read_conclusion
from megtrim.verdict.model import Verdict, parse_verdict, to_json
from unit.verdict.examples import failing, hostile, passing, unverified
from unit.verdict.test_model import changed

SOURCE = "v.json"


@pytest.mark.parametrize("make", [passing, failing, hostile, unverified])
def test_it_is_the_conclusion_of_the_whole_verdict(make: Callable[[], Verdict]) -> None:
    """Times alone are left to the whole reader."""
    expected = None if make().performance else conclude(make())

    assert read_conclusion(to_json(make()), source=SOURCE) == expected


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("version", 1, "version: found 1, expected 3"),
        ("version", ..., "found no verdict"),
        ("verdict", "good", "'good' is not a valid VerdictKind"),
        ("verdict", "fail", "verdict: found fail, expected what its checks add up to: pass"),
        ("headline", 5, "found no verdict"),
        ("checks", {}, "found no verdict"),
        ("checks.0.line", 0, "checks: found a line below 1, expected 1 or more"),
        ("checks.0.status", "passed", "'passed' is not a valid CheckStatus"),
        ("checks.1.id", "build:plain", "checks: found id 'build:plain' twice"),
        ("scenarios.2.status", "ok", "'ok' is not a valid ScenarioStatus"),
        ("scenarios.2.status", "trap", "its status is trap, and none of its checks failed"),
        ("scenarios.0.outputs.0.equal", False, "its status is pass, and output"),
        ("scenarios.0.outputs.0", [], "found no verdict"),
        ("budgets.0.max_bytes", 1, "exceeded: true, and its check is pass"),
        ("budgets.0.max_bytes", "2 MiB", "found no verdict"),
        ("budgets.0.status", "fail", "its status is fail, exceeded: false"),
        ("unverified", None, "None is not a valid UnverifiedPolicy"),
        ("artifacts.0.sizes", [5], "found no verdict"),
        ("artifacts.0.sizes.2.size_bytes", "2 MiB", "found no verdict (size_bytes '2 MiB')"),
        ("performance", ..., "found no verdict"),
    ],
)
def test_a_wrong_value_is_refused(path: str, value: object, said: str) -> None:
    """Whatever the conclusion depends on."""
    with pytest.raises(InputError) as caught:
        read_conclusion(changed(path, value), source=SOURCE)

    assert caught.value.message.startswith("v.json:1: ")
    assert said in caught.value.message
    assert caught.value.hint.endswith("make the verdict again")


@given(st.sampled_from(sorted(json.loads(to_json(passing())))), st.integers() | st.text())
def test_what_the_whole_reader_takes_it_takes_alike(key: str, value: object) -> None:
    """A part of another shape is refused, or is none that the gate needs."""
    text = changed(key, value)
    try:
        verdict = parse_verdict(text, source=SOURCE)
    except InputError:
        return

    assert read_conclusion(text, source=SOURCE) == conclude(verdict)
