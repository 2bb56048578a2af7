"""The verdict as Markdown that fits a job summary or a comment on a pull request.

Pure. Parts come in the order of their importance; what does not fit is left out whole and said so.
Names, texts and logs are foreign: :mod:`megtrim.report.markup` writes every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from megtrim.config.units import format_bytes, format_growth
from megtrim.report.markup import block, code, fold, prose, table
from megtrim.report.text import one_line
from megtrim.report.words import (
    MEANINGS,
    SCENARIO_STATUSES,
    budget_of,
    grouped,
    percent,
    regions_of,
    seconds,
    to_look_at,
)
from megtrim.verdict.kinds import BudgetStatus, CheckStatus, VerdictKind
from megtrim.verdict.model import ArtifactSizes, Check, OperatorUse, Verdict

LIMIT = 60_000
"""Characters; a comment may have 65,536, a job summary 1 MiB."""

_MOST_ROWS = 100
_MOST_CHECKS = 10
_MOST_DETAIL = 2_000
_LEFT_OUT_ROOM = 200

_VERDICT_SIGNS = {
    VerdictKind.PASS: "✅",
    VerdictKind.FAIL: "❌",
    VerdictKind.UNVERIFIED: "⚠️",
    VerdictKind.INCONCLUSIVE: "❔",
}
_CHECK_SIGNS = {
    CheckStatus.PASS: "✅ pass",
    CheckStatus.FAIL: "❌ fail",
    CheckStatus.INFRASTRUCTURE: "⚠️ infrastructure",
    CheckStatus.UNVERIFIED: "⚠️ unverified",
    CheckStatus.INCONCLUSIVE: "❔ inconclusive",
    CheckStatus.SKIPPED: "◽ skipped",
}
_BUDGET_SIGNS = {
    BudgetStatus.PASS: _CHECK_SIGNS[CheckStatus.PASS],
    BudgetStatus.FAIL: _CHECK_SIGNS[CheckStatus.FAIL],
    BudgetStatus.SKIPPED: _CHECK_SIGNS[CheckStatus.SKIPPED],
}


def render(verdict: Verdict) -> str:
    """Return the page, of at most ``LIMIT`` characters."""
    parts: list[str] = []
    room = LIMIT - _LEFT_OUT_ROOM
    left_out = 0
    for part in _parts(verdict):
        if len(part) + 2 <= room:
            parts.append(part)
            room -= len(part) + 2
        else:
            left_out += 1
    if left_out:
        noun = "part of this page does" if left_out == 1 else "parts of this page do"
        parts.append(f"*{left_out} {noun} not fit here; the HTML report has all.*")
    return "\n\n".join(parts) + "\n"


def _parts(verdict: Verdict) -> Iterator[str]:
    sign, project = _VERDICT_SIGNS[verdict.verdict], code(verdict.project)
    yield f"## {sign} megtrim: {verdict.verdict} for {project}"
    yield f"**{prose(verdict.headline)}**\n\n{MEANINGS[verdict.verdict]}"
    for artifact in verdict.artifacts:
        yield _sizes(artifact, verdict)
    attention = to_look_at(verdict)
    for check in attention[:_MOST_CHECKS]:
        yield _check(check)
    if attention[_MOST_CHECKS:]:
        yield _further(attention[_MOST_CHECKS:])
    if verdict.warnings:
        yield "### Warnings\n\n" + "\n".join(f"- {prose(text)}" for text in verdict.warnings)
    if verdict.scenarios:
        yield _scenarios(verdict)
    if verdict.budgets:
        yield _budgets(verdict)
    yield _kept(verdict)
    yield _identity(verdict)


def _sizes(artifact: ArtifactSizes, verdict: Verdict) -> str:
    rows = []
    for size in artifact.sizes:
        row = budget_of(verdict, artifact.name, size.variant)
        growth = row.growth_bytes if row else None
        rows.append(
            (
                code(size.variant),
                grouped(size.size_bytes),
                format_bytes(size.size_bytes),
                percent(size.share),
                "" if growth is None else format_growth(growth),
                regions_of(size, verdict),
            )
        )
    head = ("variant", "bytes>", "size>", "% of plain>", "growth>", "regions kept>")
    return f"### {code(artifact.name)}\n\n{table(head, rows)}"


def _check(check: Check) -> str:
    lines = [f"### {_CHECK_SIGNS[check.status]}: {code(check.id)}", prose(check.text)]
    if check.hint:
        lines.append(f"What to do: {prose(check.hint)}")
    if check.reproduce:
        lines.append("To see it again:\n\n" + block(one_line(check.reproduce, limit=_MOST_DETAIL)))
    if check.detail:
        lines.append(fold("Details", block(check.detail, limit=_MOST_DETAIL)))
    return "\n\n".join(lines)


def _further(checks: Sequence[Check]) -> str:
    rows = [(_CHECK_SIGNS[check.status], code(check.id), prose(check.text)) for check in checks]
    return f"### Further checks to look at\n\n{_bounded(('result', 'check', 'seen'), rows)}"


def _scenarios(verdict: Verdict) -> str:
    rows = [
        (
            code(scenario.id),
            _CHECK_SIGNS[SCENARIO_STATUSES[scenario.status]],
            prose(scenario.text),
            code(scenario.device),
            grouped(scenario.regions),
            seconds(scenario.time_s),
        )
        for scenario in verdict.scenarios
    ]
    head = ("scenario", "result", "what was seen", "device", "regions>", "time>")
    return f"### Scenarios\n\n{_bounded(head, rows)}"


def _budgets(verdict: Verdict) -> str:
    rows = []
    for row in verdict.budgets:
        limit = row.max_bytes
        growth, growth_max = row.growth_bytes, row.growth_max_bytes
        rows.append(
            (
                f"{code(row.artifact)} {code(row.variant)}",
                format_bytes(row.size_bytes),
                "" if limit is None else format_bytes(limit),
                "" if limit is None else format_bytes(limit - row.size_bytes),
                _growth(growth, growth_max),
                "" if growth_max is None else format_bytes(growth_max),
                _BUDGET_SIGNS[row.status]
                + (f", waived: {prose(row.waiver)}" if row.waiver else ""),
            )
        )
    head = ("artifact", "size>", "budget>", "left>", "growth>", "allowed>", "result")
    return f"### Budgets\n\n{_bounded(head, rows)}"


def _growth(growth: int | None, allowed: int | None) -> str:
    if growth is None:
        return "" if allowed is None else "no baseline"
    return format_growth(growth)


def _kept(verdict: Verdict) -> str:
    regions, operators = verdict.regions, verdict.operators
    tags = sorted(regions.by_tag, key=lambda use: (-use.kept, use.tag))
    rows = [(code(use.tag), grouped(use.kept), grouped(use.held)) for use in tags]
    parts = [
        _bounded(("tag", "kept>", "held>"), rows)
        if regions.kept
        else "No region was chosen by a trace."
    ]
    for name, uses in (
        ("Operators", operators.kept),
        ("Data types", operators.dtypes),
        ("Elementwise modes", operators.elemwise_modes),
    ):
        parts.append(f"**{name}:** {_names(uses)}")
    count = f": {grouped(regions.kept)} of {grouped(regions.held)} regions" if regions.kept else ""
    return fold(f"What was kept{count}", "\n\n".join(parts))


def _names(uses: tuple[OperatorUse, ...]) -> str:
    shown = ", ".join(code(use.name) for use in uses[:_MOST_ROWS])
    more = len(uses) - _MOST_ROWS
    return (shown or "all") + (f" and {more} more" if more > 0 else "")


def _identity(verdict: Verdict) -> str:
    engine, toolchain, trim = verdict.engine, verdict.toolchain, verdict.trim
    dirty = f", {len(engine.dirty)} changed files" if engine.dirty else ""
    rows = [
        ("engine", f"{code(engine.kind)} {code(engine.commit or engine.digest)}{dirty}"),
        ("header generation", str(engine.generation)),
        ("toolchain", f"{code(toolchain.kind)} {code(toolchain.target)} {code(toolchain.version)}"),
        ("trim", code(f"level {trim.level}, layout {trim.layout}, optimize {trim.optimize}")),
        ("minimum size", "yes" if trim.minimum_size else "no"),
    ]
    for device in verdict.devices:
        facts = ", ".join(code(f"{name}: {value}") for name, value in sorted(device.facts.items()))
        rows.append(("device", f"{code(device.name)} ({code(device.kind)}) {facts}"))
    return fold("Engine, toolchain and devices", _bounded(("", ""), rows))


def _bounded(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    more = len(rows) - _MOST_ROWS
    note = f"\n\n*{more} more in the HTML report.*" if more > 0 else ""
    return table(head, rows[:_MOST_ROWS]) + note
