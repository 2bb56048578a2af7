"""The pages as a site, with search: `nox -s site` (Sphinx reads this file).

The sources are the pages as they stand, read from the top of the repository, so a link is the same
here and on GitHub. A dead link is an error; nothing is loaded from elsewhere (test_site.py).
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from sphinx.search import WordCollector

project = "megtrim"
extensions = ["myst_parser"]
root_doc = "docs/index"
exclude_patterns = [".*", "ci", "out", "tests"]
myst_heading_anchors = 6
myst_enable_extensions = ["html_image"]  # pictures of README that stand side by side
suppress_warnings = ["toc.not_included"]  # what README and the pages link to is enough
smartquotes_action = "qe"  # the dashes of an option stay
html_theme = "furo"
html_title = "megtrim"
html_extra_path = ["index.html"]
html_static_path = ["static"]
html_js_files = ["copy.js", "access.js"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_copy_source = False
html_use_index = False

_INDEXES = (root_doc, "docs/decisions/index")
_SECTION = re.compile(r"^## (.+)\n((?:(?!## ).*\n)+)", re.MULTILINE)
_PAGE = re.compile(r"\]\(([^):#]+)\.md")


_COUNTS: dict[str, Counter[str]] = {}


def setup(app: Any) -> None:
    app.connect("source-read", add_groups)
    app.connect("doctree-resolved", count_words)
    app.connect("build-finished", write_counts)


def count_words(app: Any, doctree: Any, page: str) -> None:
    """Count the stems of a page's words, as the search asks for them."""
    language = app.builder.indexer.lang
    words = WordCollector(doctree, language)
    doctree.walk(words)
    _COUNTS[page] = Counter(language.stem(word).lower() for word in words.found_words)


def write_counts(app: Any, failed: Exception | None) -> None:
    """Add to the search index how long each page is, and which words it has more than once."""
    if failed is None:
        mean = sum(map(Counter.total, _COUNTS.values())) / len(_COUNTS)
        found = {
            page: {
                "length": round(words.total() / mean, 2),
                "counts": {word: count for word, count in words.items() if count > 1},
            }
            for page, words in sorted(_COUNTS.items())
        }
        index = Path(app.outdir, "searchindex.js")
        text = index.read_text(encoding="utf-8")
        index.write_text(f"Search.words={json.dumps(found)};\n{text}", encoding="utf-8")


def add_groups(_app: Any, page: str, source: list[str]) -> None:
    """Make each section of an index a group of the navigation: the pages that it links to.

    An index without sections is one group; its pages are folded in the navigation.
    """
    if page in _INDEXES:
        for title, text in _SECTION.findall(source[0]) or [("", source[0])]:
            pages = "\n".join(dict.fromkeys(_PAGE.findall(text)))
            caption = f":caption: {title}\n" if title else ""
            source[0] += f"\n```{{toctree}}\n:hidden:\n{caption}\n{pages}\n```\n"
