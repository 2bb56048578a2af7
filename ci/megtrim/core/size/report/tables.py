"""Sizes in words, for all reports, and as tables for the comment. Pure."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from megtrim.core.checks.statuses import CHECK_SIGNS, CheckKind, CheckStatus
from megtrim.core.config.units import Measure, format_bytes, format_growth
from megtrim.core.size.byte_table import LabelChange, list_largest
from megtrim.core.size.growth.arrivals import Arrivals, NewPart, NewUse, PriceBasis
from megtrim.core.size.growth.causes import Cause, count_kinds, name_kind
from megtrim.core.size.prices import PriceChange
from megtrim.core.size.rows import BudgetRow, VariantSize
from megtrim.core.trim.results import TrimChoice
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    MeasuredSizes,
    change_of,
    growth_of,
    has_kernels,
    list_trimmed,
    name_variant,
)
from megtrim.libs.render.formatting import group_digits, percent
from megtrim.libs.render.markup import bounded_table, code, code_in_title, fold, one_line, prose

_MOST_ARTIFACTS = 10
_MOST_NAMED = 3


class Marks(NamedTuple):
    """How a form of the report writes a name, an amount and a sentence."""

    code: Callable[[str], str] = one_line
    strong: Callable[[str], str] = str
    prose: Callable[[str], str] = one_line


PLAIN = Marks()
MARKDOWN = Marks(code=code, strong="**{}**".format, prose=prose)


def name_baseline(verdict: Verdict) -> str:
    which, _, more = one_line(verdict.baseline).partition(", ")
    if not which:
        return "no baseline, so growth is not known"
    if which.startswith("none:"):
        reason = f"{which.removeprefix('none:').strip()}{', ' if more else ''}{more}"
        return f"no baseline, so growth is not known: {prose(reason)}"
    details = f" ({prose(more)})" if more else ""
    return f"against {prose(which)}{details}"


def _find_limits(verdict: Verdict, artifact: str, variant: str) -> dict[CheckKind, BudgetRow]:
    key = (artifact, variant, "")
    rows = (row for row in verdict.budgets if (row.artifact, row.variant, row.measure) == key)
    return {row.kind: row for row in rows}


def _find_worst(rows: Iterable[BudgetRow]) -> CheckStatus:
    statuses = {row.status for row in rows}
    order = (CheckStatus.FAIL, CheckStatus.PASS)
    return next((status for status in order if status in statuses), CheckStatus.SKIPPED)


_FORMS = {
    Measure.DEFLATED: "{} to download (deflated)",
    Measure.UNSTRIPPED: "{} with symbols",
    Measure.AAR: "{} as AAR",
    Measure.REST: "{} in its companion file",
    Measure.DOWNLOAD: "{} to download both",
}


def describe_forms(size: VariantSize) -> str:
    """Say what the file weighs otherwise, in plain words; empty if that was not measured."""
    known = ((text, size.forms.get(form)) for form, text in _FORMS.items())
    said = [text.format(format_bytes(size_bytes)) for text, size_bytes in known if size_bytes]
    return f"{', '.join(said)}." if said else ""


def name_components(size: VariantSize, marks: Marks = PLAIN) -> str:
    """Empty if that is not known."""
    shown = list_largest(size.components, _MOST_NAMED)
    said = (
        f"{marks.code(each.label)} {format_growth(each.growth)}" for each in shown[:_MOST_NAMED]
    )
    others = (f"all others {format_growth(each.growth)}" for each in shown[_MOST_NAMED:])
    return f"By component: {', '.join((*said, *others))}." if shown else ""


def explain(
    found: MeasuredSizes, trim: TrimChoice, *, committed: bool, kernels: bool = True
) -> Iterator[str]:
    """Say in lines of plain text what the trimmed files are compared with, and why they grew."""
    if not found.baseline:
        return
    yield f"baseline: {one_line(found.baseline)}"
    trimmed = list_trimmed(found)
    for name, size in trimmed:
        if size.growth_bytes is None:
            continue
        change = growth_of(size) if size.growth_bytes else "no change"
        variant = name_variant(size.variant, trim)
        yield f"{one_line(name)} {variant}: {format_bytes(size.size_bytes)}, {change}"
        reasons = (
            explain_growth(size, found.causes, committed=committed, kernels=kernels),
            name_components(size),
            *describe_uses(size, ""),
        )
        yield from (f"  {reason}" for reason in reasons if reason)
    yield from (f"  {note}" for note in list_notes(found, kernels=kernels))


def changes(verdict: Verdict) -> Iterator[str]:
    for artifact in verdict.artifacts:
        for size in artifact.sizes:
            if size.symbols:
                variant = name_variant(size.variant, verdict.trim)
                name = f"{code_in_title(artifact.name)} {code_in_title(variant)}"
                head = ("component", "what", "before>", "now>", "change>")
                rows = bounded_table(head, size.symbols, _draw_change)
                yield fold(f"What changed in {name}: {growth_of(size)}", rows)


def _draw_change(change: LabelChange) -> tuple[str, ...]:
    return (
        code(change.component),
        code(change.label),
        group_digits(change.before),
        group_digits(change.after),
        f"{change.growth:+,}",
    )


def table(verdict: Verdict) -> str:
    """Return a row for each trimmed file, what decides first; below it what it weighs otherwise."""
    trimmed = list_trimmed(verdict)
    if not trimmed:
        return ""
    rows = [_list_cells(size, artifact, verdict) for artifact, size in trimmed]
    head = ("artifact", "result", "change>", "budget left>", "size>", "of plain>")
    parts = [bounded_table(head, rows, tuple)]
    for artifact, size in trimmed[:_MOST_ARTIFACTS]:
        if forms := describe_forms(size):
            parts.append(f"{code(artifact)}: {forms}" if len(trimmed) > 1 else forms)
    return "\n\n".join(parts)


def _list_cells(size: VariantSize, artifact: str, verdict: Verdict) -> tuple[str, ...]:
    limits = _find_limits(verdict, artifact, size.variant)
    growth = limits.get(CheckKind.GROWTH)
    whole = limits.get(CheckKind.SIZE)
    name = code(artifact)
    variant = name_variant(size.variant, verdict.trim)
    if variant != size.variant:
        name += f" {code(variant)}"
    change = change_of(size) or "no baseline"
    if growth is not None and growth.limit is not None:
        change += f", {growth.format(growth.limit)} allowed"
    left = ""
    if whole is not None and whole.left is not None:
        left = f"{whole.format(whole.left)} of {whole.format(whole.limit or 0)}"
    result = ""
    if limits:
        waived = dict.fromkeys(row.waiver for row in limits.values() if row.waiver)
        result = CHECK_SIGNS[_find_worst(limits.values())]
        result += f", waived: {prose('; '.join(waived))}" if waived else ""
    shown = format_bytes(size.size_bytes)
    return name, result, change, left, shown, percent(size.share)


def fold_builds(verdict: Verdict) -> str:
    """Fold the sizes of all builds to the byte."""
    head = ("artifact", "build", "bytes>", "size>", "% of plain>", "change>")
    rows = [
        (
            code(artifact.name),
            code(name_variant(size.variant, verdict.trim)),
            group_digits(size.size_bytes),
            format_bytes(size.size_bytes),
            percent(size.share),
            growth_of(size),
        )
        for artifact in verdict.artifacts
        for size in artifact.sizes
    ]
    return fold("Sizes of all builds", bounded_table(head, rows, tuple))


def explain_growth(
    size: VariantSize, causes: Sequence[Cause], *, committed: bool, kernels: bool = True
) -> str:
    """Return the line that names the causes; empty if there is nothing to say.

    Without ``kernels``, what runs is no model.
    """
    names = name_causes(size, causes, kernels=kernels)
    if not names:
        return ""
    noun = "Cause" if len(causes) == 1 else "Causes"
    follows = not committed or Cause.MODELS in causes
    left_out = (*causes, Cause.KEEP_SET) if follows else causes
    same = [_SAME.get(c, name_cause(c, kernels)) for c in Cause if c not in left_out]
    unchanged = f" The baseline was built from the same {_join(same)}." if same else ""
    return f"{noun}: {names}.{unchanged}"


_SCENARIOS = "scenarios"
_SAME = {Cause.KEEP_SET: "committed keep set", Cause.MEGTRIM: "megtrim version"}


def name_cause(cause: str, kernels: bool) -> str:
    return _SCENARIOS if cause == Cause.MODELS and not kernels else str(cause)


def _join(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def name_causes(size: VariantSize, causes: Sequence[Cause], *, kernels: bool = True) -> str:
    """Empty if nothing grew or nothing is known to differ."""
    if not size.growth_bytes or not causes:
        return ""
    together = " together" if len(causes) > 1 else ""
    names = [name_cause(cause, kernels) for cause in causes]
    return f"{_join(names)} {format_growth(size.growth_bytes)}{together}"


def explain_changes(verdict: Verdict) -> str:
    """Say why the trimmed files changed, and in which components; empty if none did."""
    kernels = has_kernels(verdict)
    changed = [(name, size) for name, size in list_trimmed(verdict) if size.growth_bytes]
    notes = [f"- {line}" for line in list_notes(verdict, MARKDOWN, kernels=kernels)]
    lines = []
    if changed and verdict.causes and not notes:
        lines.append(f"Why: {_join([name_cause(cause, kernels) for cause in verdict.causes])}.")
    for artifact, size in changed[:_MOST_ARTIFACTS]:
        if components := name_components(size, MARKDOWN):
            of = f"{code(artifact)}: " if len(changed) > 1 else ""
            lines.append(f"{of}{components}")
    return "\n\n".join(part for part in ("\\\n".join(lines), "\n".join(notes)) if part)


def list_notes(
    found: MeasuredSizes, marks: Marks = PLAIN, *, kernels: bool = True
) -> Iterator[str]:
    growth = [size.growth_bytes for _, size in list_trimmed(found) if size.growth_bytes]
    alone = f" {format_growth(sum(growth))}" if len(found.notes) == 1 else ""
    advised = sum(growth) > 0 or not alone
    for note in found.notes if growth else ():
        advice = f" {note.advice[:1].upper()}{note.advice[1:]}." if advised else ""
        seen = marks.prose(f"{note.seen}.{advice}")
        yield f"{marks.strong(name_cause(note.cause, kernels))}{alone}: {seen}"


_MOST_USES = 20


def list_prices(verdict: Verdict) -> Iterator[str]:
    trimmed = list_trimmed(verdict)
    lines = [
        f"- {line}"
        for name, size in trimmed
        for line in describe_uses(size, name if len(trimmed) > 1 else "", MARKDOWN)
    ]
    if lines:
        yield "\n".join(("### Price of what came in", "", *lines))
    for name, size in trimmed:
        if size.arrivals.parts:
            yield _fold_parts(name, size.arrivals)
        if size.price_changes:
            yield _fold_changes(name, size)


def describe_uses(size: VariantSize, artifact: str, marks: Marks = PLAIN) -> Iterator[str]:
    """Price what came in. ``artifact``: empty where there is one only."""
    arrivals = size.arrivals
    where = f" in {marks.code(artifact)}" if artifact else ""
    setting = marks.code("trim: {prices: true}")
    ask = f"{setting} in the configuration shows it, which takes a few more links"
    if arrivals.together_bytes is not None:
        names = ", ".join(marks.code(use.name) for use in arrivals.uses[:_MOST_USES])
        more = len(arrivals.uses) - _MOST_USES
        others = f" and {group_digits(more)} more" if more > 0 else ""
        yield (
            f"{names}{others}: {marks.strong(format_growth(arrivals.together_bytes))} "
            f"together{where}, exactly: nothing else differs from the baseline."
        )
    for use in arrivals.uses[:_MOST_USES]:
        if use.basis is not PriceBasis.UNKNOWN or arrivals.together_bytes is None:
            yield f"{use.kind} {marks.code(use.name)}: {_describe_price(use, where, ask, marks)}"
    if arrivals.together_bytes is not None and all(
        use.basis is PriceBasis.UNKNOWN for use in arrivals.uses
    ):
        yield f"The price of each: {ask}."


def _describe_price(use: NewUse, where: str, ask: str, marks: Marks) -> str:
    if use.margin_bytes is None:
        return f"its price{where} is not known by itself, as other causes differ. {ask}."
    alone = (
        f" A program for it alone would have {format_bytes(use.alone_bytes)}."
        if use.alone_bytes is not None
        else ""
    )
    if use.basis is PriceBasis.BUILT:
        grown = marks.strong(format_growth(use.margin_bytes))
        why = "nothing else differs from the baseline"
        if not use.margin_bytes:
            why = "all that it needs was kept before"
        return f"{grown}{where}, exactly: {why}.{alone}"
    least = use.basis is PriceBasis.LEAST
    size = format_bytes(max(use.margin_bytes, 0))
    regions = ""
    if least:
        size = f"at least {size}"
        regions = " Regions have no price here."
    return f"{marks.strong(size)}{where} would go if it left (attributed).{regions}{alone}"


def count_parts(arrivals: Arrivals) -> str:
    counts: Counter[str] = Counter()
    for each in arrivals.parts:
        counts[each.kind] += each.count
    others = f" and {group_digits(arrivals.other_parts)} more rows" if arrivals.other_parts else ""
    return count_kinds(counts) + others


def name_part(part: NewPart) -> str:
    return count_kinds({part.kind: part.count}) if part.count > 1 else name_kind(part.kind)


def _fold_parts(artifact: str, arrivals: Arrivals) -> str:
    head: tuple[str, ...] = ("what", "which", "for")
    if any(part.size_bytes is not None for part in arrivals.parts):
        head = (*head, "bytes>")
    rows = bounded_table(head, arrivals.parts, lambda each: _draw_part(each)[: len(head)])
    return fold(f"New in {code_in_title(artifact)}: {count_parts(arrivals)}", rows)


def _draw_part(part: NewPart) -> Sequence[str]:
    size = "" if part.size_bytes is None else group_digits(part.size_bytes)
    return name_part(part), code(part.name), ", ".join(map(code, part.models)), size


def _fold_changes(artifact: str, size: VariantSize) -> str:
    of_commands = all("@" in change.model for change in size.price_changes)
    noun = "scenario" if of_commands else "model"
    head = (noun, "before>", "now>", "change>")
    rows = bounded_table(head, size.price_changes, _draw_price_change)
    count = count_kinds({noun: len(size.price_changes)})
    return fold(f"{count} cost another price in {code_in_title(artifact)}", rows)


def _draw_price_change(change: PriceChange) -> tuple[str, ...]:
    return (
        code(change.model),
        group_digits(change.before),
        group_digits(change.after),
        f"{change.growth:+,}",
    )
