"""The commands that the pages print, typed as they stand, in a team's folder."""

from pathlib import Path

import pytest

from support.pages import Block, Place, blocks_in, configured_folder, new_folder


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, shared_out: Path) -> Place:
    """A project on the sample engine that all pages share: what one trims, the next finds."""
    return configured_folder(tmp_path_factory.mktemp("pages"), shared_out, toolchain="host")[0]


@pytest.mark.unit
@pytest.mark.parametrize("block", blocks_in("unit"), ids=str)
def test_before_there_is_a_configuration(block: Block, tmp_path: Path) -> None:
    reported = new_folder(tmp_path).type(block)

    assert reported.rc == block.status, reported.stdout + reported.stderr


@pytest.mark.chain
@pytest.mark.parametrize("block", blocks_in("chain"), ids=str)
def test_with_a_configuration(block: Block, team: Place) -> None:
    reported = team.type(block)

    assert reported.rc == block.status, reported.stdout + reported.stderr
