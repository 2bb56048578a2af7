"""Lines are for readers: one row, one assignment and one thought to a line."""

import ast
from collections.abc import Iterator

import pytest

from support.pages import ROOT

MODULES = sorted(
    path
    for folder in ("benchmarks", "ci", "scripts", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "data" not in path.parts
)


def find_packed(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the fault of each statement that packs rows or assignments."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List):
            yield node.lineno, "a starred literal: write its rows one to a line"
        if isinstance(node, ast.Assign) and _is_parallel(node) and not _is_swap(node):
            yield node.lineno, "a parallel assignment: write one assignment to a line"


def _is_parallel(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def _is_swap(node: ast.Assign) -> bool:
    targets = {ast.unparse(each) for each in ast.iter_child_nodes(node.targets[0])}
    values = {ast.unparse(each) for each in ast.iter_child_nodes(node.value)}
    return targets == values


def test_no_line_is_packed() -> None:
    packed = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in MODULES
        for line, fault in find_packed(path.read_text(encoding="utf-8"))
    ]

    assert packed == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("a = [*(1, 2), 3]\n", 1),
        ("f(*[1, 2])\n", 1),
        ("a, b = 1, f()\n", 1),
        ("a, b = b, a\n", 0),
        ("a, b = f()\n", 0),
        ("a = [*b, *f()]\n", 0),
    ],
)
def test_what_counts_as_packed(source: str, faults: int) -> None:
    assert len(list(find_packed(source))) == faults
