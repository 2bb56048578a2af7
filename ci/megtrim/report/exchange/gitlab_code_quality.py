"""The findings as GitLab's code quality report: a JSON list. Pure."""

from __future__ import annotations

import json
from typing import Any

from megtrim.report.exchange.findings import VerdictFinding, list_findings
from megtrim.verdict.model import Verdict
from megtrim.verdict.statuses import CheckStatus

_SEVERITIES = {
    CheckStatus.FAIL: "critical",
    CheckStatus.INFRASTRUCTURE: "major",
    CheckStatus.UNVERIFIED: "minor",
    CheckStatus.INCONCLUSIVE: "minor",
}


def render(verdict: Verdict) -> str:
    """Return the document: failures first, then what is not known, then warnings."""
    return json.dumps([_describe(each) for each in list_findings(verdict)], indent=1) + "\n"


def _describe(finding: VerdictFinding) -> dict[str, Any]:
    return {
        "description": finding.text,
        "check_name": f"megtrim/{finding.kind}",
        "fingerprint": finding.identity,
        "severity": _SEVERITIES[finding.status] if finding.status else "info",
        "location": {"path": finding.path, "lines": {"begin": finding.line}},
    }
