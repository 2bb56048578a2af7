"""What the rows of the engine's documents tell a reader to type: each command and key is typed.

Commands that build or run something are typed in tests/integration/test_document_commands.py.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

from megtrim.core.cli.main import main
from support.document_commands import (
    APPLICATION,
    BUILDS,
    KEYS,
    NAMES,
    NEEDED,
    NOT_TYPED,
    SCENARIO,
    is_experiment,
    list_codes,
    list_experiment_commands,
    list_rows_without_code,
)
from unit.core.config.support import SMALL, load

ROOT = Path(__file__).parents[4]
EXPERIMENTS = sorted(
    {name for gpu in (False, True) for _, name in list_experiment_commands(planned=gpu)}
)


def test_everything_in_the_column_is_typed_or_marked() -> None:
    known = {*KEYS, *NAMES, *NOT_TYPED, *BUILDS}

    assert [code for code in list_codes() if code not in known and not is_experiment(code)] == []
    assert sorted(known - {*list_codes()}) == []
    leads = [next((each for each in NEEDED if each in row), "") for row in list_rows_without_code()]
    assert all(leads), list_rows_without_code()
    assert {*leads} <= NEEDED.keys()


@pytest.mark.parametrize("file", [each for each in NEEDED.values() if each.startswith("tests/")])
def test_a_test_that_is_named_is_there(file: str) -> None:
    assert (ROOT / file).is_file()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_is_described(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["perf", "list", "--experiment", name])

    assert done.exit_code == 0, done.output
    assert name in done.output


@pytest.mark.parametrize(("verb", "name"), list_experiment_commands(planned=True))
def test_what_is_planned_says_what_it_needs(
    verb: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["perf", verb, "--experiment", name])

    assert done.exit_code == 0, done.output
    assert "NVIDIA GPU" in done.output


@pytest.mark.parametrize(("key", "section"), KEYS.items())
def test_each_key_can_be_written(key: str, section: str, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/CMakeLists.txt").touch()
    more = {
        "": f"{key}\n",
        SCENARIO: f"        {key}\n",
        APPLICATION: f"applications: [{{name: app, source: app, {key}}}]\n",
    }

    loaded = load(tmp_path, f"{SMALL}{more[section]}")

    assert loaded.config.models[0].name == "m"


@pytest.mark.parametrize("name", NAMES)
def test_each_key_is_in_the_reference(name: str) -> None:
    page = (ROOT / "docs/reference/configuration.md").read_text(encoding="utf-8")

    assert f"| `{name.rpartition('.')[2]}` |" in page
