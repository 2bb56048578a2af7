"""The checks that need attention, as GitLab's code quality report: a JSON list of findings. Pure.

GitLab compares the findings of two branches by their fingerprints, so one stays the same as long as
the same check of the same configuration fails.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePosixPath
from typing import Any

from megtrim.report.formatting import list_urgent
from megtrim.report.text import command, one_line, path_in_project
from megtrim.verdict.model import Check, Verdict
from megtrim.verdict.statuses import CheckStatus

MOST_FINDINGS = 1000
_SEVERITIES = {
    CheckStatus.FAIL: "critical",
    CheckStatus.INFRASTRUCTURE: "major",
    CheckStatus.UNVERIFIED: "minor",
    CheckStatus.INCONCLUSIVE: "minor",
    CheckStatus.SKIPPED: "info",
    CheckStatus.PASS: "info",
}
_WARNING = "warning"


def render(verdict: Verdict) -> str:
    """Return the document: failures first, then what is not known, then warnings."""
    findings = [_of_check(check, verdict) for check in list_urgent(verdict)]
    findings += [_of_warning(text, verdict) for text in dict.fromkeys(verdict.warnings)]
    return json.dumps(findings[:MOST_FINDINGS], indent=1) + "\n"


def _of_check(check: Check, verdict: Verdict) -> dict[str, Any]:
    parts = [one_line(check.text) or f"{check.kind} {check.status}"]
    if check.hint:
        parts.append(f"What to do: {one_line(check.hint)}")
    if check.reproduce:
        parts.append(f"To see it again: {command(check.reproduce)}")
    return _make_finding(
        f"megtrim/{check.kind}",
        ". ".join(parts),
        _SEVERITIES[check.status],
        verdict,
        subject=check.id,
        place=(check.file, check.line),
    )


def _of_warning(text: str, verdict: Verdict) -> dict[str, Any]:
    place = (verdict.config, 1)
    name = f"megtrim/{_WARNING}"
    return _make_finding(name, one_line(text), "info", verdict, subject=text, place=place)


def _make_finding(
    name: str,
    description: str,
    severity: str,
    verdict: Verdict,
    *,
    subject: str,
    place: tuple[str, int],
) -> dict[str, Any]:
    file, line = place
    identity = f"{name}\0{verdict.invocation.config}\0{verdict.config}\0{subject}"
    return {
        "description": description,
        "check_name": name,
        "fingerprint": hashlib.sha256(identity.encode(errors="backslashreplace")).hexdigest(),
        "severity": severity,
        "location": {
            "path": _path_in_repository(file, verdict),
            "lines": {"begin": line},
        },
    }


def _path_in_repository(file: str, verdict: Verdict) -> str:
    """Return a path as seen from the folder of the call, which is the top of a job's checkout."""
    folder = PurePosixPath(verdict.invocation.config).parent
    outside = folder.is_absolute() or ".." in folder.parts
    return path_in_project(file if outside else f"{folder}/{file}")
