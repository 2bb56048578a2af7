"""What keeps a verdict from passing, one finding for each cause, and the outcome in one line. Pure.

Many checks can end for one cause: all scenarios that need the same regions, all budgets of a file
that grew. Reports say such a cause once.
"""

from collections.abc import Sequence
from typing import NamedTuple

from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import (
    VERDICT_SIGNS,
    CheckKind,
    CheckStatus,
    VerdictKind,
)
from megtrim.core.config.units import Unit, format_bytes
from megtrim.core.size.report.budgets import describe_measured
from megtrim.core.size.report.tables import PLAIN, Marks
from megtrim.core.size.rows import BudgetRow, name_subject
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    change_of,
    format_change,
    list_trimmed,
    list_urgent,
)
from megtrim.libs.render.markup import one_line
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, cut, shorten

MOST_OF_OUTCOME = 80
"""Characters: what a notification shows of a heading."""

_LONGEST_NAME = 36
_OF_BUDGETS = (CheckKind.SIZE, CheckKind.GROWTH)
_OF_SCENARIOS = (
    CheckKind.TRAP,
    CheckKind.PARITY,
    CheckKind.ENGINE,
    CheckKind.TRACE,
    CheckKind.DEVICE,
    CheckKind.COVERAGE,
)


class Concern(Value):
    checks: tuple[Check, ...]
    """At least one, all of one status."""
    missing: tuple[str, ...] = ()
    """Names of what its scenarios need and the program lacks."""

    @property
    def first(self) -> Check:
        return self.checks[0]

    @property
    def status(self) -> CheckStatus:
        return self.first.status

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(check.subject for check in self.checks))

    @property
    def is_of_sizes(self) -> bool:
        return self.first.kind in _OF_BUDGETS

    @property
    def is_of_scenarios(self) -> bool:
        return self.first.kind in _OF_SCENARIOS

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(check.text for check in self.checks))


def list_findings(verdict: Verdict) -> tuple[Concern, ...]:
    """Return the causes of :func:`list_urgent`, the worst first."""
    missing = {
        scenario.id: scenario.missing_regions
        for scenario in verdict.scenarios
        if scenario.missing_regions
    }
    found: dict[tuple[object, ...], list[Check]] = {}
    lacking: dict[tuple[object, ...], tuple[str, ...]] = {}
    for check in list_urgent(verdict):
        lacks = missing.get(check.subject, ()) if check.kind in _OF_SCENARIOS else ()
        key: tuple[object, ...] = (check.status, check.kind, check.text, check.hint)
        if lacks:
            key = (check.status, frozenset(lacks))
        elif check.kind in _OF_BUDGETS:
            key = (check.status, check.hint)
        found.setdefault(key, []).append(check)
        lacking.setdefault(key, lacks)
    return tuple(Concern(checks=tuple(of), missing=lacking[key]) for key, of in found.items())


