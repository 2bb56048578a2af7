import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.checks.statuses import ScenarioStatus, decide
from megtrim.core.proof.results import ScenarioResult, scenario_checks
from megtrim.core.trim.results import SizeFlagResult, TrimChoice
from megtrim.core.verdict.conclusion import read_conclusion
from megtrim.core.verdict.model import Verdict, parse_verdict, to_json
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions, Policy, Reading
from megtrim.libs.util import json_text
from megtrim.libs.util.errors import InputError
from unit.core.verdict.examples import (
    big,
    by_committed,
    compared,
    failing,
    hostile,
    passing,
    scenario,
    unverified,
)


def with_means() -> Verdict:
    return replace(passing(), trim=replace(passing().trim, means=FLAGS))


@pytest.mark.parametrize(
    "make", [passing, failing, unverified, big, hostile, compared, by_committed, with_means]
)
def test_what_is_written_is_read_back(make: Callable[[], Verdict]) -> None:
    text = to_json(make())

    assert parse_verdict(text, source="verdict.json") == make()
    assert text == to_json(make())
    assert text.isascii()
    assert text.startswith('{\n "origin": {')
    assert text.endswith("]\n}\n")


def judged(only: ScenarioResult) -> Verdict:
    whole = passing()
    checks = scenario_checks(
        only, invocation=whole.invocation, file="megtrim.yaml", line=1, expired=False
    )
    verdict = decide(each.status for each in checks)
    return replace(whole, verdict=verdict, scenarios=(only,), budgets=(), checks=checks)


def test_conditions_are_read_back_and_are_those_of_a_machine() -> None:
    cold = Reading(cpu_c=-12.5, battery_c=-3.0, charging=False)
    policy = Policy(name="policy0", governor="schedutil", allowed_khz=1, capable_khz=2)
    conditions = Conditions(before=cold, after=Reading(policies=(policy,), cooling=("cpu",)))
    verdict = judged(scenario("m/s@c", conditions=conditions))

    text = to_json(verdict)

    assert parse_verdict(text, source="verdict.json") == verdict
    for wrong in ('"cpu_c": -12.5', '"charging": false'):
        key = wrong.partition(":")[0]
        with pytest.raises(InputError, match="conditions"):
            parse_verdict(text.replace(wrong, f'{key}: "x"'), source="verdict.json")
    with pytest.raises(InputError, match=r"cpu_c: found 400\.5, which no machine can report"):
        parse_verdict(text.replace("-12.5", "400.5"), source="verdict.json")


@pytest.mark.parametrize("key", ["conditions", "crash"])
def test_a_document_of_an_older_version_is_refused(key: str) -> None:
    with pytest.raises(InputError, match=f"scenarios\\[0\\].{key}: found nothing"):
        parse_verdict(changed(f"scenarios.0.{key}", ...), source="verdict.json")


@pytest.mark.parametrize("difference", [float("nan"), float("inf"), None])
def test_a_difference_that_is_no_number_becomes_null(difference: float | None) -> None:
    output = OutputResult(name="x", size_bytes=4, equal=False, largest_difference=difference)
    verdict = judged(scenario("m/s@c", status=ScenarioStatus.PARITY, outputs=(output,)))

    read = parse_verdict(to_json(verdict), source="verdict.json")

    assert read.scenarios[0].outputs[0].largest_difference is None


def test_a_scenario_that_passed_holds_no_failure() -> None:
    output = OutputResult(name="x", size_bytes=4, equal=False, largest_difference=0.5)
    text = to_json(passing()).replace('"equal": true', '"equal": false', 1)

    assert text != to_json(passing())
    with pytest.raises(InputError, match=r"^verdict.json:1: .*its status is pass, and output"):
        parse_verdict(text, source="verdict.json")
    with pytest.raises(InputError, match="output x differs"):
        replace(passing(), scenarios=(scenario("m/s@c", outputs=(output,)),))


