"""What a new keep set changes, as the description of the pull request that proposes it. Pure."""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from megtrim.core.checks.statuses import VERDICT_SIGNS
from megtrim.core.keep.keepset import (
    KeepSet,
    ScenarioRecord,
    find_lost_functions,
    find_lost_regions,
)
from megtrim.core.verdict.model import Verdict
from megtrim.libs.elf.symbol_names import brief
from megtrim.libs.render.markup import code, code_in_title, fold, prose, table
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

_ROOM = {"rows": 16_000, "operators": 4_000, "names": 26_000}
"""Characters of each part: all are below the limit. Regions and functions get half each."""
_MOST_ROWS = 100
_MOST_NAMES = 40


class ScenarioChange(Value):
    id: str
    before: int | None
    after: int | None
    """None if only the other keep set has the scenario."""
    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    """Regions in canonical spelling, or linkage names; empty if the links differ."""
    shrunken: bool = False
    """Whether some were lost although nothing changed that the scenario depends on."""
    other_link: bool = False
    """Whether these are functions of two links; inlining differs, so names are not compared."""


class Proposal(Value):
    path: str
    branch: str
    previous: KeepSet | None
    current: KeepSet
    verdict: Verdict
    starts: str


class ChangeKind(Value):
    name: str
    listed: Callable[[ScenarioRecord], tuple[str, ...]]
    """Sorted."""
    find_lost: Callable[[KeepSet, KeepSet], Iterable[tuple[str, object]]]
    """The scenarios that lost some, by their ids."""
    show: Callable[[str], str]
    link: Callable[[ScenarioRecord], str | None]
    """The link that names belong to; None if names mean the same in every link."""

    def count(self, keep: KeepSet) -> int:
        return len({name for record in keep.scenarios for name in self.listed(record)})


REGIONS = ChangeKind(
    name="regions",
    listed=lambda record: tuple(map(str, record.regions)),
    find_lost=find_lost_regions,
    show=str,
    link=lambda _: None,
)
FUNCTIONS = ChangeKind(
    name="functions",
    listed=lambda record: record.functions,
    find_lost=find_lost_functions,
    show=brief,
    link=lambda record: record.link_sha256,
)


def changes(
    kind: ChangeKind, previous: KeepSet | None, current: KeepSet
) -> tuple[ScenarioChange, ...]:
    before: dict[str, ScenarioRecord] = {}
    lost: set[str] = set()
    if previous:
        before = {record.id: record for record in previous.scenarios}
        lost = {name for name, _ in kind.find_lost(previous, current)}
    after = {record.id: record for record in current.scenarios}
    changed = []
    for name in sorted({*before, *after}):
        old = before.get(name)
        new = after.get(name)
        if _of(kind, old) != _of(kind, new):
            changed.append(_change(kind, name, old, new, shrank=name in lost))
    return tuple(changed)


def _of(kind: ChangeKind, record: ScenarioRecord | None) -> object:
    return record and (kind.listed(record), kind.link(record))


def _change(
    kind: ChangeKind,
    name: str,
    old: ScenarioRecord | None,
    new: ScenarioRecord | None,
    *,
    shrank: bool,
) -> ScenarioChange:
    had = kind.listed(old) if old else ()
    has = kind.listed(new) if new else ()
    other = _has_other_link(kind, old, new)
    added: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    if not other:
        added = _missing_from(had, has)
        lost = _missing_from(has, had)
    return ScenarioChange(
        id=name,
        before=len(had) if old else None,
        after=len(has) if new else None,
        added=added,
        lost=lost,
        shrunken=shrank,
        other_link=other,
    )


def _has_other_link(
    kind: ChangeKind, old: ScenarioRecord | None, new: ScenarioRecord | None
) -> bool:
    if not (old and new):
        return False
    former = kind.link(old)
    present = kind.link(new)
    return former is not None and present is not None and former != present


