"""The verdict as JUnit XML: flat suites, one for each stage, one case for each check.

Pure. A product failure is a failure, what keeps a check from being made is an error, what says
nothing is skipped. The library that writes has ways to turn a case green or to stop: a failure
without message and output, a time of 0, a lone surrogate. None of them can be reached from here.
"""

from __future__ import annotations

from itertools import count, groupby
from typing import assert_never

from junit_xml import TestCase, TestSuite, to_xml_report_string

from megtrim.report.text import clean, one_line, path_in_project
from megtrim.verdict.kinds import CheckKind, CheckStatus
from megtrim.verdict.model import Check, Verdict

_OUTPUT_LIMIT = 20_000
_LEAST_TIME_S = 0.001

_STAGES = {
    CheckKind.BUILD: "build",
    CheckKind.TRACE: "profile",
    CheckKind.HEADER: "header",
    CheckKind.REDUCE: "reduce",
    CheckKind.TRAP: "verify",
    CheckKind.PARITY: "verify",
    CheckKind.ENGINE: "verify",
    CheckKind.DEVICE: "verify",
    CheckKind.COVERAGE: "verify",
    CheckKind.LATENCY: "perf",
    CheckKind.SIZE: "size",
    CheckKind.GROWTH: "size",
}
_ORDER = tuple(dict.fromkeys(_STAGES.values()))


def render(verdict: Verdict) -> str:
    """Return the whole XML document; it holds no clock and no host name."""
    checks = sorted(verdict.checks, key=_place)
    taken: set[str] = set()
    suites = [
        TestSuite(f"megtrim.{stage}", [_case(check, stage, taken) for check in group])
        for stage, group in groupby(checks, key=lambda check: _STAGES[check.kind])
    ]
    text: str = to_xml_report_string(suites, prettyprint=False, encoding="utf-8")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text.rstrip()}\n'


def _place(check: Check) -> tuple[int, str]:
    return _ORDER.index(_STAGES[check.kind]), check.id


def _case(check: Check, stage: str, taken: set[str]) -> TestCase:
    case = TestCase(
        _unique_name(check.id, taken),
        classname=f"megtrim.{stage}",
        elapsed_sec=max(check.time_s, _LEAST_TIME_S),
        file=path_in_project(check.file),
        line=check.line,
    )
    message = one_line(check.text) or f"{check.kind} {check.status}"
    output = _output(check, message)
    match check.status:
        case CheckStatus.PASS:
            case.stdout = output
        case CheckStatus.FAIL:
            case.add_failure_info(message, output, str(check.kind))
        case CheckStatus.INFRASTRUCTURE:
            case.add_error_info(message, output, "infrastructure")
        case CheckStatus.UNVERIFIED | CheckStatus.INCONCLUSIVE | CheckStatus.SKIPPED:
            said = message.startswith(str(check.status))
            case.add_skipped_info(message if said else f"{check.status}: {message}", output)
        case _:
            assert_never(check.status)
    return case


def _unique_name(name: str, taken: set[str]) -> str:
    """Return ``name`` as it can be shown; names that differ only in what cannot be are numbered."""
    shown = one_line(name) or "check"
    spellings = (shown if number == 1 else f"{shown} ({number})" for number in count(1))
    unique = next(spelling for spelling in spellings if spelling not in taken)
    taken.add(unique)
    return unique


def _output(check: Check, message: str) -> str:
    parts = [message, clean(check.detail, limit=_OUTPUT_LIMIT).strip("\n")]
    if check.hint:
        parts.append(f"what to do: {one_line(check.hint)}")
    if check.reproduce:
        parts.append(f"to see it again: {one_line(check.reproduce, limit=4000)}")
    return "\n".join(part for part in parts if part)
