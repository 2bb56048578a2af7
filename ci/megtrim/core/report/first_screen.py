"""The first screen of the page: verdict, change, room that is left, and what to do. Pure."""

from collections import Counter

from megtrim.core.checks.invocation import split_next
from megtrim.core.checks.statuses import (
    MEANINGS,
    CheckKind,
    CheckStatus,
    VerdictKind,
)
from megtrim.core.config.units import Unit, format_bytes
from megtrim.core.report.findings import (
    Concern,
    describe_limit,
    find_size,
    find_tightest,
    list_findings,
)
from megtrim.core.size.report.budgets import describe_measured
from megtrim.core.size.rows import BudgetRow, VariantSize, name_subject
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import change_of, list_trimmed
from megtrim.libs.render.formatting import percent
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

_ENDED = {
    CheckStatus.FAIL: "failed",
    CheckStatus.INFRASTRUCTURE: "could not run",
}


class Tile(Value):
    title: str
    number: str
    of: str
    tone: str = ""
    """The status whose colour it has; empty: none."""
    target: str = ""
    """Id of the section with more."""


class NextStep(Value):
    text: str
    """Commands in it are between backticks."""
    command: str = ""
    label: str = ""
    """What the command is for; empty: it is what is to be done."""


def list_tiles(verdict: Verdict) -> tuple[Tile, ...]:
    tiles = [_count_checks(verdict)]
    trimmed = list_trimmed(verdict)
    if trimmed:
        tiles += [_show_change(verdict), _show_room(verdict), _show_size(trimmed)]
    elif verdict.performance is None:
        tiles.append(Tile(title="Size", number="not known", of="nothing was built", tone="skipped"))
    return tuple(tiles)


def describe_state(verdict: Verdict) -> str:
    """Say in a sentence what the verdict does not: what was skipped, and what else is noted."""
    if verdict.verdict in (VerdictKind.UNVERIFIED, VerdictKind.INCONCLUSIVE):
        return MEANINGS[verdict.verdict]
    failed = sum(check.status is CheckStatus.FAIL for check in verdict.checks)
    everything = count(len(verdict.checks), "check")
    if failed:
        said = f"{failed:,} of {everything} failed"
    elif is_cautious(verdict):
        said = "Every check that ran passed"
    else:
        said = f"All {everything} passed" if len(verdict.checks) != 1 else "The one check passed"
    return f"{', '.join((said, *_list_cautions(verdict)))}."


def is_cautious(verdict: Verdict) -> bool:
    """Tell whether something was skipped or warned of."""
    return bool(_list_cautions(verdict))


def _list_cautions(verdict: Verdict) -> list[str]:
    skipped = sum(check.status is CheckStatus.SKIPPED for check in verdict.checks)
    noted = [f"{skipped:,} skipped"] if skipped else []
    if verdict.warnings:
        noted.append(count(len(verdict.warnings), "warning"))
    return noted


def _count_checks(verdict: Verdict) -> Tile:
    counts = Counter(check.status for check in verdict.checks)
    noted = [
        f"{counts[each]:,} {_ENDED.get(each, each)}"
        for each in CheckStatus
        if counts[each] and each is not CheckStatus.PASS
    ]
    if verdict.warnings:
        noted.append(count(len(verdict.warnings), "warning"))
    passed = counts[CheckStatus.PASS]
    tone = str(verdict.verdict)
    if verdict.verdict is VerdictKind.PASS and noted:
        tone = str(CheckStatus.UNVERIFIED)
    return Tile(
        title="Checks passed",
        number=f"{passed:,} of {len(verdict.checks):,}",
        of=", ".join(noted) or "nothing skipped, no warning",
        tone=tone,
        target="checks",
    )