def changed(path: str, value: object) -> str:
    """Return a good verdict's text with the value at ``path`` replaced, or removed if Ellipsis."""
    tree: Any = json.loads(to_json(passing()))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place = tree
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(tree)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("version", 1, "version: found 1, expected 3"),
        ("verdict", "good", "verdict: found 'good', expected one of pass, fail, inconclusive"),
        ("verdict", "fail", "verdict: found fail, expected what its checks add up to: pass"),
        ("checks.0.line", 0, "checks: found a line below 1, expected 1 or more"),
        ("checks.0.time_s", -1, "checks[0].time_s: found -1, expected 0 or more"),
        ("checks.1.id", "build:plain", "checks: found id 'build:plain' twice"),
        ("scenarios.2.status", "ok", "scenarios[2].status: found 'ok', expected one of pass, trap"),
        ("scenarios.2.class", ..., "scenarios[2].class: found nothing, expected this key"),
        ("scenarios.0.extra", 1, "scenarios[0].extra: found 1, expected no such key"),
        ("devices.0.facts", [], "devices[0].facts: found [], expected an object"),
        ("artifacts.0.sizes.0.sections.0", ["text"], "sections[0][1]: found nothing"),
        ("budgets.0.limit", "2 MiB", "budgets[0].limit: found '2 MiB', expected a whole"),
    ],
)
def test_a_wrong_value_is_named_with_its_path(path: str, value: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_verdict(changed(path, value), source="out/verdict.json")

    assert caught.value.message.startswith("out/verdict.json:1: ")
    assert said in caught.value.message
    assert caught.value.hint == (
        "another version of megtrim wrote it, or it was damaged: make the verdict again"
    )


@pytest.mark.parametrize(
    ("row", "path", "value"),
    [(1, "used", -5), (0, "limit", None), (0, "limit", 2**62)],
)
def test_a_shrunken_binary_and_an_unlimited_one_are_fine(
    row: int, path: str, value: object
) -> None:
    verdict = parse_verdict(changed(f"budgets.{row}.{path}", value), source="verdict.json")

    assert getattr(verdict.budgets[row], path) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "v.json:1: found no JSON here"),
        ("{\n\n x}", "v.json:3: found no JSON here"),
        ("[]", "v.json:1: top level: found [], expected an object"),
        ('{"a": 1, "a": 2}', "v.json:1: found a key twice in one object"),
        ('{"a": NaN}', "v.json:1: a number: found 'NaN', expected a finite number"),
        ("[" * 100_000, "v.json:1: found JSON that is nested too deep"),
        ('{"version": ' + "9" * 5000 + "}", "v.json:1: "),
    ],
)
def test_what_is_no_verdict_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        parse_verdict(text, source="v.json")


def test_a_huge_file_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "LARGEST_DOCUMENT", 100)
    with pytest.raises(InputError, match="found no JSON here"):
        parse_verdict(" " * 100, source="v.json")
    with pytest.raises(InputError, match="length: found 101, expected a document of at most 100"):
        parse_verdict(" " * 101, source="v.json")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_json_is_read_or_refused(value: object) -> None:
    for read in (parse_verdict, read_conclusion):
        with pytest.raises(InputError):
            read(json.dumps(value), source="v.json")


@given(st.sampled_from(sorted(json.loads(to_json(passing())))), st.integers() | st.text())
def test_any_wrong_part_is_refused_or_reads_as_text(key: str, value: object) -> None:
    try:
        verdict = parse_verdict(changed(key, value), source="v.json")
    except InputError:
        return

    assert getattr(verdict, key) == value


FLAGS = (
    SizeFlagResult(name="small_code", value="Oz", why_not=""),
    SizeFlagResult(name="relocations", value="android", why_not="the phone is too old"),
    SizeFlagResult(name="unwind_tables", value="false", why_not=""),
)


def test_size_flags_are_used_or_have_a_reason() -> None:
    choice = TrimChoice(
        level="region", layout="scoped", minimum_size=True, optimize="size", means=FLAGS
    )

    assert choice.used == ("small_code Oz", "unwind_tables false")
    assert choice.unused == ("relocations: the phone is too old",)
    assert (replace(choice, means=()).used, replace(choice, means=()).unused) == ((), ())
