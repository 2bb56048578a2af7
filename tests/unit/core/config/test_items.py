from pathlib import Path

import pytest

from megtrim.core.config import items
from megtrim.core.config.document import MarkedDict
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.problems import ConfigError, Place
from megtrim.core.config.scenarios import all_scenarios
from megtrim.libs.util.errors import InputError
from unit.core.config.support import ENGINE, load

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
    assert loaded.show_key("models", 0, "scenarios", 2) == "models[0].scenarios[1]"


def test_a_name_stays_when_the_list_grows_and_is_not_taken_twice(tmp_path: Path) -> None:
    alone = load(tmp_path, ENGINE + TEXT.replace("[4, 1]", "[4]"))
    more = load(tmp_path, ENGINE + TEXT.replace("[4, 1]", "[1, 2, 4]"))

    assert set(listed(alone)) < set(listed(more))
    text = ENGINE + TEXT.replace("name: last", "name: many-threads-1")
    with pytest.raises(ConfigError, match=r":11: .*'many-threads-1' a second time .*line 8"):
        load(tmp_path, text)


def test_a_mistake_is_reported_once_where_it_is_written(tmp_path: Path) -> None:
    own_argument = TEXT.replace("--iter, 2", "--input, x")
    for text, problem in (
        (own_argument, ":10: models[0].scenarios[1].args[1]: found '--input', expected the key"),
        (TEXT + "        thread: 2\n", ":12: models[0].scenarios[2].thread: found an unknown key"),
    ):
        with pytest.raises(ConfigError) as caught:
            load(tmp_path, ENGINE + text)

        [found] = caught.value.problems
        assert str(found).startswith(f"{tmp_path / 'megtrim.yaml'}{problem}")


