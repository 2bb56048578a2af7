"""Lists of threads: a scenario for each number, in the place of the one that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.load import LoadedConfig
from megtrim.config.scenarios import all_scenarios
from megtrim.config.yaml.problems import ConfigError
from unit.config.support import ENGINE, load

TEXT = """\
models:
  - name: m
    file: m.mge
    scenarios:
      - {name: first}
      - name: many
        threads: [4, 1]
        args: [--cpu, --iter, 2]
      - name: last
"""


def listed(loaded: LoadedConfig) -> list[tuple[str, int]]:
    return [(each.id, each.settings.threads) for each in all_scenarios(loaded.config)]


def test_each_number_is_a_scenario(tmp_path: Path) -> None:
    """All else is the same, and all have the line of the one that is written."""
    loaded = load(tmp_path, ENGINE + TEXT)

    assert listed(loaded) == [
        ("m/first@any", 1),
        ("m/many-threads-4@any", 4),
        ("m/many-threads-1@any", 1),
        ("m/last@any", 1),
    ]
    scenarios = loaded.config.models[0].scenarios
    assert scenarios[1].args == scenarios[2].args == ("--cpu", "--iter", "2")
    lines = [loaded.line("models", 0, "scenarios", at, "name") for at in range(4)]
    assert lines == [7, 8, 8, 11]


def test_a_name_stays_when_the_list_grows(tmp_path: Path) -> None:
    """Keep set and proofs are by name; a list of one has the same name."""
    alone = load(tmp_path, ENGINE + TEXT.replace("[4, 1]", "[4]"))
    more = load(tmp_path, ENGINE + TEXT.replace("[4, 1]", "[1, 2, 4]"))

    assert set(listed(alone)) < set(listed(more))


def test_a_mistake_is_reported_once_where_it_is_written(tmp_path: Path) -> None:
    """By the number that the scenario has in the file, behind a list, too."""
    own_argument = TEXT.replace("--iter, 2", "--input, x")
    for text, problem in (
        (own_argument, ":10: models[0].scenarios[1].args[1]: found '--input', expected the key"),
        (TEXT + "        thread: 2\n", ":12: models[0].scenarios[2].thread: found an unknown key"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(tmp_path, ENGINE + text)

        [found] = caught.value.problems
        assert str(found).startswith(f"{tmp_path / 'megtrim.yaml'}{problem}")


def test_a_name_that_is_there_already_is_refused(tmp_path: Path) -> None:
    """Two scenarios of one name would be one keep set."""
    text = ENGINE + TEXT.replace("name: last", "name: many-threads-1")
    with pytest.raises(ConfigError, match=r":11: .*'many-threads-1' a second time .*line 8"):
        load(tmp_path, text)


def test_a_scenario_in_a_file_of_its_own_may_have_a_list(tmp_path: Path) -> None:
    """Whoever edits it is shown that file, and the path in it."""
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "many.yaml").write_text("name: many\nthreads: [1, 1_0]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"s/many\.yaml:2: .*a whole number from 1 to 256, or"):
        load(tmp_path, ENGINE + "models: [{name: m, file: m.mge, scenarios: s/*.yaml}]\n")
    (tmp_path / "s" / "many.yaml").write_text("name: many\nthreads: [1, 10]\n", encoding="utf-8")
    loaded = load(tmp_path, ENGINE + "models: [{name: m, file: m.mge, scenarios: s/*.yaml}]\n")

    file, path = loaded.source("models", 0, "scenarios", 1, "threads")
    assert (file.relative_to(tmp_path), path) == (Path("s/many.yaml"), ("threads",))
    assert loaded.place("models", 0, "scenarios", 1, "threads").line == 2


def test_behind_a_list_a_source_is_where_it_is_written(tmp_path: Path) -> None:
    """What edits the file counts as the file does."""
    loaded = load(tmp_path, ENGINE + TEXT)

    assert loaded.source("models", 0, "scenarios", 3)[1] == ("models", 0, "scenarios", 2)
    assert loaded.show_key("models", 0, "scenarios", 2) == "models[0].scenarios[1]"
