"""SARIF: what the published schema asks, and what GitHub's code scanning needs besides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator

from megtrim.report.exchange import sarif
from megtrim.report.exchange.findings import MOST_FINDINGS
from megtrim.verdict.model import Verdict
from megtrim.verdict.statuses import CheckKind, CheckStatus
from unit.verdict import examples

PUBLISHED = Path(__file__).parents[3] / "data/schemas/sarif-schema-2.1.0.json"
SCHEMA = json.loads(PUBLISHED.read_text("utf-8"))
VALIDATOR = Draft4Validator(SCHEMA, format_checker=Draft4Validator.FORMAT_CHECKER)


def read(verdict: Verdict) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sarif.render(verdict))
    return document


def results(verdict: Verdict) -> list[dict[str, Any]]:
    [run] = read(verdict)["runs"]
    found: list[dict[str, Any]] = run["results"]
    return found


@pytest.mark.parametrize("make", [examples.passing, examples.failing, examples.hostile])
def test_it_is_what_the_published_schema_asks(make: Any) -> None:
    """Hostile names included; the schema that it names is that one."""
    document = read(make())

    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    assert document["$schema"] == SCHEMA["id"]


def test_the_schema_refuses_what_is_wrong() -> None:
    """Else the test above would hold for anything."""
    document = read(examples.failing())
    document["runs"][0]["results"][0]["level"] = "critical"

    assert [*VALIDATOR.iter_errors(document)]


def test_every_result_has_what_code_scanning_needs() -> None:
    """A rule with its texts, a place in the repository, and a fingerprint of its own."""
    [run] = read(examples.hostile())["runs"]
    rules = run["tool"]["driver"]["rules"]

    assert run["results"]
    for each in run["results"]:
        rule = rules[each["ruleIndex"]]
        assert rule["id"] == each["ruleId"]
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))
        [place] = each["locations"]
        assert not place["physicalLocation"]["artifactLocation"]["uri"].startswith(("/", "."))
    prints = [each["partialFingerprints"]["primaryLocationLineHash"] for each in run["results"]]
    assert len({*prints}) == len(prints)


def test_levels_follow_the_statuses() -> None:
    """A failure is an error; what is not known, a warning; a warning of the run, a note."""
    verdict = replace(examples.failing(), warnings=("near the limit",))
    levels = {each["ruleId"]: each["level"] for each in results(verdict)}

    for check in verdict.checks:
        if check.status is CheckStatus.FAIL:
            assert levels[f"megtrim/{check.kind}"] == "error"
    assert levels["megtrim/warning"] == "note"
    unverified = results(examples.unverified())
    assert {each["level"] for each in unverified} <= {"warning", "note"}


def test_a_pass_has_no_result_but_its_warnings() -> None:
    """An upload without results closes the alerts of earlier ones."""
    verdict = replace(examples.passing(), warnings=())

    assert results(verdict) == []
    assert [each["level"] for each in results(replace(verdict, warnings=("one",)))] == ["note"]


def test_every_kind_of_check_has_a_rule() -> None:
    """A new kind needs its text."""
    assert {*sarif._RULES} == {*CheckKind}


def test_uploads_of_two_configurations_do_not_replace_each_other() -> None:
    """They are of different categories, as GitHub reads them from the run's id."""
    verdict = examples.failing()
    other = replace(verdict, invocation=replace(verdict.invocation, config="a/megtrim.yaml#linux"))

    ids = [read(each)["runs"][0]["automationDetails"]["id"] for each in (verdict, other)]
    assert ids[0] != ids[1]
    assert all(each.endswith("/") for each in ids)


def test_its_length_is_bounded() -> None:
    """GitHub takes 25,000 results of a run and ten megabytes, compressed."""
    warnings = tuple(f"{number} {'x' * 1000}" for number in range(2 * MOST_FINDINGS))
    text = sarif.render(replace(examples.failing(), warnings=warnings))

    assert len(json.loads(text)["runs"][0]["results"]) == MOST_FINDINGS
    assert len(text) < 10_000_000
