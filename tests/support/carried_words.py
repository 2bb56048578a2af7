"""A change of words in some texts, carried to others that have the same words."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

_TOKEN = re.compile(r"\w+|[^\w\s]")
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """A text in place of words, and the words that stood before and behind those."""

    before: str
    old: Words
    new: str
    behind: str


def find_changes(old: str, new: str) -> Iterator[WordChange]:
    """Yield what differs, word by word; what was added or left out takes its neighbours along."""
    was = _TOKEN.findall(old)
    tokens = list(_TOKEN.finditer(new))
    for first, last, start, end in _find_spans(was, [token[0] for token in tokens]):
        is_there = first < last and start < end
        left = 1 if not is_there and first > 0 else 0
        right = 1 if not is_there and last < len(was) else 0
        shown = tokens[start - left : end + right]
        yield WordChange(
            before=was[first - left - 1] if first > left else "",
            old=tuple(was[first - left : last + right]),
            new=new[shown[0].start() : shown[-1].end()] if shown else "",
            behind=was[last + right] if last + right < len(was) else "",
        )


def _find_spans(was: list[str], words: list[str]) -> list[tuple[int, int, int, int]]:
    """Return where words differ; what one word keeps apart is one change."""
    spans: list[tuple[int, int, int, int]] = []
    matcher = SequenceMatcher(a=was, b=words, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind == "equal":
            continue
        if spans and first - spans[-1][1] <= 1:
            spans[-1] = (spans[-1][0], last, spans[-1][2], end)
        else:
            spans.append((first, last, start, end))
    return spans


def carry(changes: Iterable[WordChange], text: str) -> str:
    """Make each change wherever a text has its old words, and a neighbour of theirs."""
    neighbours: dict[tuple[Words, str], set[str]] = defaultdict(set)
    for change in changes:
        neighbours[change.old, change.new] |= {f"{change.before} ", f" {change.behind}"}
    for (old, new), known in neighbours.items():
        text = _replace(old, new, known, text)
    return text


def _replace(old: Words, new: str, known: set[str], text: str) -> str:
    tokens = list(_TOKEN.finditer(text))
    words = [token[0] for token in tokens]
    pieces = []
    done = 0
    for first in range(len(words) - len(old) + 1):
        last = first + len(old)
        if tuple(words[first:last]) != old or tokens[first].start() < done:
            continue
        before = words[first - 1] if first > 0 else ""
        behind = words[last] if last < len(words) else ""
        if {f"{before} ", f" {behind}"} & known:
            pieces += [text[done : tokens[first].start()], new]
            done = tokens[last - 1].end()
    return "".join((*pieces, text[done:]))
