"""The pages say what the code does: those made from it are current, and quoted commands exist."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from support.pages import PAGES, PROGRAMS, ROOT, blocks_of, find_refusal

_FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(rf"(?:^|&& )(?:[A-Z_]+=\S+ )*((?:{'|'.join(PROGRAMS)}) [a-z-].*)")
_WORDS = re.compile(rf"`((?:{'|'.join(PROGRAMS)}) [a-z][^`\n]*)`")


def _generator() -> ModuleType:
    path = ROOT / "scripts" / "make_reference.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE: dict[str, str] = _generator().pages()


@pytest.mark.parametrize("name", sorted(REFERENCE))
def test_reference_is_what_the_code_says(name: str) -> None:
    assert REFERENCE[name] == (ROOT / name).read_text(encoding="utf-8")


def test_reference_is_the_same_every_time() -> None:
    assert _generator().pages() == REFERENCE


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


@pytest.mark.parametrize(("page", "line"), QUOTED, ids=[f"{p}: {c}" for p, c in QUOTED])
def test_quoted_commands_are_taken(page: str, line: str) -> None:
    assert find_refusal(line) == ""


def test_commands_that_do_not_exist_are_seen() -> None:
    assert find_refusal("megtrim fly") == "no verb ['fly']"
    assert find_refusal("megtrim size fly") == "no verb ['fly']"
    assert "--fly" in find_refusal("megtrim size --fly")
    assert "--wings" in find_refusal("megtrim trim --wings")
    assert "--wings" in find_refusal("virtual-phone start --wings")
    page = "<!-- x -->\n```console\n$ A=1 megtrim fly\n```\n```sh\n. x && megtrim \\\n  swim\n```\n"
    assert [*_typed("page.md", page)] == ["megtrim fly", "megtrim swim"]
    assert len(QUOTED) > 20
