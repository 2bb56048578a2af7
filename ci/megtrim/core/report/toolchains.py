"""Several toolchains in one comment or table: a row for each, and the worst on top. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from megtrim.core.checks.statuses import VERDICT_SIGNS, CheckKind, VerdictKind
from megtrim.core.config.config_id import id_of
from megtrim.core.config.units import format_bytes
from megtrim.core.report.comment import describe_finding, fit
from megtrim.core.report.findings import MOST_OF_OUTCOME, describe_briefly, list_findings
from megtrim.core.size.rows import VariantSize
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import change_of, growth_of, list_trimmed, list_urgent
from megtrim.libs.render.formatting import align_columns, group_digits, percent
from megtrim.libs.render.markup import bounded_table, code, code_in_title, fold, one_line, prose
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count, cut, shorten

_LONGEST_NAME = 24
_NO_VERDICT = "❌ no verdict"
_WORST_FIRST = (
    VerdictKind.FAIL,
    None,
    VerdictKind.UNVERIFIED,
    VerdictKind.INCONCLUSIVE,
    VerdictKind.PASS,
)
_KINDS = tuple(CheckKind)
_HEAD = ("toolchain", "result", "seen", "change>", "size>", "of plain>", "artifact")
_NO_VERDICT_SEEN = "it ended before a verdict: its page below says why"


class ToolchainReport(Value):
    name: str
    verdict: Verdict | None
    """None: it ended before one."""
    page: str
    """Its own comment, trusted Markdown."""

    @property
    def rank(self) -> int:
        return _WORST_FIRST.index(None if self.verdict is None else self.verdict.verdict)

    @property
    def severity(self) -> tuple[int, int, int]:
        """A program that traps is worse than one that grew: checks are in order of their kinds."""
        urgent = list_urgent(self.verdict) if self.verdict is not None else ()
        if not urgent:
            return self.rank, len(_KINDS), 0
        kind = min(urgent, key=lambda check: _KINDS.index(check.kind)).kind
        same = sum(check.kind is kind for check in urgent)
        return self.rank, _KINDS.index(kind), -same

    @property
    def sign(self) -> str:
        if self.verdict is None:
            return _NO_VERDICT
        return f"{VERDICT_SIGNS[self.verdict.verdict]} {self.verdict.verdict}"

    @property
    def seen(self) -> str:
        return _NO_VERDICT_SEEN if self.verdict is None else describe_briefly(self.verdict)


def find_worst(reports: Sequence[ToolchainReport]) -> ToolchainReport:
    return min(reports, key=lambda each: each.severity)


def render_joint(project: str, config: str, reports: Sequence[ToolchainReport]) -> str:
    worst = find_worst(reports)
    of = f" ({code(config)})" if id_of(config) else ""
    word = worst.sign.partition(" ")[2]
    parts = [f"## {_describe_all(reports)}", f"megtrim: {word} for {code(project)}{of}"]
    rows = list(_rows(reports))
    artifacts = {row[-1] for row in rows}
    columns = len(_HEAD) if len(artifacts) > 1 else len(_HEAD) - 1
    parts.append(bounded_table(_HEAD[:columns], rows, lambda row: row[:columns]))
    if worst.verdict is not None and (findings := list_findings(worst.verdict)):
        parts.append(f"{code(worst.name)}: {describe_finding(findings[0], worst.verdict)}")
    pages = (
        (each.name, fold(f"{code_in_title(each.name)}: {each.sign}", each.page.strip()))
        for each in sorted(reports, key=lambda each: each.severity)
    )
    shown, left_out = fit(pages, others=parts)
    parts += shown
    if left_out:
        names = ", ".join(map(code, [*left_out][:10]))
        parts.append(f"*Left out, because a comment is bounded: {names}. Their reports have all.*")
    return "\n\n".join(parts) + "\n"


_ENDED: Mapping[VerdictKind | None, tuple[str, str]] = {
    VerdictKind.FAIL: ("fails", "fail"),
    None: ("has no verdict", "have no verdict"),
    VerdictKind.UNVERIFIED: ("is unverified", "are unverified"),
    VerdictKind.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    VerdictKind.PASS: ("passes", "pass"),
}


def _describe_all(reports: Sequence[ToolchainReport]) -> str:
    """Return the heading: how many end as the worst does, which is worst, and by what."""
    worst = find_worst(reports)
    kind = None if worst.verdict is None else worst.verdict.verdict
    same = sum(each.rank == worst.rank for each in reports)
    one, several = _ENDED[kind]
    verb = one if same == 1 else several
    sign = worst.sign.partition(" ")[0]
    text = f"{sign} {same} of {count(len(reports), 'toolchain')} {verb}"
    if worst.verdict is None:
        return f"{text}: {code(shorten(worst.name, _LONGEST_NAME, _LONGEST_NAME // 2))}"
    seen = worst.seen
    if kind is VerdictKind.PASS:
        worst, seen = _find_largest_change(reports)
        if not seen:
            return text
    name = shorten(one_line(worst.name), _LONGEST_NAME, _LONGEST_NAME // 2)
    most = MOST_OF_OUTCOME - len(f"{text}: {name}: ")
    return f"{text}: {code(name)}: {prose(cut(one_line(seen), most))}"


def _find_largest_change(reports: Sequence[ToolchainReport]) -> tuple[ToolchainReport, str]:
    """Return the report with the largest growth, and that growth; empty: none is known."""
    grown = [
        (size.growth_bytes, number, change_of(size))
        for number, report in enumerate(reports)
        for _, size in (list_trimmed(report.verdict) if report.verdict is not None else ())
        if size.growth_bytes is not None
    ]
    if not grown:
        return reports[0], ""
    _, number, change = max(grown)
    return reports[number], change


def _rows(reports: Sequence[ToolchainReport]) -> Iterator[tuple[str, ...]]:
    for report in reports:
        sizes = list_trimmed(report.verdict) if report.verdict is not None else ()
        first = (code(report.name), report.sign, prose(report.seen))
        for artifact, size in sizes:
            shown = format_bytes(size.size_bytes)
            yield (
                *first,
                _name_change(size, report.verdict),
                shown,
                percent(size.share),
                code(artifact),
            )
            # Only the first row of a toolchain says which it is.
            first = ("", "", "")
        if not sizes:
            yield (*first, "", "", "", "")


def _name_change(size: VariantSize, verdict: Verdict | None) -> str:
    causes = verdict.causes if verdict is not None and size.growth_bytes else ()
    why = f": {', '.join(causes)}" if causes else ""
    return f"{change_of(size)}{why}"


_TABLE_HEAD = ("toolchain", "artifact", "bytes", "size", "% of plain", "growth", "verdict")
_WORDS = ("toolchain", "artifact", "verdict")
NO_VERDICT = "none"


def render_table(verdicts: Mapping[str, Verdict | None]) -> str:
    """None stands for a run that ended before a verdict."""
    rows = [row for name, verdict in verdicts.items() for row in _table_rows(name, verdict)]
    return "\n".join(align_columns(_TABLE_HEAD, rows, _WORDS)) + "\n"


def _table_rows(name: str, verdict: Verdict | None) -> Iterator[tuple[str, ...]]:
    shown = NO_VERDICT if verdict is None else str(verdict.verdict)
    sizes = () if verdict is None else list_trimmed(verdict)
    for artifact, size in sizes:
        yield (
            name,
            one_line(artifact),
            group_digits(size.size_bytes),
            format_bytes(size.size_bytes),
            percent(size.share),
            growth_of(size) or "-",
            shown,
        )
    if not sizes:
        yield (name, *("-",) * 5, shown)
