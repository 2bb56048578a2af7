"""The pages as a site, with search: `nox -s site` (Sphinx reads this file).

The sources are the pages as they stand, read from the top of the repository, so a link is the same
here and on GitHub. A dead link is an error; nothing is loaded from elsewhere (test_site.py).
"""

import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.errors import ExtensionError
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


_KEYWORDS = Path(__file__).with_name("keywords.toml")
_SECTIONS: dict[str, list[dict[str, Any]]] = {}


def setup(app: Any) -> None:
    app.connect("source-read", add_groups)
    app.connect("doctree-resolved", count_words)
    app.connect("build-finished", write_counts)


def count_words(app: Any, doctree: Any, page: str) -> None:
    """Count the stems of each section's own words, as the search asks for them."""
    language = app.builder.indexer.lang
    _SECTIONS[page] = []
    for section in doctree.findall(nodes.section):
        words = WordCollector(doctree, language)
        for child in section.children:
            if not isinstance(child, nodes.section):
                child.walk(words)
        heading = " ".join(words.found_title_words)
        counts = Counter(language.stem(word).lower() for word in words.found_words)
        _SECTIONS[page].append({"anchor": section["ids"][0], "heading": heading, "counts": counts})


def write_counts(app: Any, failed: Exception | None) -> None:
    """Add to the search index which words each section has how often, and the keywords of pages."""
    if failed is None:
        keywords = tomllib.loads(_KEYWORDS.read_text(encoding="utf-8"))
        unknown = sorted(keywords.keys() - _SECTIONS.keys())
        if unknown:
            message = f"{_KEYWORDS}: there is no page {', '.join(unknown)}"
            raise ExtensionError(message)
        index = Path(app.outdir, "searchindex.js")
        parts = (
            f"Search.keywords={json.dumps(keywords)};",
            f"Search.sections={json.dumps(dict(sorted(_SECTIONS.items())))};",
            index.read_text(encoding="utf-8"),
        )
        index.write_text("\n".join(parts), encoding="utf-8")


def add_groups(_app: Any, page: str, source: list[str]) -> None:
    """Make each section of an index a group of the navigation: the pages that it links to.

    An index without sections is one group; its pages are folded in the navigation.
    """
    if page in _INDEXES:
        for title, text in _SECTION.findall(source[0]) or [("", source[0])]:
            pages = "\n".join(dict.fromkeys(_PAGE.findall(text)))
            caption = f":caption: {title}\n" if title else ""
            source[0] += f"\n```{{toctree}}\n:hidden:\n{caption}\n{pages}\n```\n"
