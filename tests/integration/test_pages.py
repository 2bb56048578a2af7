"""The commands that the pages print, typed as they stand, in a team's folder.

Each page begins in a fresh one, as a reader who comes to it first; results alone are shared.
"""

from pathlib import Path

import pytest

from support.pages import Block, blocks_in, configured_folder, new_folder

PAGES = sorted({block.page for block in blocks_in("chain")})


@pytest.mark.unit
@pytest.mark.parametrize("block", blocks_in("unit"), ids=str)
def test_before_there_is_a_configuration(block: Block, tmp_path: Path) -> None:
    reported = new_folder(tmp_path).type(block)

    assert reported.rc == block.status, reported.stdout + reported.stderr


@pytest.mark.chain
@pytest.mark.parametrize("page", PAGES)
def test_on_a_page_in_a_fresh_project(page: str, tmp_path: Path, shared_out: Path) -> None:
    team, _ = configured_folder(tmp_path, shared_out, toolchain="host")

    for block in blocks_in("chain"):
        if block.page == page:
            reported = team.type(block)
            assert reported.rc == block.status, f"{block}\n{reported.stdout}{reported.stderr}"