def _missing_from(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    known = {*names}
    return tuple(name for name in others if name not in known)


def body(proposal: Proposal) -> str:
    verdict = proposal.verdict
    previous = proposal.previous
    current = proposal.current
    keeps = [keep for keep in (previous, current) if keep]
    kinds = [kind for kind in (REGIONS, FUNCTIONS) if any(map(kind.count, keeps))]
    changed = [(kind, changes(kind, previous, current)) for kind in kinds]
    share = len(kinds)

    def before(kind: ChangeKind) -> str:
        return "" if previous is None else f" (before: {kind.count(previous)})"

    sign = VERDICT_SIGNS[verdict.verdict]
    parts = [
        f"The scenarios were traced again, and {code(proposal.path)} is not what was committed.",
        f"{sign} **{verdict.verdict}**: {prose(verdict.headline)}",
    ]
    for kind, kind_changes in changed:
        name = kind.name.capitalize()
        parts.append(f"{name} that are kept: {kind.count(current)}{before(kind)}.")
        parts.append(_overview(kind, kind_changes, _ROOM["rows"] // share))
    parts += _operators(proposal)
    for kind, kind_changes in changed:
        parts += _lists(kind, kind_changes, _ROOM["names"] // share)
    parts.append(f"**Checks.** {proposal.starts}")
    branch = code(proposal.branch)
    parts.append(f"Branch {branch} is overwritten by each refresh: push no commits to it.")
    return "\n\n".join(parts) + "\n"


def _overview(kind: ChangeKind, found: tuple[ScenarioChange, ...], room: int) -> str:
    if not found:
        return f"No scenario needs different {kind.name}."
    rows = [_row(change) for change in found[:_MOST_ROWS]]
    shown = _fitting([" | ".join(row) for row in rows], room)
    head = ("scenario", f"{kind.name} before>", "now>", "added>", "lost>")
    text = table(head, rows[: len(shown)])
    if len(found) > len(shown):
        text += f"\n\n… and {count(len(found) - len(shown), 'more scenario')}."
    if any(change.shrunken for change in found):
        text += (
            f"\n\n⚠️ lost {kind.name} though model, arguments, inputs and threads are the same: "
            "was the traced run complete?"
        )
    if any(change.other_link for change in found):
        text += "\n\nFor another link only counts are compared: it may inline other functions."
    return text


def _row(change: ScenarioChange) -> tuple[str, ...]:
    name = code(change.id)
    if change.shrunken:
        name += " ⚠️"
    before = "none" if change.before is None else str(change.before)
    after = "none" if change.after is None else str(change.after)
    if change.other_link:
        return name, before, after, "another link", ""
    return name, before, after, f"+{len(change.added)}", f"-{len(change.lost)}"


def _operators(proposal: Proposal) -> Iterator[str]:
    previous = proposal.previous
    current = proposal.current
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


def _lists(kind: ChangeKind, found: tuple[ScenarioChange, ...], room: int) -> Iterator[str]:
    folded = []
    for change in found:
        lines = [*_names("added", change.added, kind), *_names("lost", change.lost, kind)]
        if lines:
            folded.append(fold(f"{code_in_title(change.id)}: {kind.name}", "\n".join(lines)))
    shown = _fitting(folded, room)
    yield from shown
    if len(folded) > len(shown):
        others = count(len(folded) - len(shown), "more scenario")
        yield f"The {kind.name} of {others} are in the diff."


def _fitting(texts: list[str], room: int) -> list[str]:
    ends = accumulate(len(text) for text in texts)
    return [text for text, end in zip(texts, ends, strict=True) if end <= room]


def _names(word: str, names: tuple[str, ...], kind: ChangeKind) -> Iterator[str]:
    for name in names[:_MOST_NAMES]:
        yield f"- {word} {code(kind.show(name))}"
    if len(names) > _MOST_NAMES:
        yield f"- … and {len(names) - _MOST_NAMES} more {word}"
