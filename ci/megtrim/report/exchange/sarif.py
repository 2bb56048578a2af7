"""The findings as SARIF 2.1.0, the exchange format for results of static analysis. Pure.

Code hosts and editors show each at its line of megtrim.yaml. What passed is left out: they show
every result as an alert.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from megtrim.report.exchange.findings import WARNING, VerdictFinding, list_findings
from megtrim.report.text import one_line, path_in_project
from megtrim.verdict.model import Verdict
from megtrim.verdict.statuses import CheckKind, CheckStatus

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {
    CheckStatus.FAIL: "error",
    CheckStatus.INFRASTRUCTURE: "warning",
    CheckStatus.UNVERIFIED: "warning",
    CheckStatus.INCONCLUSIVE: "warning",
}
_RULES = {
    CheckKind.BUILD: "The engine builds",
    CheckKind.TRACE: "Every scenario leaves a trace",
    CheckKind.HEADER: "The traces become a keep set and a header",
    CheckKind.KEEP_SET: "The committed keep set is what was traced",
    CheckKind.REDUCE: "The reduced engine builds",
    CheckKind.TRAP: "No scenario needs what was left out",
    CheckKind.PARITY: "The outputs equal those of the untrimmed build",
    CheckKind.ENGINE: "The engine runs every scenario without an error",
    CheckKind.DEVICE: "The devices answer",
    CheckKind.COVERAGE: "Every scenario was run on the reduced build",
    CheckKind.LATENCY: "No scenario got slower",
    CheckKind.NEIGHBOURS: "Runs near the scenarios work",
    CheckKind.SIZE: "The artifact keeps its budget",
    CheckKind.GROWTH: "The artifact grows no more than it may",
}
_RULE_OF_WARNINGS = "The run has no warning"
_HELP = "The message says what to do. The report of the run, index.html, has sizes, runs and logs."


def render(verdict: Verdict) -> str:
    """Return the document, with one run and a result for each finding.

    The run's ``automationDetails.id`` holds the configuration, so that uploads of several do not
    replace each other.
    """
    findings = list_findings(verdict)
    kinds = list(dict.fromkeys(each.kind for each in findings))
    driver: dict[str, Any] = {"name": "megtrim"}
    if verdict.origin.megtrim:
        driver["version"] = verdict.origin.megtrim
    driver["rules"] = [_describe_rule(kind) for kind in kinds]
    config = one_line(verdict.invocation.config) or path_in_project(verdict.config)
    run = {
        "tool": {"driver": driver},
        # What ends with a slash names a category; text after it would name a single run.
        "automationDetails": {"id": f"megtrim/{config}/"},
        "results": [_describe_result(each, kinds.index(each.kind)) for each in findings],
    }
    document = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _describe_rule(kind: str) -> dict[str, Any]:
    text = _RULE_OF_WARNINGS if kind == WARNING else _RULES[CheckKind(kind)]
    return {
        "id": f"megtrim/{kind}",
        "shortDescription": {"text": text},
        "fullDescription": {"text": f"{text}."},
        "help": {"text": _HELP},
    }


def _describe_result(finding: VerdictFinding, rule: int) -> dict[str, Any]:
    return {
        "ruleId": f"megtrim/{finding.kind}",
        "ruleIndex": rule,
        "level": _LEVELS[finding.status] if finding.status else "note",
        "message": {"text": finding.text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": finding.line},
                }
            }
        ],
        # GitHub reads this name alone. By a digest of the line, as it would compute it, all
        # scenarios that fail on one line would be one alert.
        "partialFingerprints": {"primaryLocationLineHash": f"{finding.identity}:1"},
    }
