from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.checks.statuses import ScenarioStatus
from megtrim.release.contents import parse_contents
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump
from megtrim.verdict.join import join
from unit.release.examples import MODELS, contents
from unit.verdict.examples import RESNET, facts, passing, scenario


def test_what_is_written_is_read() -> None:
    said = contents()

    assert parse_contents(dump(said), source="release.json") == said
    assert (said.models, said.unproven) == (MODELS, ())
    assert [each.path for each in said.artifacts] == ["bin/load_and_run", "lib/libengine.so"]


def test_times_and_logs_change_no_byte() -> None:
    slow = tuple(
        replace(each, time_s=99.0, log_tail="slow\n", reproduce="other --out x")
        for each in passing().scenarios
    )
    again = join(facts(scenarios=slow))

    assert again != passing()
    assert dump(contents(again)) == dump(contents())


def test_a_scenario_that_did_not_pass_is_unproven() -> None:
    pending = scenario(RESNET, status=ScenarioStatus.UNVERIFIED, outputs=())

    assert contents(join(facts(scenarios=(pending,)))).unproven == (RESNET,)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 1', '"version": 2', "version: found 2, expected 1"),
        ('"verdict": "pass"', '"verdict": "fine"', "verdict: found 'fine', expected one of"),
        ('"trim": {', '"more": 1, "trim": {', "more: found 1, expected no such key"),
    ],
)
def test_another_form_is_refused(old: str, new: str, said: str) -> None:
    text = dump(contents())
    assert text.count(old) == 1

    with pytest.raises(InputError) as caught:
        parse_contents(text.replace(old, new), source="release.json")
    assert caught.value.message.startswith(f"release.json:1: {said}")
