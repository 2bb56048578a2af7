import hashlib
import json
import re
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from megtrim.core.config.config_id import choose, id_of, infix_of, is_inside, split, suffix_of
from megtrim.core.config.json_schema import make_json_schema
from megtrim.core.config.load import load_config
from megtrim.core.config.problems import ConfigError
from megtrim.libs.util.errors import InputError
from unit.core.config.support import ENGINE, MODEL, SMALL, load

FAILING = sorted((Path(__file__).parent / "cases" / "failing").iterdir())
EXAMPLES = Path(__file__).parents[4] / "examples"


@pytest.mark.parametrize("case", FAILING, ids=lambda case: case.name)
def test_a_wrong_file_is_shown_exactly_so_and_no_library_is_named(case: Path) -> None:
    file = case / "megtrim.yaml"
    with pytest.raises(ConfigError) as caught:
        load_config(file)

    expected = (case / "expected.txt").read_text(encoding="utf-8")
    assert expected == caught.value.message.replace(str(file), "megtrim.yaml") + "\n"
    assert all(line.startswith("megtrim.yaml:") for line in expected.splitlines())
    assert not re.search("pydantic|input should|https:|loc=", expected, re.IGNORECASE)


def test_there_are_cases() -> None:
    assert len(FAILING) >= 40


def test_every_key_has_its_line(tmp_path: Path) -> None:
    loaded = load(tmp_path, "# about\n" + SMALL + "        args: [--cpu,\n          --iter, 2]\n")

    assert loaded.line("engine") == 3
    assert loaded.line("models", 0) == 5
    assert loaded.line("models", 0, "file") == 6
    assert loaded.line("models", 0, "scenarios", 0, "args", 1) == 10
    assert loaded.line("models", 0, "strip_info", 0) == 5
    assert loaded.line("verify", "max_age") == 2


def test_a_loaded_file_knows_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load(tmp_path, SMALL)
    monkeypatch.chdir(tmp_path)
    loaded = load_config(Path("megtrim.yaml"))

    assert loaded.path == Path("megtrim.yaml")
    assert loaded.folder == tmp_path
    assert loaded.resolve(loaded.config.models[0].file) == tmp_path / "m.mge"
    assert loaded.resolve(Path("/absolute")) == Path("/absolute")
    assert loaded.sha256 == hashlib.sha256(SMALL.encode()).hexdigest()
    assert loaded.warnings == ()


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff" + SMALL).config.version == 1


def test_a_class_without_a_device_is_warned_of(tmp_path: Path) -> None:
    classes = "classes: [{name: old}, {name: new}]\ndevices: [{name: d, class: old}]\n"
    loaded = load(tmp_path, ENGINE + classes + MODEL)

    [warning] = loaded.warnings
    text = "m/s@new: no device is of class new, so this stays unverified"
    assert warning == f"{tmp_path}/megtrim.yaml:9: {text}"


def test_a_class_of_runners_that_nothing_can_play_is_warned_of(tmp_path: Path) -> None:
    """Its own CPU chooses other kernels than one with every feature would."""
    classes = "classes: [{name: old, qemu_cpu: cortex-a53}, {name: new}, {name: newest}]\n"
    runners = ("a, class: old", "b, class: new", "c, class: new", "d, class: newest")
    devices = "".join(f"- {{name: {each}, runner: true}}\n" for each in runners)
    devices = f"devices:\n{devices}- {{name: e, class: newest}}\n"
    loaded = load(tmp_path, ENGINE + classes + devices + MODEL)

    [warning] = loaded.warnings
    assert warning == (
        f"{tmp_path / 'megtrim.yaml'}:3: class new: without its runner, an emulated CPU with "
        "every feature takes its place, which may choose other kernels; set its qemu_cpu"
    )


