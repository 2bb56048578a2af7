"""The words that CONTRIBUTING.md says not to use."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.pages import PAGES, ROOT

SOURCES = ROOT / "ci"
_TOOLS = (ROOT / "noxfile.py", *(ROOT / "scripts").rglob("*.py"))
"""Programs of this repository that no one installs."""
_GLOSSARY = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
_CODE = re.compile(r"<!--.*?-->|^ *```.*?^ *```|``.*?``|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_GENERATED = ROOT / "docs" / "reference"
_IRREGULAR = {
    *("been", "begun", "bound", "broken", "brought", "built", "chosen", "done"),
    *("drawn", "found", "given", "gone", "grown", "held", "hidden", "kept"),
    *("known", "laid", "led", "left", "lost", "made", "meant", "met"),
    *("paid", "said", "sent", "shown", "spent", "spoken", "stood", "taken"),
    *("thought", "thrown", "told", "won", "written"),
}


def unwanted_words() -> frozenset[str]:
    words: set[str] = set()
    inside = False
    for line in _GLOSSARY.splitlines():
        inside = line.startswith("|") and (inside or line.endswith("| do not use |"))
        if inside and not line.endswith("| do not use |"):
            words |= {word.strip(" -") for word in line.split("|")[-2].split(",")}
    return frozenset(words - {""})


WORDS = unwanted_words()
_TESTS = ROOT / "tests"
_OWN = Path(__file__)
"""Has the words themselves in its examples."""
MODULES = sorted({*SOURCES.rglob("*.py"), *_TESTS.rglob("*.py"), *_TOOLS} - {_OWN})
_LINE_BREAK = re.compile(r"\s*\n[ \t#]*")


def find_unwanted(text: str) -> set[str]:
    prose = _CODE.sub("", text)
    lines = (line for line in prose.splitlines() if not _names_words(line))
    found = re.compile(rf"\b(?:{'|'.join(sorted(WORDS, key=len, reverse=True))})\b", re.IGNORECASE)
    return {match.lower() for line in lines for match in found.findall(line)}


def find_unwanted_in_source(text: str) -> set[str]:
    """Return the unwanted words of a module, in prose, messages and names; they may span lines."""
    words = "|".join(sorted(WORDS, key=len, reverse=True))
    found = re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE)
    return {match.lower() for match in found.findall(_LINE_BREAK.sub(" ", text))}


def _names_words(line: str) -> bool:
    cells = line.split("|")
    return (
        line.startswith("|") and len(cells) > 2 and {*map(str.strip, cells[-2].split(","))} <= WORDS
    )


@pytest.mark.parametrize("page", PAGES)
def test_a_page_uses_the_words_of_the_glossary(page: Path) -> None:
    """The reference pages are made of texts in the code."""
    if not page.is_relative_to(_GENERATED):
        assert find_unwanted(page.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("module", MODULES, ids=lambda each: str(each.relative_to(ROOT)))
def test_a_module_uses_the_words_of_the_glossary(module: Path) -> None:
    assert find_unwanted_in_source(module.read_text(encoding="utf-8")) == set()


def definitions() -> Iterator[tuple[str, str, bool]]:
    """Yield file, name, and whether it is a called function, for each function and class."""
    for path in sorted({*SOURCES.rglob("*.py"), *_TOOLS}):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                is_property = any("property" in ast.unparse(each) for each in node.decorator_list)
                is_called = isinstance(node, ast.FunctionDef) and not is_property
                yield str(path.relative_to(ROOT)), node.name, is_called


def test_functions_are_verbs() -> None:
    """A participle names a value; a property may be one."""
    participle = re.compile(rf"_*(?:{'|'.join(_IRREGULAR)}|[^\W\d_]*(?<!e)ed)_*")

    assert [each for each in definitions() if each[2] and participle.fullmatch(each[1])] == []


def test_a_public_function_that_raises_expects() -> None:
    """One word for a function that raises unless something holds; it returns nothing else."""
    others = re.compile(r"(?:refuse|validate|assert|reject)_")

    assert [each for each in definitions() if each[2] and others.match(each[1])] == []


def test_names_use_the_words_of_the_glossary() -> None:
    names = {(file, name) for file, name, _ in definitions()}
    names |= {(file, Path(file).stem) for file, _ in names}
    split = re.compile(r"[A-Z]?[a-z]+")

    assert {each for each in names if WORDS & {w.lower() for w in split.findall(each[1])}} == set()


@pytest.mark.parametrize("text", ["It told.", "| a | the Ladder |", "nobody\n", "*without a word*"])
def test_an_unwanted_word_is_seen(text: str) -> None:
    assert len(find_unwanted(text)) == 1


@pytest.mark.parametrize(
    "source",
    [
        '"""It told."""\n',
        "x = 1  # nobody reads it\n",
        'msg = f"{file} lacks it"\n',
        "_told = 1\n",
        "def f(found_beside: int) -> None: ...\n",
        '    """It rests\n    on that."""\n',
        "# It rests\n# on that.\n",
    ],
)
def test_an_unwanted_word_of_a_source_is_seen(source: str) -> None:
    assert len(find_unwanted_in_source(source)) == 1


def test_other_words_of_a_source_are_not_seen() -> None:
    assert find_unwanted_in_source("untold = besides('retells', 'slacks')\n") == set()


@pytest.mark.parametrize("text", ["`told`", "```sh\ntold\n```", "<!-- nobody -->", "untold"])
def test_code_is_no_prose(text: str) -> None:
    assert find_unwanted(text) == set()
