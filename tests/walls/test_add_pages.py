"""The page that shows how to add a kind: what it prints is added to a copy of the tree, and works.

A comment before a block says what it is: ``<!-- new: FILE -->`` the whole of a new file,
``<!-- edit: FILE -->`` changes, as ``diff`` prints them, each between lines with ``@@``.
"""

import os
import re
import shutil
import sys
from pathlib import Path
from typing import get_args

import pytest

from megtrim.core.config.device import DeviceConfig
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from megtrim.places.devices import kinds as device_kinds
from walls.test_architecture import lint_imports

ROOT = Path(__file__).parents[2]
_PAGE = (ROOT / "docs/development/add-a-kind.md").read_text(encoding="utf-8")
CHAPTERS = {part.partition("\n")[0]: part for part in _PAGE.split("\n## ")[1:]}
OF_ALL = pytest.mark.parametrize("chapter", CHAPTERS.values(), ids=CHAPTERS)
LONGEST = 60
_BLOCK = re.compile(r"^<!-- (new|edit): (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_COPIED = ("ci", "examples/sample-engine", "tests/support", "tests/unit")


def add(root: Path, chapter: str) -> None:
    for what, name, text in _BLOCK.findall(chapter):
        path = root / name
        assert (what == "new") is not path.exists()
        new = text if what == "new" else edit(path.read_text(encoding="utf-8"), text)
        path.write_text(new, encoding="utf-8")


def run(root: Path, *argv: str) -> CompletedCommand:
    path = os.pathsep.join(str(root / each) for each in ("ci", "tests"))
    command = Command(
        argv=(sys.executable, "-P", "-m", *argv),
        cwd=root,
        env={"PYTHONPATH": path, "COLUMNS": "200"},
        timeout_s=500,
        merge_stderr=True,
    )
    return ProcessRunner(os.environ).run(command)


def edit(text: str, diff: str) -> str:
    for change in diff.split("@@\n"):
        lines = change.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in f" {sign}") for sign in "-+")
        assert text.count(old) == 1, f"found {text.count(old)} times, expected once:\n{old}"
        text = text.replace(old, new)
    return text


def new_files(chapter: str, folder: str) -> list[str]:
    found = _BLOCK.findall(chapter)
    return [name for what, name, _ in found if what == "new" and name.startswith(folder)]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    for name in _COPIED:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "tests/conftest.py"):
        shutil.copy(ROOT / name, root / name)
    for chapter in CHAPTERS.values():
        add(root, chapter)
    return root


def test_each_kind_has_a_chapter() -> None:
    kinds = ("device", "engine", "toolchain", "stage", "report")

    assert [title.split()[-1] for title in CHAPTERS] == list(kinds)


@OF_ALL
def test_a_chapter_is_short(chapter: str) -> None:
    """One screen, or it would be easier to look how another kind was added."""
    shown = _COMMENT.sub("", chapter)

    assert len(shown.splitlines()) <= LONGEST


@OF_ALL
def test_what_a_chapter_adds_works(chapter: str, tree: Path) -> None:
    tests = new_files(chapter, "tests/")
    outcome = run(tree, "pytest", "-q", "-p", "no:cacheprovider", *tests)

    assert tests
    assert outcome.ok, outcome.stdout


@pytest.mark.parametrize("checker", ["ruff check", "ruff format --check", "mypy"])
def test_what_the_page_adds_is_clean(checker: str, tree: Path) -> None:
    added = new_files(_PAGE, "ci/")
    outcome = run(tree, *checker.split(), *added)

    assert outcome.ok, outcome.stdout


def test_what_the_page_adds_keeps_the_walls(tree: Path) -> None:
    outcome = lint_imports(tree)

    assert outcome.ok, outcome.stdout


def test_megtrim_yaml_names_every_kind() -> None:
    configured = [
        set(get_args(section.model_fields["kind"].annotation))
        for section in (ToolchainConfig, DeviceConfig)
    ]

    assert configured == [
        {"auto", *toolchain_kinds.KINDS},
        {"auto", *device_kinds.KINDS},
    ]


@pytest.mark.parametrize(
    ("text", "diff", "result"),
    [("a\nb\nc\n", " a\n-b\n+d\n", "a\nd\nc\n"), ("a\nb\n", "-a\n+x\n@@\n b\n+c\n", "x\nb\nc\n")],
)
def test_changes_are_applied(text: str, diff: str, result: str) -> None:
    assert edit(text, diff) == result


@pytest.mark.parametrize("text", ["a\na\n", "b\n"])
def test_a_change_that_does_not_fit_is_seen(text: str) -> None:
    with pytest.raises(AssertionError, match=r"found \d times, expected once"):
        edit(text, "-a\n+c\n")
