"""A change of words in some texts, carried to others that have the same words."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """Words in place of others, and the words that stood before and behind those."""

    before: str
    old: Words
    new: Words
    behind: str


def find_changes(old: str, new: str) -> Iterator[WordChange]:
    """Yield what differs, word by word; what was added or left out takes its neighbours along."""
    was = old.split()
    words = new.split()
    matcher = SequenceMatcher(a=was, b=words, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        left = tuple(was[max(first - 1, 0) : first]) if kind != "replace" else ()
        right = tuple(was[last : last + 1]) if kind != "replace" else ()
        outer = first - len(left)
        beyond = last + len(right)
        yield WordChange(
            before=was[outer - 1] if outer > 0 else "",
            old=(*left, *was[first:last], *right),
            new=(*left, *words[start:end], *right),
            behind=was[beyond] if beyond < len(was) else "",
        )


def carry(changes: Iterable[WordChange], text: str) -> str:
    """Make each change wherever a text has its old words, and a neighbour of theirs."""
    neighbours: dict[tuple[Words, Words], set[str]] = defaultdict(set)
    for change in changes:
        neighbours[change.old, change.new] |= {f"{change.before} ", f" {change.behind}"}
    for (old, new), known in neighbours.items():
        text = _replace(old, new, known, text)
    return text


def _replace(old: Words, new: Words, known: set[str], text: str) -> str:
    words = r"\s+".join(map(re.escape, old))
    pattern = re.compile(
        rf"(?P<start>(?P<before>(?<!\S)\S+)\s+|^\s*)(?P<old>{words})(?=\s+(?P<behind>\S+)|\s*$)"
    )

    def make(found: re.Match[str]) -> str:
        sides = {f"{found['before'] or ''} ", f" {found['behind'] or ''}"}
        return found["start"] + (" ".join(new) if sides & known else found["old"])

    return pattern.sub(make, text)