def test_the_engine_can_be_somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "engine").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r":2: engine\.source: found 'absent', no such folder"):
        load(tmp_path, SMALL.replace("sample", "megengine, source: absent"))
    with pytest.raises(ConfigError, match=r"found '/no/such/engine', no such folder"):
        load_config(tmp_path / "megtrim.yaml", engine_source=Path("/no/such/engine"))
    monkeypatch.chdir(tmp_path / "here")
    loaded = load_config(tmp_path / "megtrim.yaml", engine_source=Path("engine"))

    assert loaded.config.engine.source == tmp_path / "here" / "engine"
    assert loaded.config.engine.target == "load_and_run"


def test_a_file_that_is_not_there_comes_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "none.yaml")

    said = "found no such file, expected a megtrim.yaml"
    assert caught.value.message == f"{tmp_path}/none.yaml: {said}"
    assert caught.value.hint == "`megtrim init MODEL...` writes one, --config names another"
    with pytest.raises(ConfigError, match="found a folder, expected"):
        load_config(tmp_path)
    with pytest.raises(ConfigError, match=r"a path that leads nowhere \(File name too long\)"):
        load_config(tmp_path / ("n" * 300))


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "megtrim.yaml"
    (tmp_path / "m.mge").touch()
    text = SMALL.encode()
    file.write_bytes(text + b"#" * (1024 * 1024 - len(text)))
    assert load_config(file).config.version == 1
    file.write_bytes(text + b"#" * (1024 * 1024 - len(text) + 1))
    with pytest.raises(InputError, match="found more than 1,048,576 bytes, expected a megtrim"):
        load_config(file)


def test_a_long_key_is_cut(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"{SMALL}{'k' * 200}: 1\n")

    assert len(caught.value.problems[-1].key) == 60


def test_the_example_for_the_engine_loads(tmp_path: Path) -> None:
    loaded = load_config(EXAMPLES / "megengine-linux-arm64.yaml", engine_source=tmp_path)

    assert [(each.name, each.fast_run) for each in loaded.config.models[0].scenarios] == [
        ("default", False),
        ("tuned", True),
    ]
    assert str(loaded.config.budgets[0].max_size) == "3145728 B"


WORDS = st.sampled_from(["sample", "megengine", "m", "m.mge", "any", "3 MiB", "2 days", "--cpu"])
NUMBERS = st.none() | st.booleans() | st.integers() | st.floats()
SCALARS = NUMBERS | st.text(max_size=8) | st.dates() | WORDS
KNOWN_KEYS = {*re.findall(r'"(\w+)": {', json.dumps(make_json_schema()))}
KEYS = st.sampled_from(sorted(KNOWN_KEYS)) | st.text(max_size=4)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=30,
)
QUICK = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(data=st.data())
def test_a_file_with_another_value_loads_or_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    tree = yaml.safe_load(SMALL)
    tree |= {
        "classes": [{"name": "any", "qemu_cpu": "max"}],
        "devices": [{"name": "d", "class": "any", "kind": "qemu"}],
        "artifacts": ["load_and_run"],
        "budgets": [{"artifact": "load_and_run", "max": 1}],
        "waivers": [{"budget": "load_and_run", "bytes": 1, "reason": "r", "owner": "o"}],
        "verify": {"tolerance": 0},
    }
    place = tree
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [key for key in keys if isinstance(place[key], dict | list)]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else [0]))
    place[key] = data.draw(TREES)

    try:
        assert load(tmp_path, yaml.safe_dump(tree, allow_unicode=True)).config.version == 1
    except InputError as error:
        assert str(tmp_path) in error.message  # a model may be taken for a file of its own
        assert "pydantic" not in error.message


