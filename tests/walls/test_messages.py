"""Each error that the sources raise has a code, and each code is of an error."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.cli.error_codes import describe_code, find_code, list_codes
from megtrim.util import errors

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "ci/megtrim").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}
GAP = "…"


def list_kinds() -> set[str]:
    kinds = {kind.__name__ for kind in errors.MegtrimError.__subclasses__()}
    classes = [
        node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    ]
    while more := {
        each.name
        for each in classes
        if each.name not in kinds
        and any(isinstance(base, ast.Name) and base.id in kinds for base in each.bases)
    }:
        kinds |= more
    return kinds


KINDS = list_kinds()


def read_text(node: ast.expr) -> str:
    """Return a literal with gaps for values, or nothing for what is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else GAP for each in node.values)
        return "".join(map(str, parts))
    return ""


def find_messages(tree: ast.Module, kinds: set[str]) -> Iterator[str]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        named: dict[str, list[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named.setdefault(node.targets[0].id, []).append(read_text(node.value))
        for node in ast.walk(function):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if made and node.func.id in kinds:  # type: ignore[attr-defined]
                for argument in node.args:  # type: ignore[attr-defined]
                    own = named.get(argument.id, []) if isinstance(argument, ast.Name) else []
                    yield from filter(None, [read_text(argument), *own])


PAGE = (ROOT / "docs/how-to/find-a-message.md").read_text(encoding="utf-8")
MESSAGES = sorted(
    {
        message
        for tree in TREES.values()
        for message in find_messages(tree, KINDS)
        if len(re.findall(r"[a-z]{2,}", message)) > 1
    }
)
"""Those with words of megtrim's own: others only pass on what a tool said."""


def test_there_are_many() -> None:
    """A collector that finds nothing would pass what follows."""
    assert len(MESSAGES) > 400


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_has_a_code(message: str) -> None:
    assert find_code(message)


def test_words_are_of_a_message() -> None:
    entries = [words for all_words, _ in list_codes().values() for words in all_words]
    patterns = {words: ".*".join(map(re.escape, words.split(GAP))) for words in entries}

    assert [
        words
        for words in entries
        if not any(re.search(patterns[words], message, re.DOTALL) for message in MESSAGES)
    ] == []
    assert len(entries) == len(patterns)


def test_a_code_is_used_once() -> None:
    codes = re.findall(r"^\| (MT.*?) \|", PAGE, re.MULTILINE)

    assert sorted(codes) == sorted(list_codes())
    assert len(codes) <= 150


def test_a_message_without_a_code_is_seen() -> None:
    assert find_code("the moon is full") == ""


def test_the_longest_words_decide() -> None:
    assert find_code("megtrim.yaml:3: found 7, expected text") == "MT0101"
    assert find_code("m.mge: not a .mge model: it begins with: x") == "MT0203"


def test_a_code_says_what_to_do() -> None:
    assert describe_code("MT0201") == "`git lfs pull`."
    assert "(docs/how-to/trim-functions.md)" in describe_code("MT0103")
    assert describe_code("MT9999") == ""
