"""Several toolchains in one comment or table: a row for each, and the worst on top. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from megtrim.core.checks.statuses import CHECK_SIGNS, VERDICT_SIGNS, CheckKind, VerdictKind
from megtrim.core.config.config_id import id_of
from megtrim.core.config.units import format_bytes
from megtrim.core.report.comment import describe_next_step, fit
from megtrim.core.size.rows import VariantSize
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import growth_of, list_trimmed, list_urgent
from megtrim.libs.render.formatting import align_columns, group_digits, percent
from megtrim.libs.render.markup import bounded_table, code, code_in_title, fold, one_line, prose
from megtrim.libs.util.value import Value

_NO_VERDICT = "❌ no verdict"
_WORST_FIRST = (
    VerdictKind.FAIL,
    None,
    VerdictKind.UNVERIFIED,
    VerdictKind.INCONCLUSIVE,
    VerdictKind.PASS,
)
_KINDS = tuple(CheckKind)
_BEST = _WORST_FIRST.index(VerdictKind.PASS)
_HEAD = ("toolchain", "result", "artifact", "size>", "% of plain>", "change>", "to look at first")


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
    def severity(self) -> tuple[int, int]:
        """A program that traps is worse than one that grew: checks are in order of their kinds."""
        urgent = list_urgent(self.verdict) if self.verdict is not None else ()
        return self.rank, _KINDS.index(urgent[0].kind) if urgent else len(_KINDS)

    @property
    def sign(self) -> str:
        if self.verdict is None:
            return _NO_VERDICT
        return f"{VERDICT_SIGNS[self.verdict.verdict]} {self.verdict.verdict}"


def find_worst(reports: Sequence[ToolchainReport]) -> ToolchainReport:
    return min(reports, key=lambda each: each.severity)


def render_joint(project: str, config: str, reports: Sequence[ToolchainReport]) -> str:
    worst = find_worst(reports)
    sign, _, word = worst.sign.partition(" ")
    of = f" ({code(config)})" if id_of(config) else ""
    among = f", the worst of {len(reports)} toolchains" if len(reports) > 1 else ""
    which = f": {code(worst.name)}{among}" if worst.rank < _BEST else ""
    title = f"## {sign} megtrim: {word} for {code(project)}{of}{which}"
    step = describe_next_step(worst.verdict) if worst.verdict is not None else ""
    parts = [title, step] if step else [title]
    parts.append(bounded_table(_HEAD, list(_rows(reports)), tuple))
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


def _rows(reports: Sequence[ToolchainReport]) -> Iterator[tuple[str, ...]]:
    for report in reports:
        sizes = list_trimmed(report.verdict) if report.verdict is not None else ()
        seen = _first_to_look_at(report.verdict)
        name = code(report.name)
        sign = report.sign
        for artifact, size in sizes:
            bytes_text = format_bytes(size.size_bytes)
            change = _name_change(size, report.verdict)
            yield (name, sign, code(artifact), bytes_text, percent(size.share), change, seen)
            # Only the first row of a toolchain says which it is.
            name = ""
            sign = ""
            seen = ""
        if not sizes:
            yield (name, sign, "", "", "", "", seen)


def _name_change(size: VariantSize, verdict: Verdict | None) -> str:
    causes = verdict.causes if verdict is not None and size.growth_bytes else ()
    why = f" ({', '.join(causes)})" if causes else ""
    return growth_of(size) + why


def _first_to_look_at(verdict: Verdict | None) -> str:
    if verdict is None:
        return "its page below says why"
    urgent = list_urgent(verdict)
    if not urgent:
        return ""
    return f"{CHECK_SIGNS[urgent[0].status]}: {code(urgent[0].id)}: {prose(urgent[0].text)}"


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
