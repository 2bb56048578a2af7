"""GitLab's code quality report: what it needs of a finding, and one name for the same one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from megtrim.report.gitlab import code_quality
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
    found: list[dict[str, Any]] = json.loads(code_quality.render(verdict))
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


def test_a_finding_keeps_its_name_while_its_text_changes() -> None:
    """Else each run would report it as new and as fixed."""
    verdict = examples.failing()
    other = replace(
        verdict, checks=tuple(replace(each, text=f"{each.text}!") for each in verdict.checks)
    )

    assert [a["fingerprint"] for a in read(verdict)] == [b["fingerprint"] for b in read(other)]


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ("megtrim.yaml", "megtrim.yaml"),
        ("ci/android/megtrim.yaml", "ci/android/megtrim.yaml"),
        ("/builds/team/megtrim.yaml", "megtrim.yaml"),
        ("../megtrim.yaml", "megtrim.yaml"),
    ],
)
def test_a_path_is_from_the_top_of_the_checkout(config: str, path: str) -> None:
    """A configuration below it included."""
    verdict = examples.failing()
    invocation = replace(verdict.invocation, config=config)
    checks = tuple(replace(each, file="megtrim.yaml") for each in verdict.checks)

    found = read(replace(verdict, invocation=invocation, checks=checks, warnings=()))
    assert {each["location"]["path"] for each in found} == {path}
