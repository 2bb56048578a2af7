"""Codes of errors, such as ``MT0304``: the rows of a page that people read and megtrim searches.

A row has words of messages (``…`` stands for a name or number) and what to do about them.
"""

import posixpath
import re

from megtrim.libs.util.errors import MegtrimError
from megtrim.libs.util.input_files import find_shipped

CODE = re.compile(r"MT\d{4}", re.ASCII)
_ROW = re.compile(r"^\| (MT\d{4}) \| (.+?) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\(([^)]*)\)")
_GAP = "…"
_PAGE = "find-a-message.md"


def list_codes() -> dict[str, tuple[tuple[str, ...], str]]:
    page = find_shipped(_PAGE, f"docs/reference/{_PAGE}")
    try:
        rows = _ROW.findall(page.read_text(encoding="utf-8"))
    except OSError:  # an error is printed, and keeps its exit status, without the page as well
        return {}
    return {code: (tuple(re.findall(r"`([^`]+)`", words)), text) for code, words, text in rows}


def find_code(message: str) -> str:
    """Return the code of a message: that of the longest words in it, or nothing."""
    matches = (
        (len(words.replace(_GAP, "")), code)
        for code, (all_words, _) in list_codes().items()
        for words in all_words
        if re.search(".*".join(map(re.escape, words.split(_GAP))), message)
    )
    return max(matches, default=(0, ""))[1]


def describe_error(error: MegtrimError) -> str:
    """Return an error in words; below one that does not say what to do, what says it.

    One that says what was expected needs no other word.
    """
    says_it = bool(error.hint) or ", expected " in error.message
    code = "" if says_it else find_code(error.title)
    return f"{error}\n  next: megtrim explain {code}" if code else str(error)


def describe_code(code: str) -> str:
    _, text = list_codes().get(code, ((), ""))
    return name_links(text)


def name_links(text: str) -> str:
    """Return a text of a reference page with the paths of pages in the place of its links."""
    return _LINK.sub(lambda link: f"{link[1]} ({_name_page(link[2])})", text)


def _name_page(target: str) -> str:
    return posixpath.normpath(f"docs/reference/{target}")
