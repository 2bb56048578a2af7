"""The verdicts of several toolchains as one comment: a row for each, and its own page folded away.

Pure. Pages that need a person come first; one that does not fit is in its run's artifact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from megtrim.checks.statuses import CHECK_SIGNS, VERDICT_SIGNS, VerdictKind
from megtrim.config.config_id import id_of
from megtrim.config.units import format_bytes
from megtrim.render.formatting import align_columns, group_digits, percent
from megtrim.render.markup import bounded_table, code, code_in_title, fold, one_line, prose
from megtrim.report.comment import LIMIT, describe_next_step
from megtrim.size.rows import VariantSize
from megtrim.util.value import Value
from megtrim.verdict.model import Verdict
from megtrim.verdict.wording import growth_of, list_trimmed, list_urgent

_NO_VERDICT = "❌ no verdict"
_WORST_FIRST = (
    VerdictKind.FAIL,
    None,
    VerdictKind.UNVERIFIED,
    VerdictKind.INCONCLUSIVE,
    VerdictKind.PASS,
)
_BEST = _WORST_FIRST.index(VerdictKind.PASS)
_HEAD = ("toolchain", "result", "artifact", "size>", "% of plain>", "change>", "to look at first")
_NOTE_ROOM = 500


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
    def sign(self) -> str:
        if self.verdict is None:
            return _NO_VERDICT
        return f"{VERDICT_SIGNS[self.verdict.verdict]} {self.verdict.verdict}"


def find_worst(reports: Sequence[ToolchainReport]) -> ToolchainReport:
    """Of equals, the first."""
    return min(reports, key=lambda each: each.rank)


def render(project: str, config: str, reports: Sequence[ToolchainReport]) -> str:
    """``config`` is the file with the toolchains."""
    worst = find_worst(reports)
    sign, _, word = worst.sign.partition(" ")
    of = f" ({code(config)})" if id_of(config) else ""
    among = f", the worst of {len(reports)} toolchains" if len(reports) > 1 else ""
    which = f": {code(worst.name)}{among}" if worst.rank < _BEST else ""
    title = f"## {sign} megtrim: {word} for {code(project)}{of}{which}"
    step = describe_next_step(worst.verdict) if worst.verdict is not None else ""
    parts = [title, *((step,) if step else ()), bounded_table(_HEAD, [*_rows(reports)], tuple)]
    room = LIMIT - _NOTE_ROOM - sum(len(part.encode()) + 2 for part in parts)
    left_out = []
    for each in sorted(reports, key=lambda each: each.rank):
        page = fold(f"{code_in_title(each.name)}: {each.sign}", each.page.strip())
        if len(page.encode()) + 2 > room:
            left_out.append(each.name)
            continue
        parts.append(page)
        room -= len(page.encode()) + 2
    if left_out:
        names = ", ".join(map(code, left_out[:10]))
        parts.append(f"*Left out, because a comment is bounded: {names}. Their reports have all.*")
    return "\n\n".join(parts) + "\n"


def _rows(reports: Sequence[ToolchainReport]) -> Iterator[tuple[str, ...]]:
    """What needs a person is in the first row of a toolchain."""
    for each in reports:
        sizes = list_trimmed(each.verdict) if each.verdict is not None else ()
        seen = _first_to_look_at(each.verdict)
        for number, (artifact, size) in enumerate(sizes):
            yield (
                *((code(each.name), each.sign) if number == 0 else ("", "")),
                *(code(artifact), format_bytes(size.size_bytes), percent(size.share)),
                *(_name_change(size, each.verdict), seen if number == 0 else ""),
            )
        if not sizes:
            yield (code(each.name), each.sign, "", "", "", "", seen)


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
            *(name, one_line(artifact), group_digits(size.size_bytes)),
            *(format_bytes(size.size_bytes), percent(size.share), growth_of(size) or "-", shown),
        )
    if not sizes:
        yield (name, *("-",) * 5, shown)