def test_a_scenario_in_a_file_of_its_own_may_have_a_list(tmp_path: Path) -> None:
    text = ENGINE + "models: [{name: m, file: m.mge, scenarios: s/*.yaml}]\n"
    file = tmp_path / "s/many.yaml"
    file.parent.mkdir()
    file.write_text("name: many\nthreads: [1, 1_0]\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"s/many\.yaml:2: .*a whole number from 1 to 256, or"):
        load(tmp_path, text)
    file.write_text("name: many\nthreads: [1, 10]\n", encoding="utf-8")
    loaded = load(tmp_path, text)

    assert loaded.place("models", 0, "scenarios", 1, "threads") == Place(file="s/many.yaml", line=2)


MAIN = f"{ENGINE}models: models/*.yaml\n"
FILES = {
    "models/a.yaml": "# first\nname: a\nfile: m.mge\nscenarios: models/a/*.yaml\n",
    "models/a/one.yaml": "name: one\n",
    "models/a/two.yaml": "\nname: two\nthreads: 2\n",
    "models/b.yaml": "name: b\nfile: m.mge\nscenarios:\n- {name: only}\n",
}


def load_files(folder: Path, files: dict[str, str] | None = None, main: str = MAIN) -> LoadedConfig:
    write_files(folder, {"m.mge": "", "megtrim.yaml": main, **(FILES | (files or {}))})
    return load_config(folder / "megtrim.yaml")


def write_files(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def refused(folder: Path, files: dict[str, str], main: str = MAIN) -> str:
    with pytest.raises(InputError) as caught:
        load_files(folder, files, main)
    return caught.value.message.replace(f"{folder}/", "")


def test_each_file_is_an_item(tmp_path: Path) -> None:
    loaded = load_files(tmp_path)
    (tmp_path / "list.yaml").write_text(
        f"{ENGINE}models:\n"
        "- {name: a, file: m.mge, scenarios: [{name: one}, {name: two, threads: 2}]}\n"
        "- {name: b, file: m.mge, scenarios: [{name: only}]}\n",
        encoding="utf-8",
    )

    ids = [each.id for each in all_scenarios(loaded.config)]
    assert ids == ["a/one@any", "a/two@any", "b/only@any"]
    assert loaded.config == load_config(tmp_path / "list.yaml").config


def test_every_key_has_its_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_files(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    loaded = load_config(Path(tmp_path.name, "megtrim.yaml"))

    assert loaded.place("engine") == Place(file="megtrim.yaml", line=2)
    assert loaded.place("models") == Place(file="megtrim.yaml", line=3)
    assert loaded.place("models", 0) == Place(file="models/a.yaml", line=2)
    assert loaded.place("models", 0, "file") == Place(file="models/a.yaml", line=3)
    assert loaded.place("models", 0, "scenarios", 1) == Place(file="models/a/two.yaml", line=2)
    here = tmp_path.name
    assert loaded.where("models", 0, "scenarios", 1, "threads") == f"{here}/models/a/two.yaml:3"
    assert loaded.where("models", 1, "scenarios", 0) == f"{here}/models/b.yaml:4"


def test_mistakes_are_named_where_they_are(tmp_path: Path) -> None:
    wrong = {"models/a/one.yaml": "name: one\nthread: 2\n", "models/b.yaml": "name: b\nname: c\n"}

    lines = refused(tmp_path, wrong).splitlines()

    assert [line.partition(", expected ")[0] for line in lines] == [
        "models/a/one.yaml:2: models[0].scenarios[0].thread: found an unknown key",
        "models/b.yaml:1: models[1].file: found nothing",
        "models/b.yaml:2: name: found this key a second time (the first is on line 1)",
    ]


def test_a_name_that_two_branches_took_is_named_with_both_files(tmp_path: Path) -> None:
    other = {"models/z.yaml": FILES["models/b.yaml"]}

    assert refused(tmp_path, other) == (
        "models/z.yaml:1: models[2].name: found 'b' a second time "
        "(the first is on line 1 of models/b.yaml), expected each name once"
    )


@pytest.mark.parametrize(
    "pattern",
    [
        "nothing/*.yaml",
        "''",
        "/models/*.yaml",
        "models/**x",
        "models/.*",
        f"{'../' * 2000}models/*.yaml",
        f"{'a/' * 2000}*.yaml",
        f"models/{'**/' * 2000}*.yaml",
    ],
)
def test_a_pattern_that_finds_nothing_is_refused(tmp_path: Path, pattern: str) -> None:
    """A slip would leave models out silently; hidden files are an editor's."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/.a.yaml").touch()
    said = refused(tmp_path, {}, f"{ENGINE}models: {pattern}\n")

    assert said.startswith("megtrim.yaml:3: models: found ")
    assert said.endswith(", expected a list, or a pattern that 1 to 1000 files match")


def test_too_many_files_and_a_folder_in_a_file_s_place_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models/c.yaml").mkdir(parents=True)
    folder = "models/c.yaml: found a folder, expected a part of megtrim.yaml"
    assert refused(tmp_path, {}) == folder
    monkeypatch.setattr(items, "MOST_ITEMS", 1)
    assert "models: found 'models/*.yaml', expected a list" in refused(tmp_path, {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "models/b.yaml:1: found an empty file"),
        ("- name: b\n", "models/b.yaml:1: found a list"),
        ("name: [", "models/b.yaml:"),
        ("<<<<<<< a\nname: b\n=======\n>>>>>>> b\n", "models/b.yaml:1: found an unresolved merge"),
    ],
)
def test_a_file_that_is_no_item_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert refused(tmp_path, {"models/b.yaml": text}).startswith(said)


def test_the_digest_is_that_of_all_files(tmp_path: Path) -> None:
    before = load_files(tmp_path).sha256
    (tmp_path / "models/a/one.yaml").write_text("name: one # again\n", encoding="utf-8")

    assert load_config(tmp_path / "megtrim.yaml").sha256 != before


def test_all_files_are_shown_sorted(tmp_path: Path) -> None:
    wrong = {name: f"{text}x: 1\n" for name, text in FILES.items()}
    with pytest.raises(ConfigError) as caught:
        load_files(tmp_path, wrong)

    files = [each.file for each in caught.value.problems]
    assert files == sorted(files)
    assert len(set(files)) == len(FILES)


SHARED = {
    "megtrim/models/a.yaml": (
        "name: a\nfile: files/m.mge\nstrip_info: [files/m.json]\n"
        "scenarios: megtrim/models/a/*.yaml\n"
    ),
    "megtrim/models/a/one.yaml": (
        "name: one\ninputs: {x: files/x.npy}\nfast_run: true\nalgo_cache: files/x.cache\n"
    ),
    "megtrim/models/b.yaml": (
        "name: b\nfile: files/m.mge\nscenarios: [{name: s, inputs: {x: files/x.npy}}]\n"
    ),
}
"""Models at the top of a repository, with paths from there."""


def load_shared(folder: Path, config: str, files: dict[str, str] | None = None) -> LoadedConfig:
    """Load a configuration in a folder of its own that shares the files."""
    up = "../" * config.count("/")
    main = f"{ENGINE}models: {up}megtrim/models/*.yaml\n"
    given = dict.fromkeys((f"files/{name}" for name in ("m.mge", "m.json", "x.npy", "x.cache")), "")
    write_files(folder, {config: main, **SHARED, **(files or {}), **given})
    return load_config(folder / config)


@pytest.mark.parametrize(
    "config", ["megtrim.yaml", "android/megtrim.yaml", "ci/trim/linux/megtrim.yaml"]
)
def test_configurations_of_any_depth_share_files(tmp_path: Path, config: str) -> None:
    loaded = load_shared(tmp_path, config)

    first, second = loaded.config.models
    (one,) = first.scenarios
    (inline,) = second.scenarios
    assert one.algo_cache is not None
    found = (first.file, *first.strip_info, one.inputs["x"], one.algo_cache, inline.inputs["x"])
    assert [loaded.resolve(path).resolve().relative_to(tmp_path).as_posix() for path in found] == [
        "files/m.mge",
        "files/m.json",
        "files/x.npy",
        "files/x.cache",
        "files/x.npy",
    ]


def test_mistakes_in_shared_files_are_named_where_they_are(tmp_path: Path) -> None:
    wrong = {"megtrim/models/b.yaml": "name: b\nfile: files/gone.mge\nscenarios: [{name: s}]\n"}
    with pytest.raises(ConfigError) as caught:
        load_shared(tmp_path, "linux/megtrim.yaml", wrong)
    assert str(caught.value).startswith(
        f"{tmp_path}/megtrim/models/b.yaml:2: models[1].file: found '../files/gone.mge', no such "
    )

    loaded = load_shared(tmp_path, "linux/megtrim.yaml", SHARED)
    assert loaded.place("models", 1) == Place(file="../megtrim/models/b.yaml", line=1)
    assert loaded.where("models", 1) == f"{tmp_path}/megtrim/models/b.yaml:1"


def test_a_shared_scenario_names_only_classes_that_all_have(tmp_path: Path) -> None:
    scenario = "{name: s, classes: [phone]}"
    text = f"name: b\nfile: files/m.mge\nscenarios:\n- {scenario}\n"
    with pytest.raises(ConfigError) as caught:
        load_shared(tmp_path, "linux/megtrim.yaml", {"megtrim/models/b.yaml": text})
    assert "megtrim/models/b.yaml:4: models[1].scenarios[0].classes[0]" in str(caught.value)


@pytest.mark.parametrize("path", ["/abs/m.mge", "../m.mge", ""])
def test_paths_that_leave_the_shared_folder_keep_their_meaning(tmp_path: Path, path: str) -> None:
    item = items._rebase(MarkedDict({"name": "a", "file": path}, {}), items.climb("../../m/*.yaml"))

    expected = {"/abs/m.mge": "/abs/m.mge", "../m.mge": "../../../m.mge", "": ""}
    assert item == {"name": "a", "file": expected[path]}
