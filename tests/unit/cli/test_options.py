"""``--out``: which folders are refused before anything is built."""

import errno
import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from megtrim.checks.invocation import DEFAULT_OUT, Options
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
    answer = CliRunner().invoke(command, arguments)

    assert answer.exit_code == status
    assert said in answer.output


@pytest.mark.parametrize("name", ["out", "out/deeper/still", "."])
def test_a_folder_that_can_be_made_is_accepted(tmp_path: Path, name: str) -> None:
    expect_writable(tmp_path / name)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("file", "Not a directory"),
        ("file/out", "Not a directory"),
        ("circle", "links that lead in a circle"),
        ("circle/out", "links that lead in a circle"),
    ],
)
def test_what_cannot_be_a_folder_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "circle")
    with pytest.raises(InputError) as caught:
        expect_writable(tmp_path / name)

    assert str(caught.value) == (
        f"--out {tmp_path / name}: nothing can be written there: {reason}\n"
        "  name a folder that can be written or made"
    )


def test_results_are_spelled_without_detours(tmp_path: Path) -> None:
    assert Options(out=tmp_path / "project" / ".." / "out").results == tmp_path / "out"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space, or choose another folder with --out"),
        (errno.EIO, "choose another folder with --out"),
    ],
)
def test_a_full_or_a_sick_disk_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    def fail(**_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(options, "TemporaryDirectory", fail)
    with pytest.raises(InfrastructureFailure) as caught:
        expect_writable(tmp_path / "out")

    message = f"{tmp_path / 'out'} cannot be written: {os.strerror(number)}"
    assert str(caught.value) == f"{message}\n  {hint}"
