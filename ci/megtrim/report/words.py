"""The words of the page and what they mean, read from the tables of the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path

from megtrim.util.value import Value

_TABLES = (
    ("concepts.md", "Four verdicts"),
    ("how-to/read-the-report.md", "How a scenario can end"),
    ("concepts.md", "Words"),
    ("how-to/budget-sizes.md", "On a pull request"),
)
_SHOWN = re.compile(
    "scenario|CPU class|device|region|keep set|level|variant|neighbour|budget|waiver|baseline"
)
"""Of the table of all words."""
_ROW = re.compile(r"^\| (\*\*|`|)([a-zA-Z][\w -]*)\1 \| (.+?) \|", re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_MARKS = re.compile(r"\*+|`")


class Word(Value):
    word: str
    meaning: str
    page: str
    """From the top of megtrim's repository."""
    anchor: str


def read_words(documentation: Path) -> dict[str, Word]:
    """Return them by word; without the documentation, there are none."""
    words: dict[str, Word] = {}
    for table in _TABLES if documentation.is_dir() else ():
        for word in _read_table(documentation, *table):
            words.setdefault(word.word, word)
    return words


def _read_table(documentation: Path, page: str, heading: str) -> Iterator[Word]:
    text = (documentation / page).read_text(encoding="utf-8")
    table = text.partition(f"# {heading}\n")[2].partition("\n|---")[2].partition("\n\n")[0]
    for _, word, meaning in _ROW.findall(table):
        if heading != "Words" or _SHOWN.fullmatch(word):
            plain = _MARKS.sub("", _LINK.sub(r"\1", meaning))
            anchor = f"word-{word.replace(' ', '-')}"
            yield Word(word=word, meaning=plain, page=f"docs/{page}", anchor=anchor)
