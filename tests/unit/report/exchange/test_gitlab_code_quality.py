"""GitLab's code quality report: what it needs of a finding, and one name for the same one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.report.exchange import gitlab_code_quality
from megtrim.verdict.model import Verdict
from unit.verdict import examples

FINDING = {
    "type": "object",
    "required": ["description", "check_name", "fingerprint", "severity", "location"],
    "properties": {
        "description": {"type": "string", "minLength": 1},
        "check_name": {"type": "string", "minLength": 1},
        "fingerprint": {"type": "string", "minLength": 1},
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": {
            "type": "object",
            "required": ["path", "lines"],
            "properties": {
                "path": {"type": "string", "pattern": r"^(?!/|\./)"},
                "lines": {
                    "type": "object",
                    "required": ["begin"],
                    "properties": {"begin": {"type": "integer", "minimum": 1}},
                },
            },
        },
    },
}
"""What GitLab's documentation asks of a finding, at version 17."""
REPORT = Draft202012Validator({"type": "array", "items": FINDING})


def read(verdict: Verdict) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gitlab_code_quality.render(verdict))
    return found


@pytest.mark.parametrize("make", [examples.passing, examples.failing, examples.hostile])
def test_it_is_what_gitlab_reads(make: Any) -> None:
    """Hostile names included; no finding twice."""
    found = read(make())

    assert list(REPORT.iter_errors(found)) == []
    fingerprints = [each["fingerprint"] for each in found]
    assert len(set(fingerprints)) == len(fingerprints)


def test_a_failure_is_critical_and_comes_first() -> None:
    """With what to do, at the line of megtrim.yaml that it is about."""
    verdict = examples.failing()
    first = read(verdict)[0]

    failed = next(each for each in verdict.checks if str(each.status) == "fail")
    assert (first["severity"], first["check_name"]) == ("critical", f"megtrim/{failed.kind}")
    assert first["location"]["lines"]["begin"] == failed.line


def test_a_pass_has_nothing_to_say_but_its_warnings() -> None:
    """GitLab shows an empty list as no change."""
    verdict = replace(examples.passing(), warnings=("near the limit",))

    assert [(each["severity"], each["description"]) for each in read(verdict)] == [
        ("info", "near the limit")
    ]
    assert read(replace(verdict, warnings=())) == []
