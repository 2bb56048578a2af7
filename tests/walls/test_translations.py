from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGLISH = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
NOTE = "以下页面均为英文。\n\n"
"""What only a reader of Chinese must know: the pages that follow are in English."""

_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_FIGURE = re.compile(r"\d[\d.,]*\d(?: [KMG]i?B)?")
_HAN = re.compile("[\u4e00-\u9fff]")


def without_blocks(page: str) -> str:
    return _BLOCK.sub("", page)


def list_parts(page: str) -> list[tuple[str, ...]]:
    parts = []
    for line in _BLOCK.sub("```", page).splitlines():
        kind = re.match(r"#+ |- |\| *|!|<!--|```|$", line)
        shape = kind[0].strip() if kind else "text"
        if shape == "|":
            shape += str(line.count("|"))
        names = Counter([*_CODE.findall(line), *_targets(line)])
        parts.append((shape, *sorted(f"{name} {count}" for name, count in names.items())))
    return parts


def _targets(line: str) -> list[str]:
    """Return the links of a line but those between the two pages."""
    return [each for each in _LINK.findall(line) if not re.fullmatch(r"README.*\.md", each)]


def test_both_have_the_same_parts_in_the_same_order() -> None:
    assert CHINESE.count(NOTE) == 1
    assert list_parts(CHINESE.replace(NOTE, "")) == list_parts(ENGLISH)


def test_commands_and_output_are_the_same() -> None:
    assert _BLOCK.findall(CHINESE) == _BLOCK.findall(ENGLISH)
    assert _COMMENT.findall(CHINESE) == _COMMENT.findall(ENGLISH)


def test_figures_are_the_same() -> None:
    """A size that was measured again is changed in both."""
    assert sorted(_FIGURE.findall(without_blocks(CHINESE))) == sorted(
        _FIGURE.findall(without_blocks(ENGLISH))
    )


def test_each_leads_to_the_other() -> None:
    assert "[简体中文](README.zh-CN.md)" in ENGLISH.split("##")[0]
    assert "[English](README.md)" in CHINESE.split("##")[0]


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
        ("| `demo` |", "| `demo` | |"),
    ],
)
def test_another_structure_is_seen(old: str, new: str) -> None:
    assert old in CHINESE
    assert list_parts(CHINESE.replace(old, new)) != list_parts(CHINESE)
