"""Which trends reports show."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from megtrim.build_spec import Origin
from megtrim.checks.invocation import Options
from megtrim.cli.options import history_option
from megtrim.cli.session import trends
from megtrim.cli.session.trends import read_trends
from megtrim.history.folder import append_to_folder
from megtrim.size.history import CommitSizes
from megtrim.util.console import Console
from megtrim.util.errors import InputError
from support.history_entries import make_sizes


class Reader:
    """Reads a folder as a trim does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said = io.StringIO()

    def append(self, *entries: CommitSizes) -> None:
        append_to_folder(self.folder, entries)

    def read(self, config: str = "megtrim.yaml", *, quick: bool = False) -> list[tuple[str, int]]:
        """Return variant and size of each point of a configuration; empty: it is in no git."""
        origin = Origin(config=config or "megtrim.yaml", commit="1" * 40 if config else "")
        asked = Options(history=self.folder, quick=quick)
        found = read_trends(asked, origin, Console(self.said))
        return [(trend.variant, each.size_bytes) for trend in found for each in trend.points]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    """Two commits of one configuration."""
    found = Reader(tmp_path)
    found.append(make_sizes(1, 100), make_sizes(2, 110))
    yield found


def test_what_ships_and_what_it_is_trimmed_from(reader: Reader) -> None:
    """Oldest first, nothing said."""
    assert reader.read() == [("plain", 900), ("plain", 990), ("reduced", 100), ("reduced", 110)]
    assert reader.said.getvalue() == ""


def test_other_configurations_and_quick_trims_are_not_mixed_in(reader: Reader) -> None:
    """Their sizes are of other builds; where there are none of this one, that is said."""
    reader.append(make_sizes(3, 500, config="android/megtrim.yaml"), make_sizes(3, 7, quick=True))

    assert len(reader.read()) == 4
    assert reader.read("android/megtrim.yaml") == [("plain", 4500), ("reduced", 500)]
    assert reader.read(quick=True) == [("plain", 63), ("reduced", 7)]
    assert reader.read("ios/megtrim.yaml") == []
    assert "found no sizes of ios/megtrim.yaml, so reports show no trend" in reader.said.getvalue()


def test_a_configuration_outside_of_git_takes_the_only_one_there_is(reader: Reader) -> None:
    """With several it is not known which is meant."""
    assert len(reader.read("")) == 4
    reader.append(make_sizes(3, 500, config="android/megtrim.yaml"))
    assert reader.read("") == []


def test_a_damaged_file_costs_itself_alone(reader: Reader) -> None:
    """With a warning that names it."""
    first = next(iter(sorted(reader.folder.rglob("*.json"))))
    first.write_text("{", encoding="utf-8")

    assert reader.read() == [("plain", 990), ("reduced", 110)]
    assert first.name in reader.said.getvalue()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """A name that was misspelt would show no trend, and no one would know."""
    with pytest.raises(InputError, match="found no folder, expected a history"):
        Reader(tmp_path / "missing").read()


def test_without_a_history_nothing_is_read() -> None:
    """It is not asked for."""
    assert read_trends(Options(), Origin(), Console(io.StringIO())) == ()


def test_a_long_history_gives_its_newest_commits(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every report holds them."""
    monkeypatch.setattr(trends, "MOST_POINTS", 1)

    assert reader.read() == [("plain", 990), ("reduced", 110)]


@pytest.mark.parametrize(("value", "expected"), [("", None), ("../history", Path("../history"))])
def test_a_job_names_the_folder_by_a_variable(value: str, expected: Path | None) -> None:
    """It is empty where there is no history to check out."""

    @click.command()
    @history_option
    def command(history: Path | None) -> None:
        assert history == expected

    ended = CliRunner().invoke(command, env={"MEGTRIM_HISTORY": value}, catch_exceptions=False)

    assert ended.exit_code == 0
