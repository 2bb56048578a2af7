"""``--out``: which folders are refused before anything is built."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from megtrim.checks.invocation import DEFAULT_OUT
from megtrim.cli import options
from megtrim.cli.options import expect_writable, out_option
from megtrim.util.errors import InfrastructureFailure, InputError


@click.command()
@out_option("Folder for results.")
def command(out: Path) -> None:
    click.echo(repr(out))


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 0, repr(Path(DEFAULT_OUT))),
        (("--out", "a b"), 0, repr(Path("a b"))),
        (("--out", ""), 2, "found nothing, expected a folder"),
    ],
)
def test_the_folder_has_a_default_and_a_name(
    arguments: tuple[str, ...], status: int, said: str
) -> None:
    """An empty name would be the current folder."""
    answer = CliRunner().invoke(command, arguments)

    assert answer.exit_code == status
    assert said in answer.output


@pytest.mark.parametrize("name", ["out", "out/deeper/still", "."])
def test_a_folder_that_can_be_made_is_accepted(tmp_path: Path, name: str) -> None:
    """Nothing is left there."""
    expect_writable(tmp_path / name)

    assert list(tmp_path.iterdir()) == []


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    """As a mistake of whoever gave the name."""
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="nothing can be written there: Not a directory"):
        expect_writable(tmp_path / "file" / "out")


@pytest.mark.parametrize("name", ["circle", "circle/out"])
def test_links_in_a_circle_are_refused(tmp_path: Path, name: str) -> None:
    """They lead nowhere."""
    (tmp_path / "circle").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "circle")
    with pytest.raises(InputError, match="links that lead in a circle"):
        expect_writable(tmp_path / name)


def test_a_full_disk_is_no_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another name would not help."""

    def full(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(options, "TemporaryDirectory", full)
    with pytest.raises(InfrastructureFailure, match="No space left on device"):
        expect_writable(tmp_path / "out")
