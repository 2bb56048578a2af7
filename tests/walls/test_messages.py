"""Whoever has a message finds it: each error that the sources raise has an entry on the page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from megtrim.util import errors

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/find-a-message.md").read_text(encoding="utf-8")
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


def list_entries(page: str) -> list[str]:
    rows = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    return [words for row in rows for words in re.findall(r"`([^`]+)`", row)]


def compile_words(words: str) -> re.Pattern[str]:
    """Return the expression of the messages that have these words; a gap in them is anything."""
    return re.compile(".*".join(map(re.escape, words.split(GAP))), re.DOTALL)


ENTRIES = {words: compile_words(words) for words in list_entries(PAGE)}
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
def test_a_message_has_an_entry(message: str) -> None:
    assert any(entry.search(message) for entry in ENTRIES.values())


@pytest.mark.parametrize("words", ENTRIES)
def test_an_entry_is_of_a_message(words: str) -> None:
    assert any(ENTRIES[words].search(message) for message in MESSAGES)


def test_a_message_without_an_entry_is_seen() -> None:
    assert not any(entry.search("the moon is full") for entry in ENTRIES.values())
