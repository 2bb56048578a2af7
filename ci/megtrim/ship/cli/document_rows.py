"""Rows of the engine's two documents: the lines of a page that people read and megtrim searches.

A row has words of the documents (``…`` stands for names and numbers), the command, and the result.
"""

import re

from megtrim.core.cli.message_codes import name_links
from megtrim.libs.util.input_files import find_shipped
from megtrim.libs.util.value import Value

PAGE = "from-the-engines-documents.md"
_ROW = re.compile(r"^\| (`.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
_WORDS = re.compile(r"`([^`]+)`")
_FLAG = re.compile(r"--[a-z0-9-]+")
_GAP = "…"
_PART = re.compile(r"^-|\S .*\S|[^\x00-\x7f]")
"""Of a row's words: a flag, two words, or Chinese. One word alone may be a name of anything."""
_WHOLE = 1_000_000


class DocumentRow(Value):
    words: tuple[str, ...]
    here: str
    result: str


def list_rows() -> tuple[DocumentRow, ...]:
    page = find_shipped(PAGE, f"docs/reference/{PAGE}")
    rows = _ROW.findall(page.read_text(encoding="utf-8"))
    return tuple(
        DocumentRow(
            words=tuple(_WORDS.findall(words)), here=name_links(here), result=name_links(result)
        )
        for words, here, result in rows
    )


def find_row(text: str) -> DocumentRow | None:
    """Return the row with the longest words that are in a text, or that hold all of it."""
    wanted = _join_spaces(text)
    found: list[tuple[int, DocumentRow]] = []
    for row in list_rows():
        lengths = [_match(words, wanted) for words in row.words]
        if best := max(lengths, default=0):
            found.append((best, row))
    return max(found, key=lambda each: each[0])[1] if found else None


def _match(words: str, text: str) -> int:
    """Return how many letters agree; 0: the words are not those of the text."""
    known = _join_spaces(words)
    if text == known:
        return _WHOLE
    if _PART.search(text) and text in known:
        return len(text)
    pattern = ".*".join(re.escape(part) for part in known.split(_GAP))
    if _FLAG.fullmatch(known):
        pattern = rf"(?<![\w-]){pattern}(?![\w-])"  # no other flag that begins or ends alike
    return len(known.replace(_GAP, "")) if re.search(pattern, text) else 0


def _join_spaces(text: str) -> str:
    return " ".join(text.split())
