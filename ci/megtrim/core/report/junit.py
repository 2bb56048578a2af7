"""The verdict as JUnit XML: flat suites, one for each stage, one case for each check. Pure.

A product failure is a ``failure``, whatever kept a check from being made an ``error``. Publishers
need totals, names and times, and take equal names for retries. The library turns a case green, or
raises, for a failure without text, a time of 0, or a lone surrogate: none is passed to it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from html import escape
from itertools import groupby
from types import MappingProxyType
from typing import assert_never

from junit_xml import TestCase, TestSuite, to_xml_report_string

from megtrim.core.build_spec import Origin
from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.config_id import suffix_of
from megtrim.core.evidence.fields import EarlyExit
from megtrim.core.report.sections import find_times
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import list_urgent, origin_facts
from megtrim.libs.render.formatting import group_digits
from megtrim.libs.render.markup import clean, command, one_line, path_in_repository
from megtrim.libs.util.errors import ProductFailure
from megtrim.libs.util.value import Value

LIMIT = 16 * 1024 * 1024
"""Bytes of the document. Beyond it, details of the mildest checks are omitted, then the checks."""

_OUTPUT_LIMIT = 10_000
_TAGS_BYTES = 600
"""More than the tags of a case, or of the document and a suite, without their texts."""
_PROPERTY_BYTES = 60
"""More than the tag of a property that says what a suite is of, without its value."""
_LEAST_TIME_S = 0.001
_NOTHING: Mapping[str, str] = MappingProxyType({})
_UNKNOWN = Origin()

_STAGES = {
    CheckKind.BUILD: "build",
    CheckKind.TRACE: "profile",
    CheckKind.HEADER: "header",
    CheckKind.KEEP_SET: "header",
    CheckKind.REDUCE: "reduce",
    CheckKind.DEFERRAL: "verify",
    CheckKind.PAGES: "reduce",
    CheckKind.TRAP: "verify",
    CheckKind.PARITY: "verify",
    CheckKind.TESTS: "verify",
    CheckKind.ENGINE: "verify",
    CheckKind.DEVICE: "verify",
    CheckKind.COVERAGE: "verify",
    CheckKind.LATENCY: "perf",
    CheckKind.SIZE: "size",
    CheckKind.GROWTH: "size",
}
_REST = "report"
_INFRASTRUCTURE = "infrastructure"
_NO_VERDICT = "no verdict"
_ORDER = (*dict.fromkeys(_STAGES.values()), _REST)


class _Case(Value):
    stage: str
    name: str
    status: CheckStatus
    kind: str
    message: str
    output: str
    file: str = ""
    line: int = 0
    time_s: float = _LEAST_TIME_S

    @property
    def weight(self) -> int:
        texts = (self.name, self.kind, self.message, self.output, self.file)
        return _TAGS_BYTES + sum(len(escape(text).encode()) for text in texts)


def render(verdict: Verdict) -> str:
    numbers: Mapping[str, str] = {}
    room = LIMIT
    times = find_times(verdict)
    if times is not None:
        tables, performance = times
        numbers = tables.properties(performance)
        room -= tables.PROPERTIES_LIMIT if numbers else 0
    origin = _origin_properties(verdict.origin)
    cases = _cases(verdict, room - len(_ORDER) * _weigh_properties(origin))
    return _document(cases, verdict.invocation.config, origin, numbers)


def render_ending(ending: EarlyExit, origin: Origin = _UNKNOWN) -> str:
    message = one_line(ending.message) or _NO_VERDICT
    product = ending.exit == ProductFailure.exit_code
    case = _Case(
        stage=_REST,
        name="verdict",
        status=CheckStatus.FAIL if product else CheckStatus.INFRASTRUCTURE,
        kind=_NO_VERDICT if product else f"exit status {ending.exit}",
        message=message,
        output=clean(str(ending), limit=_OUTPUT_LIMIT).strip("\n") or message,
    )
    return _document([case], ending.config, _origin_properties(origin))


def _origin_properties(origin: Origin) -> Mapping[str, str]:
    return {name: one_line(value) for name, value in origin_facts(origin).items()}


def _weigh_properties(found: Mapping[str, str]) -> int:
    return sum(_PROPERTY_BYTES + len(escape(value).encode()) for value in found.values())


def _document(
    cases: list[_Case],
    config: str,
    origin: Mapping[str, str],
    numbers: Mapping[str, str] = _NOTHING,
) -> str:
    """Each suite has the properties of its ``origin``, that of times more."""
    top = f"megtrim{suffix_of(config)}"
    suites = []
    for stage, group in groupby(cases, key=lambda case: case.stage):
        properties = {**origin}
        if stage == _STAGES[CheckKind.LATENCY]:
            properties |= numbers
        built = [_build_test_case(case, top) for case in group]
        suites.append(TestSuite(f"{top}.{stage}", built, properties=properties))
    text: str = to_xml_report_string(suites, prettyprint=False, encoding="utf-8")
    skipped = sum(case.is_skipped() for suite in suites for case in suite.test_cases)
    # The library writes neither a name nor a skipped count on the root element.
    named = text.rstrip().replace("<testsuites", f'<testsuites name="{top}" skipped="{skipped}"', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{named}\n'


def _cases(verdict: Verdict, limit: int) -> list[_Case]:
    names = dict(_names(sorted(verdict.checks, key=_place)))
    room = limit - _TAGS_BYTES * (len(_ORDER) + 2)
    cases: dict[str, _Case] = {}
    left_out: list[Check] = []
    for check in _worst_first(verdict):
        case = _case(check, names[check.id], verdict.invocation.config)
        if case.weight <= room:
            cases[check.id] = case
            room -= case.weight
        else:
            left_out.append(check)
    for check in _worst_first(verdict):
        if check.id in cases:
            case = replace(cases[check.id], output=_output(check))
            more = case.weight - cases[check.id].weight
            if more <= room:
                cases[check.id] = case
                room -= more
    ordered = [cases[id_] for id_ in names if id_ in cases]
    return ordered if not left_out else [*ordered, _others(left_out, verdict)]


def _worst_first(verdict: Verdict) -> tuple[Check, ...]:
    attention = list_urgent(verdict)
    known = {check.id for check in attention}
    return (*attention, *(check for check in verdict.checks if check.id not in known))


def _place(check: Check) -> tuple[int, str]:
    return _ORDER.index(_STAGES[check.kind]), check.id


def _names(checks: Iterable[Check]) -> Iterator[tuple[str, str]]:
    taken: set[str] = set()
    tries: Counter[str] = Counter()
    for check in checks:
        shown = unique = one_line(_name_case(check)) or "check"
        while unique in taken:
            tries[shown] += 1
            unique = f"{shown} ({tries[shown] + 1})"
        taken.add(unique)
        yield check.id, unique


def _name_case(check: Check) -> str:
    """Name what is tested: a case that passes must not be called ``trap``, nor say a word twice."""
    if check.kind is CheckKind.TRAP:
        return f"runs:{check.subject}"
    return check.subject if check.subject.startswith(f"{check.kind}/") else check.id


def _case(check: Check, name: str, config: str) -> _Case:
    message = _message(check)
    kind = str(check.kind)
    if check.status is CheckStatus.INFRASTRUCTURE:
        kind = _INFRASTRUCTURE
    return _Case(
        stage=_STAGES[check.kind],
        name=name,
        status=check.status,
        kind=kind,
        message=message,
        output=message,
        file=path_in_repository(check.file, config),
        line=check.line,
        time_s=max(check.time_s, _LEAST_TIME_S),
    )


def _message(check: Check) -> str:
    return one_line(check.text) or f"{check.kind} {check.status}"


def _others(checks: list[Check], verdict: Verdict) -> _Case:
    message = f"{group_digits(len(checks))} more checks than fit here: verdict.json has all"
    return _Case(
        stage=_REST,
        name="further checks",
        status=checks[0].status,
        kind="further",
        message=message,
        output=message,
        file=path_in_repository(verdict.config, verdict.invocation.config),
        line=1,
    )


def _build_test_case(case: _Case, top: str) -> TestCase:
    written = TestCase(
        case.name,
        classname=f"{top}.{case.stage}",
        elapsed_sec=case.time_s,
        file=case.file,
        line=case.line,
    )
    match case.status:
        case CheckStatus.PASS:
            written.stdout = case.output
        case CheckStatus.FAIL:
            written.add_failure_info(case.message, case.output, case.kind)
        case CheckStatus.INFRASTRUCTURE:
            written.add_error_info(case.message, case.output, case.kind)
        case CheckStatus.UNVERIFIED | CheckStatus.INCONCLUSIVE | CheckStatus.SKIPPED:
            said = case.message.startswith(str(case.status))
            message = case.message if said else f"{case.status}: {case.message}"
            written.add_skipped_info(message, case.output)
        case _:
            assert_never(case.status)
    return written


def _output(check: Check) -> str:
    parts = [_message(check), clean(check.detail, limit=_OUTPUT_LIMIT).strip("\n")]
    if check.hint:
        parts.append(f"what to do: {one_line(check.hint)}")
    if check.reproduce:
        parts.append(f"to reproduce: {command(check.reproduce)}")
    return "\n".join(part for part in parts if part)
