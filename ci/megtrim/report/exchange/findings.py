"""What needs attention in a verdict, for tools that follow findings from run to run. Pure.

Such tools compare the findings of two runs or branches by their identities, so one stays the same
as long as the same check of the same configuration fails, whatever its text says.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from megtrim.report.formatting import list_urgent
from megtrim.report.text import command, one_line, path_in_repository
from megtrim.verdict.model import Check, Verdict
from megtrim.verdict.statuses import CheckKind, CheckStatus

MOST_FINDINGS = 1000
WARNING = "warning"
"""The kind of a finding that is a warning of the whole run, not a check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFinding:
    """One check that did not pass, or one warning."""

    kind: str
    """A :class:`CheckKind`, or ``WARNING``."""
    status: CheckStatus | None
    """None: a warning."""
    text: str
    """One line: the result, what to do, and the command that shows it again."""
    identity: str
    """sha256, in hexadecimal digits: of the configuration and the check, not of the text."""
    path: str
    """From the top of the repository, with / between folders."""
    line: int


def list_findings(verdict: Verdict) -> tuple[VerdictFinding, ...]:
    """Return failures first, then what is not known, then warnings; at most ``MOST_FINDINGS``."""
    checks = (_of_check(check, verdict) for check in list_urgent(verdict))
    warnings = (_of_warning(text, verdict) for text in dict.fromkeys(verdict.warnings))
    return (*checks, *warnings)[:MOST_FINDINGS]


def _of_check(check: Check, verdict: Verdict) -> VerdictFinding:
    parts = [one_line(check.text) or f"{check.kind} {check.status}"]
    if check.hint:
        parts.append(f"What to do: {one_line(check.hint)}")
    if check.reproduce:
        parts.append(f"To see it again: {command(check.reproduce)}")
    return VerdictFinding(
        kind=check.kind,
        status=check.status,
        text=". ".join(parts),
        identity=_identify(check.kind, check.id, verdict),
        path=path_in_repository(check.file, verdict.invocation.config),
        line=check.line,
    )


def _of_warning(text: str, verdict: Verdict) -> VerdictFinding:
    return VerdictFinding(
        kind=WARNING,
        status=None,
        text=one_line(text),
        identity=_identify(WARNING, text, verdict),
        path=path_in_repository(verdict.config, verdict.invocation.config),
        line=1,
    )


def _identify(kind: CheckKind | str, subject: str, verdict: Verdict) -> str:
    text = f"megtrim/{kind}\0{verdict.invocation.config}\0{verdict.config}\0{subject}"
    return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()
