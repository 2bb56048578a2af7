from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "benchmarks", "examples", "tests", "scripts")
PAGES = sorted((*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))))

_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^()\s]+)\)|\b(?:src|href)=\"([^\"]+)\"")
_ELSEWHERE = re.compile(r"[a-z]+:")


def _links(text: str) -> Iterator[str]:
    prose = _CODE.sub("", _FENCE.sub("", text))
    targets = (match[1] or match[2] for match in _LINK.finditer(prose))
    return (target for target in targets if not _ELSEWHERE.match(target))


def _anchors(page: Path) -> set[str]:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _broken(page: Path, text: str) -> list[str]:
    broken = []
    for link in _links(text):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        inside = target.resolve().is_relative_to(ROOT)
        if not inside or not target.exists() or (anchor and anchor not in _anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert _broken(page, page.read_text(encoding="utf-8")) == []


def test_every_page_of_the_docs_can_be_reached() -> None:
    found = {ROOT / "docs" / "index.md"}
    ahead = list(found)
    while ahead:
        page = ahead.pop()
        links = (link.partition("#")[0] for link in _links(page.read_text(encoding="utf-8")))
        pages = {(page.parent / link).resolve() for link in links if link.endswith(".md")}
        ahead += sorted(pages - found)
        found |= pages

    assert set((ROOT / "docs").rglob("*.md")) - found == set()


def test_broken_links_are_seen() -> None:
    text = (
        "[a](nowhere.md) ![b](images/none.png) [c](#no-such-heading) [d](../../outside.md)\n"
        '[e](README.md) `[f](code.md)` [g](https://example.org/x.md) <img src="none.svg">\n'
        "```\n[h](fenced.md)\n```\n"
    )
    expected = ["nowhere.md", "images/none.png", "#no-such-heading", "../../outside.md", "none.svg"]

    assert expected == _broken(ROOT / "README.md", text)
