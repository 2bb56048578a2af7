from __future__ import annotations

import pytest

from conftest import LANES
from support.pages import BLOCKS, ROOT, Block, blocks_of

LANES_WITH_A_FOLDER = ("unit", "chain", "devices")
"""Those with a test that runs the pages' blocks."""


def problem(block: Block) -> str:
    if not block.mark:
        return "no mark: see tests/support/pages.py"
    if block.mark == "run":
        return "" if block.lane in LANES_WITH_A_FOLDER else f"no lane runs {block.what!r}"
    if not block.who or block.who == "no one":
        return "" if block.who else "no one is named who runs it"
    path, _, test = block.who.partition("::")
    if not (ROOT / path).is_file():
        return f"no file {path}"
    found = not test or f"\ndef {test}(" in (ROOT / path).read_text(encoding="utf-8")
    return "" if found else f"no test {test} in {path}"


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_is_marked(block: Block) -> None:
    assert problem(block) == ""


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("```sh\nls\n```\n", "no mark"),
        ("`megtrim trim` does it all.\n", "no mark"),
        ("<!-- run: chain -->\n\n```sh\nls\n```\n", "no mark"),
        ("<!-- run: flight -->\n```sh\nls\n```\n", "no lane runs 'flight'"),
        ("<!-- run: images -->\n```console\n$ ls\n```\n", "no lane runs 'images'"),
        ("<!-- needs: wings -->\n```sh\nls\n```\n", "no one is named"),
        ("<!-- needs: wings; tests/none.py -->\n```sh\nls\n```\n", "no file tests/none.py"),
        ("<!-- needs: wings; noxfile.py::test_x -->\n```sh\nls\n```\n", "no test test_x"),
    ],
)
def test_a_mark_that_is_missing_or_wrong_is_seen(page: str, said: str) -> None:
    (block,) = blocks_of("page.md", page)

    assert problem(block).startswith(said)


def test_a_block_is_what_a_reader_types() -> None:
    page = (
        "text `megtrim plan` text\n\n"
        "```text\nls\n```\n\n"
        "<!-- run: chain, exit 1 -->\n```console\n$ ls\nfile\n$ pwd\n```\n"
        "1. `git status` is empty\n"
    )
    first, second = blocks_of("page.md", page)

    assert (first.script, first.lane, first.status, first.line) == ("ls\npwd\n", "chain", 1, 8)
    assert (second.script, second.mark, second.line) == ("git status", "", 13)


def test_there_is_something_behind_this_wall() -> None:
    assert {block.lane for block in BLOCKS} == {"", *LANES_WITH_A_FOLDER}
    assert set(LANES_WITH_A_FOLDER) < set(LANES)