def describe_outcome(verdict: Verdict, marks: Marks = PLAIN) -> str:
    """Return the whole verdict in a line without its sign.

    It has at most :data:`MOST_OF_OUTCOME` characters with the sign, marks aside.
    """
    room = MOST_OF_OUTCOME - len(VERDICT_SIGNS[verdict.verdict]) - 1
    findings = list_findings(verdict)
    if findings:
        seen = _describe_finding(findings[0], verdict)
        others = f", and {len(findings) - 1:,} more" if len(findings) > 1 else ""
    else:
        seen = _describe_success(verdict)
        others = f", {count(len(verdict.warnings), 'warning')}" if verdict.warnings else ""
    name = shorten(one_line(seen.name), _LONGEST_NAME, _LONGEST_NAME // 3)
    begins = f"{name}{seen.joint}" if name else ""
    said = cut(one_line(seen.text), room - len(others) - len(begins))
    shown = f"{marks.code(name)}{seen.joint}" if name else ""
    return f"{shown}{marks.prose(said)}{others}"


def describe_check(check: Check, verdict: Verdict) -> str:
    """Say what one check that did not pass saw, as :func:`describe_outcome` does."""
    lacking = (each.missing_regions for each in verdict.scenarios if each.id == check.subject)
    missing = next(lacking, ()) if check.kind in _OF_SCENARIOS else ()
    if not (missing or check.kind in _OF_BUDGETS):
        return one_line(f"{check.subject}: {check.text}")
    seen = _describe_finding(Concern(checks=(check,), missing=missing), verdict)
    return one_line(f"{seen.name}{seen.joint if seen.name else ''}{seen.text}")


class _Outcome(NamedTuple):
    text: str
    name: str = ""
    joint: str = " "
    """Between the name and what is said of it."""


def _describe_success(verdict: Verdict) -> _Outcome:
    if verdict.verdict is not VerdictKind.PASS:
        return _Outcome("no check passed")
    trimmed = list_trimmed(verdict)
    if not trimmed:
        return _Outcome(verdict.headline)
    name, size = max(trimmed, key=lambda each: each[1].growth_bytes or 0)
    rows = {
        row.kind: row
        for row in verdict.budgets
        if row.subject == name_subject(name, size.variant, "")
    }
    growth = rows.get(CheckKind.GROWTH)
    whole = rows.get(CheckKind.SIZE)
    said = change_of(size) or format_bytes(size.size_bytes)
    if size.growth_bytes is not None and growth is not None and growth.limit is not None:
        said += f", {growth.format(growth.limit)} allowed"
        if growth.waiver:
            said += " and waived"
    elif whole is not None and whole.left is not None:
        said += f", {describe_room(whole)}"
    if len(trimmed) > 1:
        said += f" and {count(len(trimmed) - 1, 'more file')}"
    return _Outcome(said, name)


def describe_room(row: BudgetRow) -> str:
    """``236 KiB left of 2.8 MiB``, ``20 KiB over 2.5 MiB``; empty: it has no limit."""
    if row.left is None or row.limit is None:
        return ""
    limit = row.format(row.limit)
    if row.left >= 0:
        return f"{row.format(row.left)} left of {limit}"
    return f"{row.format(-row.left)} over {limit}"


def _describe_finding(finding: Concern, verdict: Verdict) -> _Outcome:
    check = finding.first
    rows = [row for row in verdict.budgets if row.check_id == check.id]
    if finding.is_of_sizes and rows:
        measured = describe_measured(rows[0])
        of = f" ({measured})" if measured else ""
        return _Outcome(f"{describe_limit(rows[0], verdict)}{of}", rows[0].artifact)
    if not finding.is_of_scenarios or not verdict.scenarios:
        return _Outcome(check.text, check.subject, ": ")
    affected = len(finding.subjects)
    of = f"{affected:,} of {count(len(verdict.scenarios), 'scenario')}"
    if finding.missing:
        were = "was" if len(finding.missing) == 1 else "were"
        lacks = f"{count(len(finding.missing), 'region')} that {were} trimmed"
        if affected == 1:
            return _Outcome(f"traps: it needs {lacks}", check.subject)
        return _Outcome(f"{of} trap: they need {lacks}")
    if check.kind is CheckKind.DEVICE and check.status is CheckStatus.UNVERIFIED:
        return _Outcome(f"{of} not verified: {check.text}")
    if affected == 1:
        return _Outcome(check.text, check.subject, ": ")
    return _Outcome(f"{of}: {check.text}")


_BRIEFLY = {
    CheckKind.TRAP: ("traps", "trap"),
    CheckKind.PARITY: ("differs from plain", "differ from plain"),
    CheckKind.ENGINE: ("fails", "fail"),
    CheckKind.TRACE: ("fails while it is traced", "fail while they are traced"),
    CheckKind.DEVICE: ("is not verified", "are not verified"),
    CheckKind.COVERAGE: ("is not verified", "are not verified"),
}


def describe_briefly(verdict: Verdict) -> str:
    """Return the outcome in a few words, such as ``1 of 3 scenarios traps``; empty for a pass."""
    findings = list_findings(verdict)
    if not findings:
        return "" if verdict.verdict is VerdictKind.PASS else "no check passed"
    finding = findings[0]
    check = finding.first
    rows = [row for row in verdict.budgets if row.check_id == check.id]
    if finding.is_of_sizes and rows:
        return describe_limit(rows[0], verdict)
    if not finding.is_of_scenarios or not verdict.scenarios:
        return one_line(check.text)
    affected = len(finding.subjects)
    words = _BRIEFLY[check.kind]
    if check.kind is CheckKind.DEVICE and check.status is CheckStatus.FAIL:
        words = ("fails on a device", "fail on a device")
    verb = words[0] if affected == 1 else words[1]
    return f"{affected:,} of {count(len(verdict.scenarios), 'scenario')} {verb}"


def describe_limit(row: BudgetRow, verdict: Verdict) -> str:
    """``+59 KiB (+2.3%), 16 KiB allowed``; ``+9 KiB (+1%): 2.9 MiB, 8 KiB over 2.8 MiB``."""
    if row.used is None:
        return one_line(row.text)
    if row.kind is CheckKind.SIZE:
        change = _find_change(row, verdict)
        return f"{change}{row.used_text}, {describe_room(row) or 'no limit'}"
    allowed = "" if row.limit is None else f", {row.format(row.limit)} allowed"
    now = find_size(row, verdict)
    if row.unit is not Unit.BYTES or now is None:
        return f"{row.format(row.used, '+')}{allowed}"
    return f"{format_change(row.used, now - row.used)}{allowed}"


def _find_change(row: BudgetRow, verdict: Verdict) -> str:
    """Return how the file of a budget changed, with a colon; empty: that is not known."""
    if row.measure:
        return ""
    for artifact in verdict.artifacts:
        for size in artifact.sizes:
            if name_subject(artifact.name, size.variant, "") == row.subject:
                return f"{change}: " if (change := change_of(size)) else ""
    return ""


def find_size(row: BudgetRow, verdict: Verdict) -> int | None:
    """Return what a budget of growth is of, in bytes; None: it is not known."""
    if row.measure:
        same = (
            each.used
            for each in verdict.budgets
            if each.kind is CheckKind.SIZE and each.subject == row.subject
        )
        return next(same, None)
    sizes = (
        size.size_bytes
        for artifact in verdict.artifacts
        for size in artifact.sizes
        if name_subject(artifact.name, size.variant, "") == row.subject
    )
    return next(sizes, None)


def find_tightest(rows: Sequence[BudgetRow]) -> BudgetRow | None:
    """Return the limit with the least room: exceeded ones first, then by what is left of each."""
    limited = [row for row in rows if row.left is not None and row.limit]
    if not limited:
        return None

    def room(row: BudgetRow) -> tuple[bool, float]:
        return row.status is not CheckStatus.FAIL, (row.left or 0) / (row.limit or 1)

    return min(limited, key=room)
