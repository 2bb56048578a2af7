from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.checks.statuses import ScenarioStatus
from megtrim.release.contents import dump_contents, find_plain_sizes, parse_contents
from megtrim.util.errors import InputError
from megtrim.verdict.join import join
from unit.release.examples import MODELS, contents
from unit.verdict.examples import PLAIN_BYTES, RESNET, facts, passing, scenario


def test_what_is_written_is_read() -> None:
    said = contents()

    assert parse_contents(dump_contents(said), source="release.json") == said
    assert (said.models, said.unproven) == (MODELS, ())
    assert [each.path for each in said.artifacts] == ["bin/load_and_run", "lib/libengine.so"]


def test_times_and_logs_change_no_byte() -> None:
    slow = tuple(
        replace(each, time_s=99.0, log_tail="slow\n", reproduce="other --out x")
        for each in passing().scenarios
    )
    again = join(facts(scenarios=slow))

    assert again != passing()
    assert dump_contents(contents(again)) == dump_contents(contents())


def test_a_scenario_that_did_not_pass_is_unproven() -> None:
    pending = scenario(RESNET, status=ScenarioStatus.UNVERIFIED, outputs=())

    assert contents(join(facts(scenarios=(pending,)))).unproven == (RESNET,)


def test_sizes_before_trimming_are_those_of_plain() -> None:
    assert find_plain_sizes(passing()) == {"load_and_run": PLAIN_BYTES}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"version": 1', '"version": 2', "version: found 2, expected 1"),
        ('"verdict": "pass"', '"verdict": "fine"', "verdict: found 'fine', expected one of"),
        ('"trim": {', '"more": 1, "trim": {', "more: found 1, expected no such key"),
    ],
)
def test_another_form_is_refused(old: str, new: str, said: str) -> None:
    text = dump_contents(contents())
    assert text.count(old) == 1

    with pytest.raises(InputError) as caught:
        parse_contents(text.replace(old, new), source="release.json")
    assert caught.value.message.startswith(f"release.json:1: {said}")
