"""The lines of the engine's documents lead to the command that does them here."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from megtrim.core.cli.main import main
from megtrim.core.timing.catalogue import list_experiments
from megtrim.ship.cli.document_rows import find_row, list_rows
from support.document_words import WORDS


@pytest.mark.parametrize(("words", "command"), [(words, here) for words, here, _ in WORDS])
def test_words_of_the_documents_lead_to_their_command(words: str, command: str) -> None:
    row = find_row(words)

    assert row is not None
    assert command in row.here


def test_there_are_enough_of_them() -> None:
    assert len(WORDS) >= 60
    assert len({words for words, _, _ in WORDS}) == len(WORDS)


def test_each_experiment_that_the_document_names_has_a_row() -> None:
    commands = " ".join(row.here for row in list_rows())
    missing = [each.name for each in list_experiments() if each.name not in commands]

    assert missing == []
    assert all(row.result for row in list_rows())


@pytest.mark.parametrize("words", ["resnet50", "verdict", "--no-such-flag", "zzz zzz", ""])
def test_other_words_lead_nowhere(words: str) -> None:
    assert find_row(words) is None


@pytest.mark.parametrize(("words", "command"), [(words, here) for words, here, _ in WORDS])
def test_explain_needs_no_configuration_for_them(
    words: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["explain", words, "--json"])

    assert done.exit_code == 0, done.output
    assert command in json.loads(done.output)["here"]
