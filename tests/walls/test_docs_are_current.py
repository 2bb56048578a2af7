"""The pages say what the code does: those made from it are current, and quoted commands exist."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from act import golden
from support.pages import PAGES, PROGRAMS, ROOT, blocks_of, find_refusal
from workflows.documents import script

_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(rf"(?:^|&& )(?:[A-Z_]+=\S+ )*((?:{'|'.join(PROGRAMS)}) [a-z-].*)")
_WORDS = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [a-z][^`\n]*)`")
REFERENCE: dict[str, str] = script("make_reference").pages()


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reference_is_what_the_code_says(name: str) -> None:
    assert REFERENCE[name] == (ROOT / name).read_text(encoding="utf-8")


DRAWINGS = script("draw_readme")


def test_drawings_show_the_sizes_on_record() -> None:
    drawn: dict[str, str] = DRAWINGS.drawings()

    assert {name: (ROOT / name).read_text(encoding="utf-8") for name in drawn} == drawn
    assert {path.stem for path in (ROOT / "docs/images").glob("*.svg")} == {
        Path(name).stem for name in drawn
    }


def test_a_size_that_is_not_on_record_is_not_drawn() -> None:
    record = "\nA table:\n\n| what | bytes |\n|---|---|\n| plain | 1,234 | 100% |\n"

    assert DRAWINGS.find_bytes(record, "A table", "plain") == 1234
    with pytest.raises(ValueError, match="expected below 'A table' a row 'reduced'"):
        DRAWINGS.find_bytes(record, "A table", "reduced")


def test_reference_is_the_same_every_time() -> None:
    assert script("make_reference").pages() == REFERENCE


def _commands() -> Iterator[tuple[str, str]]:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        name = str(page.relative_to(ROOT))
        yield from ((name, words) for words in _typed(name, text))
        yield from ((name, words) for words in _WORDS.findall(_FENCE.sub("", text)))


def _typed(name: str, text: str) -> Iterator[str]:
    for block in blocks_of(name, text):
        for line in re.sub(r" *\\\n *", " ", block.script).splitlines():
            if found := _TYPED.search(line):
                yield found[1]


QUOTED = sorted({*_commands()})


def test_quoted_commands_are_taken() -> None:
    refused = ((page, line, find_refusal(line)) for page, line in QUOTED)

    assert [each for each in refused if each[-1]] == []


def test_commands_that_do_not_exist_are_seen() -> None:
    assert find_refusal("megtrim fly") == "no verb ['fly']"
    assert find_refusal("megtrim size fly") == "no verb ['fly']"
    assert "--fly" in find_refusal("megtrim size --fly")
    assert "--wings" in find_refusal("megtrim trim --wings")
    assert "--wings" in find_refusal("virtual-phone start --wings")
    page = "<!-- x -->\n```console\n$ A=1 megtrim fly\n```\n```sh\n. x && megtrim \\\n  swim\n```\n"
    assert [*_typed("page.md", page)] == ["megtrim fly", "megtrim swim"]
    assert len(QUOTED) > 20


FOLDERS = ("docs", "benchmarks", "examples", "tests", "scripts")
LINKED_PAGES = sorted((*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))))

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


def test_links_resolve() -> None:
    assert len(LINKED_PAGES) > 50
    assert [
        f"{page.relative_to(ROOT)}: {link}"
        for page in LINKED_PAGES
        for link in _broken(page, page.read_text(encoding="utf-8"))
    ] == []


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


ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
NOTE = (
    "[目录](docs/index.zh-CN.md)和"
    "[为自己的模型裁剪 MegEngine](docs/how-to/trim-megengine.zh-CN.md) 有中文版。"
    "其余页面均为英文。\n\n"
)
"""What only a reader of Chinese must know: which of the pages that follow are in English."""
TRANSLATED = sorted((ROOT / "docs").rglob("*.zh-CN.md"))

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NAME = re.compile(r"`([^`\n]+)`")
_FIGURE = re.compile(r"\d[\d.,]*\d(?: [KMG]i?B)?")
_HAN = re.compile("[\u4e00-\u9fff]")


SHOWN = json.loads((ROOT / "docs/images/shown.json").read_text(encoding="utf-8"))
"""What the pictures show, and since when: `nox -s pictures` takes them again."""


def test_every_picture_is_known_and_shows_its_day() -> None:
    assert {path.stem for path in (ROOT / "docs/images").glob("*.png")} == SHOWN.keys()
    assert all(re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", each["day"]) for each in SHOWN.values())


@pytest.mark.parametrize("picture", sorted(SHOWN.keys() - {"report"}))
def test_pictures_of_comments_have_the_headings_of_today(picture: str) -> None:
    shown = SHOWN[picture]
    today = (golden.FOLDER / f"{shown['of']}.md").read_text(encoding="utf-8")
    headings = script("make_pictures").list_headings(today)

    assert golden.normal("\n".join(shown["shows"]), causes=True).splitlines() == headings


def test_the_picture_of_the_report_has_the_sizes_of_the_readme() -> None:
    table = ENGLISH.partition("<!-- demo-table -->")[2].partition("<!-- /demo-table -->")[0]

    assert [f"{size:,}" in table for size in SHOWN["report"]["shows"]] == [True] * 4


def without_blocks(page: str) -> str:
    return _BLOCK.sub("", page)


def list_parts(page: str) -> list[tuple[str, ...]]:
    parts = []
    for line in _BLOCK.sub("```", page).splitlines():
        kind = re.match(r"#+ |- |\| *|!|<!--|```|$", line)
        shape = kind[0].strip() if kind else "text"
        if shape == "|":
            shape += str(line.count("|"))
        # But those between the two pages; a page that is in Chinese, too, is the same one.
        links = [
            link.replace(".zh-CN.md", ".md")
            for link in _TARGET.findall(line)
            if not re.fullmatch(r"README.*\.md", link)
        ]
        names = Counter([*_NAME.findall(line), *links])
        parts.append((shape, *sorted(f"{name} {count}" for name, count in names.items())))
    return parts


def test_each_leads_to_the_other_and_has_its_parts_in_the_same_order() -> None:
    assert CHINESE.count(NOTE) == 1
    assert list_parts(CHINESE.replace(NOTE, "")) == list_parts(ENGLISH)
    assert "[简体中文](README.zh-CN.md)" in ENGLISH.split("##")[0]
    assert "[English](README.md)" in CHINESE.split("##")[0]


def test_commands_output_and_figures_are_the_same() -> None:
    """A size that was measured again is changed in both."""
    assert _BLOCK.findall(CHINESE) == _BLOCK.findall(ENGLISH)
    assert _COMMENT.findall(CHINESE) == _COMMENT.findall(ENGLISH)
    assert sorted(_FIGURE.findall(without_blocks(CHINESE))) == sorted(
        _FIGURE.findall(without_blocks(ENGLISH))
    )


@pytest.mark.parametrize("page", TRANSLATED, ids=lambda page: page.name)
def test_a_page_in_chinese_has_only_blocks_and_figures_of_its_english_one(page: Path) -> None:
    english = page.with_name(page.name.replace(".zh-CN", "")).read_text(encoding="utf-8")
    chinese = page.read_text(encoding="utf-8")

    assert f"({page.name})" in english.split("##")[0]
    assert set(_BLOCK.findall(chinese)) <= set(_BLOCK.findall(english))
    assert set(_FIGURE.findall(without_blocks(chinese))) <= set(
        _FIGURE.findall(without_blocks(english))
    )


def test_it_is_chinese() -> None:
    for line in without_blocks(CHINESE).splitlines():
        words = re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->|\[English\]", "", line)
        if len(re.findall(r"[A-Za-z]{3,}", words)) > 3:
            assert _HAN.search(line), line


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("## 许可证\n", ""),
        ("`megtrim doctor`", "megtrim doctor"),
        ("(docs/index.md)", "(docs/concepts.md)"),
        ("- **设备", "**设备"),
        ("## 许可证\n", "## 许可证\n\n| a | b |\n"),
    ],
)
def test_another_structure_is_seen(old: str, new: str) -> None:
    assert old in CHINESE
    assert list_parts(CHINESE.replace(old, new)) != list_parts(CHINESE)
