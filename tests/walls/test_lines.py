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
        if isinstance(node, ast.Starred) and _is_optional(node.value):
            yield node.lineno, "a splat on a condition: append what is there only then"
        if isinstance(node, ast.BinOp) and _counts_truth(node):
            yield node.lineno, "arithmetic on what is true or false: write a condition"
        if isinstance(node, ast.IfExp) and _is_choice(node.test, node.body, node.orelse):
            yield node.lineno, "a choice within a choice: write an if statement"
        if isinstance(node, ast.Call | ast.Attribute) and _is_choice(*_subject(node)):
            yield node.lineno, "a choice that is called: name it first"


def _is_parallel(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def _is_swap(node: ast.Assign) -> bool:
    targets = {ast.unparse(each) for each in ast.iter_child_nodes(node.targets[0])}
    values = {ast.unparse(each) for each in ast.iter_child_nodes(node.value)}
    return targets == values


def _is_optional(node: ast.expr) -> bool:
    """Whether it is a choice between some elements and none."""
    if not isinstance(node, ast.IfExp):
        return False
    branches = (node.body, node.orelse)
    return any(isinstance(each, ast.Tuple | ast.List) and not each.elts for each in branches)


def _counts_truth(node: ast.BinOp) -> bool:
    """Masks of arrays, by ``&`` and ``|``, are no arithmetic."""
    if not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return False
    return any(map(_is_truth, (node.left, node.right)))


def _is_truth(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("bool", "isinstance")
    return isinstance(node, ast.Compare)


def _is_choice(*nodes: ast.expr) -> bool:
    return any(isinstance(each, ast.IfExp) for each in nodes)


def _subject(node: ast.Call | ast.Attribute) -> tuple[ast.expr]:
    return (node.func,) if isinstance(node, ast.Call) else (node.value,)


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
        ("a = [b, *([c] if c else [])]\n", 1),
        ("a = [b, *(() if c else d)]\n", 1),
        ("a = [b, *(c if d else e)]\n", 0),
        ("a = 's' * (b > 1)\n", 1),
        ("a = b + (c is not None)\n", 1),
        ("a = b - bool(c)\n", 1),
        ("a = b + (not c)\n", 1),
        ("a = (b > 1) and c + 1\n", 0),
        ("a = (b > 1) & (b < c)\n", 0),
        ("a = '-' * 5\n", 0),
        ("a = b if c else d if e else f\n", 1),
        ("a = b if (c if d else e) else f\n", 1),
        ("a = f(b if c else d)\n", 0),
        ("(f if a else g)(x)\n", 1),
        ("(a if b else c).append(x)\n", 1),
        ("f(x).append(y)\n", 0),
    ],
)
def test_what_counts_as_packed(source: str, faults: int) -> None:
    assert len(list(find_packed(source))) == faults