FOLDERS = st.text(alphabet="ab-A_. /", min_size=1, max_size=8)
FILES = st.one_of(FOLDERS, FOLDERS.map(lambda name: f"{name}/megtrim.yaml"))
TOOLCHAINS = st.text(alphabet="ab-0#A.", min_size=1, max_size=6)
PATHS = st.one_of(FILES, st.builds(choose, st.one_of(FILES, st.just("megtrim.yaml")), TOOLCHAINS))


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("megtrim.yaml", ""),
        ("./megtrim.yaml", ""),
        ("", ""),
        ("android/megtrim.yaml", "android"),
        ("./android//megtrim.yaml", "android"),
        ("camera-app/megtrim.yaml", "camera-app"),
        ("apps/camera/megtrim.yaml", "apps-camera-ec59c978"),
        ("apps-camera/megtrim.yaml", "apps-camera"),
        ("megtrim-quick.yaml", "megtrim-quick-034ca81f"),
        ("Android/megtrim.yaml", "android-2f28b52e"),
        ("android.v2/megtrim.yaml", "android-v2-fb0c964c"),
        ("a-0123abcd/megtrim.yaml", "a-0123abcd-357c3d5e"),
        ("模型/megtrim.yaml", "50679dfd"),
        ("模型.yaml", "a318b199"),
        ("/srv/megtrim.yaml", ""),
        ("../megtrim.yaml", ""),
        ("megtrim.yaml#android-arm64", "_android-arm64"),
        ("./megtrim.yaml#android-arm64", "_android-arm64"),
        ("android/megtrim.yaml#arm64", "android_arm64"),
        ("apps/camera.yaml#arm64", "apps-camera-1516d27b_arm64"),
        ("megtrim.yaml#Arm64", "megtrim-yaml-arm64-64f2f469"),
        ("../megtrim.yaml#arm64", ""),
    ],
)
def test_an_id_is_the_folder_or_has_a_digest(config: str, found: str) -> None:
    assert id_of(config) == found


def test_long_paths_have_short_ids() -> None:
    long = f"{'a' * 41}/megtrim.yaml"
    longer = f"{'a' * 42}/megtrim.yaml"

    assert id_of(f"{'a' * 40}/megtrim.yaml") == "a" * 40
    assert re.fullmatch("a{40}-[0-9a-f]{8}", id_of(long))
    assert id_of(long) != id_of(longer)


@given(st.text(min_size=1))
@example("\ud800/megtrim.yaml")
@example("megtrim.yaml#a")
def test_an_id_is_safe_in_every_name(config: str) -> None:
    found = id_of(config)

    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?(?:_[a-z0-9]+(?:-[a-z0-9]+)*)?", found)
    assert len(found) <= 90
    assert suffix_of(config) == (f".{found}" if found else "")


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ("megtrim.yaml", ("megtrim.yaml", "")),
        ("megtrim.yaml#arm64", ("megtrim.yaml", "arm64")),
        ("a#b/megtrim.yml#arm64", ("a#b/megtrim.yml", "arm64")),
        ("megtrim.yaml#", ("megtrim.yaml#", "")),
        ("a.yaml#/b.yaml", ("a.yaml#/b.yaml", "")),
        ("notes#1", ("notes#1", "")),
    ],
)
def test_a_toolchain_is_chosen_after_a_file(config: str, parts: tuple[str, str]) -> None:
    assert split(config) == parts


@given(PATHS, PATHS)
@example("a/b/megtrim.yaml", "a-b/megtrim.yaml")
@example("a-b/megtrim.yaml", "a/megtrim.yaml")
@example("a.yaml", "a/megtrim.yaml")
def test_different_paths_have_different_names(one: str, other: str) -> None:
    if id_of(one) == id_of(other):
        return
    theirs = (f"megtrim-traces{infix_of(other)}desk-1", f"megtrim-traces{suffix_of(other)}")

    assert not any(fnmatchcase(name, f"megtrim-traces{infix_of(one)}*") for name in theirs)


@given(st.lists(PATHS.filter(is_inside), max_size=20))
def test_only_one_path_has_an_id(paths: list[str]) -> None:
    different = {PurePosixPath(path) for path in paths}

    assert len({id_of(path) for path in paths}) == len(different)
