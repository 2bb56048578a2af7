"""What a new keep set changes, for the person who reads the pull request that proposes it.

Pure: keep sets and a verdict in, Markdown out, never longer than GitHub takes. All names are
foreign text and stand in code, where they link and mention nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from megtrim.midout.keepset import KeepSet, ScenarioRecord, shrunken
from megtrim.midout.region import Region, order
from megtrim.report.markup import code, code_in_title, fold, prose, table
from megtrim.report.signs import VERDICT_SIGNS
from megtrim.verdict.model import Verdict

LONGEST_BODY = 60_000
_ROOM = {"rows": 20_000, "operators": 4_000, "regions": 25_000}
"""Characters that the parts may take of it; with the rest they stay below it."""
_MOST_ROWS = 100
_MOST_REGIONS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioChange:
    """One scenario in two keep sets; ``before`` or ``after`` is None where it is in one alone."""

    id: str
    before: int | None
    after: int | None
    """How many regions."""
    added: tuple[Region, ...] = ()
    lost: tuple[Region, ...] = ()
    shrunken: bool = False
    """Regions were lost though nothing that the scenario is bound to changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What the text of a pull request is made of."""

    path: str
    """Of the keep set, from the root of the repository."""
    branch: str
    previous: KeepSet | None
    """The committed one; None where there is none, or none that can be read."""
    current: KeepSet
    verdict: Verdict
    starts: str
    """How checks are started, one sentence or more of our own."""


def changes(previous: KeepSet | None, current: KeepSet) -> tuple[ScenarioChange, ...]:
    """Return the scenarios that differ, sorted."""
    before = {record.id: record for record in previous.scenarios} if previous else {}
    after = {record.id: record for record in current.scenarios}
    lost = {name for name, _ in shrunken(previous, current)} if previous else set()
    return tuple(
        _change(name, before.get(name), after.get(name), shrank=name in lost)
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def _change(
    name: str, old: ScenarioRecord | None, new: ScenarioRecord | None, *, shrank: bool
) -> ScenarioChange:
    had = {*old.regions} if old else set()
    has = {*new.regions} if new else set()
    return ScenarioChange(
        id=name,
        before=len(had) if old else None,
        after=len(has) if new else None,
        added=tuple(sorted(has - had, key=order)),
        lost=tuple(sorted(had - has, key=order)),
        shrunken=shrank,
    )


def body(proposal: Proposal) -> str:
    """Return the description of the pull request, at most ``LONGEST_BODY`` characters."""
    verdict = proposal.verdict
    found = changes(proposal.previous, proposal.current)
    whole = len(proposal.current.regions())
    before = "" if proposal.previous is None else f" (before: {len(proposal.previous.regions())})"
    parts = [
        f"The scenarios were traced again, and {code(proposal.path)} is not what was committed.",
        f"{VERDICT_SIGNS[verdict.verdict]} **{verdict.verdict}**: {prose(verdict.headline)}",
        f"Regions that are kept: {whole}{before}.",
        _overview(found),
        *_operators(proposal),
        *_lists(found),
        f"**Checks.** {proposal.starts}",
        f"Branch {code(proposal.branch)} is written anew by each refresh: push no commit to it.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _overview(found: tuple[ScenarioChange, ...]) -> str:
    if not found:
        return "No scenario needs other regions than before."
    rows = [
        (
            code(change.id) + (" ⚠️" if change.shrunken else ""),
            _count(change.before),
            _count(change.after),
            f"+{len(change.added)}",
            f"-{len(change.lost)}",
        )
        for change in found[:_MOST_ROWS]
    ]
    shown = _fitting([" | ".join(row) for row in rows], _ROOM["rows"])
    head = ("scenario", "regions before>", "now>", "added>", "lost>")
    text = table(head, rows[: len(shown)])
    if len(found) > len(shown):
        text += f"\n\n… and {len(found) - len(shown)} scenarios more."
    if any(change.shrunken for change in found):
        text += (
            "\n\n⚠️ lost regions though model, arguments, inputs and threads are the same: "
            "was the run that was traced a whole one?"
        )
    return text


def _count(regions: int | None) -> str:
    return "none" if regions is None else str(regions)


def _operators(proposal: Proposal) -> Iterator[str]:
    previous, current = proposal.previous, proposal.current
    if previous is None or previous.operators is None or current.operators is None:
        return
    old = {name for name, _ in previous.operators.operators}
    new = {name for name, _ in current.operators.operators}
    for word, names in (("added", new - old), ("lost", old - new)):
        if names:
            shown = _fitting([code(name) for name in sorted(names)], _ROOM["operators"])
            hidden = len(names) - len(shown)
            more = f" and {hidden} more" if hidden else ""
            yield f"Operators {word}: {', '.join(shown)}{more}."


def _lists(found: tuple[ScenarioChange, ...]) -> Iterator[str]:
    """Yield each scenario's regions, folded, as long as there is room for them."""
    folded = []
    for change in found:
        lines = [*_names("added", change.added), *_names("lost", change.lost)]
        if lines:
            folded.append(fold(f"{code_in_title(change.id)}: regions", "\n".join(lines)))
    shown = _fitting(folded, _ROOM["regions"])
    yield from shown
    if len(folded) > len(shown):
        yield f"The regions of {len(folded) - len(shown)} scenarios more are in the diff."


def _fitting(texts: list[str], room: int) -> list[str]:
    """Return the first ``texts`` that fit."""
    ends = accumulate(len(text) for text in texts)
    return [text for text, end in zip(texts, ends, strict=True) if end <= room]


def _names(word: str, regions: tuple[Region, ...]) -> Iterator[str]:
    for region in regions[:_MOST_REGIONS]:
        yield f"- {word} {code(str(region))}"
    if len(regions) > _MOST_REGIONS:
        yield f"- … and {len(regions) - _MOST_REGIONS} more {word}"
