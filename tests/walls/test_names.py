"""Names of functions: verbs, and one verb for what only raises."""

import ast
import re
from collections.abc import Iterator

from support.pages import ROOT

SOURCES = ROOT / "ci"
_TOOLS = (ROOT / "noxfile.py", *(ROOT / "scripts").rglob("*.py"))
"""Programs of this repository that no one installs."""
_IRREGULAR = {
    "been",
    "begun",
    "bound",
    "broken",
    "brought",
    "built",
    "chosen",
    "done",
    "drawn",
    "found",
    "given",
    "gone",
    "grown",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lost",
    "made",
    "meant",
    "met",
    "paid",
    "said",
    "sent",
    "shown",
    "spent",
    "spoken",
    "stood",
    "taken",
    "thought",
    "thrown",
    "told",
    "won",
    "written",
}


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