def _show_change(verdict: Verdict) -> Tile:
    failed = [row for row in verdict.budgets if _is_over(row) and row.kind is CheckKind.GROWTH]
    baseline = verdict.baseline.partition(",")[0]
    if failed:
        worst = min(failed, key=lambda row: (row.left or 0) / (row.limit or 1))
        now = find_size(worst, verdict)
        share = ""
        if worst.unit is Unit.BYTES:
            before = (now or 0) - (worst.used or 0)
            share = f"{(worst.used or 0) / before:+.1%}, " if before > 0 else ""
        allowed = worst.format(worst.limit or 0)
        return Tile(
            title=f"Change of {_name(worst)}",
            number=worst.format(worst.used or 0, "+"),
            of=f"{share}{allowed} allowed{_since(baseline)}",
            tone=str(CheckStatus.FAIL),
            target="growth",
        )
    known = [each for each in list_trimmed(verdict) if each[1].growth_bytes is not None]
    if not known:
        reason = verdict.baseline.removeprefix("none:").strip()
        return Tile(
            title="Change",
            number="not known",
            of=f"no baseline{': ' if reason else ''}{reason}",
            tone=str(CheckStatus.UNVERIFIED),
        )
    artifact, size = max(known, key=lambda each: abs(each[1].growth_bytes or 0))
    number, _, share = change_of(size).partition(" (")
    said = f"{share.removesuffix(')')} of {artifact}" if share else artifact
    return Tile(
        title="Change" if len(known) == 1 else "Largest change",
        number=number,
        of=f"{said}{_since(baseline)}",
        target="growth" if size.growth_bytes else "size",
    )


def _since(baseline: str) -> str:
    return f", since {baseline}" if baseline else ""


def _show_room(verdict: Verdict) -> Tile:
    of_sizes = [row for row in verdict.budgets if row.kind is CheckKind.SIZE]
    row = find_tightest(of_sizes) or find_tightest(verdict.budgets)
    if row is None:
        return Tile(title="Room left", number="no limit", of="no budget is set", tone="skipped")
    left = row.left or 0
    limit = row.format(row.limit or 0)
    tone = "unverified" if row.is_near else ""
    if _is_over(row):
        tone = "fail"
    share = f" ({percent(left / row.limit)})" if row.limit and left >= 0 else ""
    return Tile(
        title="Room left" if left >= 0 else "Over the limit",
        number=row.format(abs(left)),
        of=f"of {limit}{share}, {_name(row)}",
        tone=tone,
        target="budgets",
    )


def _show_size(trimmed: tuple[tuple[str, VariantSize], ...]) -> Tile:
    total = sum(size.size_bytes for _, size in trimmed)
    artifact, size = trimmed[0]
    of = f"{percent(size.share)} of plain, {artifact}"
    if len(trimmed) > 1:
        of = f"{count(len(trimmed), 'file')} together"
    return Tile(title="Size", number=format_bytes(total), of=of, target="size")


def _is_over(row: BudgetRow) -> bool:
    return row.status is CheckStatus.FAIL and row.is_exceeded


def _name(row: BudgetRow) -> str:
    measured = describe_measured(row)
    return f"{row.artifact}, {measured}" if measured else row.artifact


def find_next_step(verdict: Verdict) -> NextStep:
    findings = list_findings(verdict)
    if findings and findings[0].first.hint:
        first = findings[0].first
        return NextStep(text=first.hint, command=first.reproduce, label="To reproduce")
    if verdict.next:
        text, line = split_next(verdict.next)
        return NextStep(text=text, command=line)
    if findings:
        first = findings[0].first
        said = f"look at this: {first.text}"
        return NextStep(text=said, command=first.reproduce, label="To reproduce")
    merges = " before it is merged" if verdict.origin.pull_request else ""
    return NextStep(text=f"nothing to do{merges}")


def describe_finding(finding: Concern, verdict: Verdict) -> tuple[str, ...]:
    """Return what a card says of it: once what several checks saw."""
    if finding.is_of_sizes:
        rows = {row.check_id: row for row in verdict.budgets}
        return tuple(
            f"{_name(rows[check.id])}: {describe_limit(rows[check.id], verdict)}"
            if check.id in rows
            else check.text
            for check in finding.checks
        )
    return finding.texts


def find_growth_check(artifact: str, size: VariantSize, verdict: Verdict) -> BudgetRow | None:
    """Return the limit of a file's growth, if it has one."""
    subject = name_subject(artifact, size.variant, "")
    rows = (row for row in verdict.budgets if row.subject == subject)
    return next((row for row in rows if row.kind is CheckKind.GROWTH), None)
