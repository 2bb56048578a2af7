"""Trims on disks that are too small: the machine is to blame, and no stage says otherwise."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from megtrim.libs.util.process import Command, ProcessRunner

pytestmark = [
    pytest.mark.chain,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a disk of a given size"),
]
_BLAMED = ("does not compile", "does not configure", "does not link", "trap", "verdict: fail")


@pytest.fixture
def disk(
    request: pytest.FixtureRequest, tmp_path: Path, processes: ProcessRunner
) -> Iterator[Path]:
    """A disk in memory, of the size that the test is given."""
    place = tmp_path / "disk"
    place.mkdir()
    options = ("-t", "tmpfs", "-o", f"size={request.param}", "tmpfs", str(place))
    processes.capture("mount", *options)
    yield place
    processes.run(Command(argv=("umount", "--lazy", str(place)), timeout_s=60))


@pytest.mark.parametrize("disk", ["512k", "3m", "6m"], indirect=True)
def test_a_full_disk_is_never_the_product_s_fault(make_project: MakeProject, disk: Path) -> None:
    """The first ends the configuration, the next a link, the last what comes after the builds."""
    project = make_project("tiny-mobile", trim={"level": "function"})
    project.out = disk / "out"

    ended = project.run("trim")

    assert ended.rc == 3, ended.stderr
    assert [words for words in _BLAMED if words in ended.stderr + ended.stdout] == []
    assert (
        "disk is full" in ended.stderr
        or "almost full" in ended.stderr
        or "No space left on device" in ended.stderr
    )
