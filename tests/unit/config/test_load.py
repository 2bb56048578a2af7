import hashlib
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from megtrim.config.device import DeviceConfig
from megtrim.config.document import parse_document
from megtrim.config.load import load_config, problems_of
from megtrim.config.model import (
    Budget,
    Config,
    CpuClass,
    EngineConfig,
    ModelConfig,
    ScenarioConfig,
    ToolchainConfig,
    TrimConfig,
    VerifyConfig,
    Waiver,
)
from megtrim.config.problems import MOST_SHOWN, ConfigError
from megtrim.util.errors import InputError
from unit.config.support import ENGINE, MODEL, SMALL, load

FAILING = sorted((Path(__file__).parent / "cases" / "failing").iterdir())
EXAMPLES = Path(__file__).parents[3] / "examples"


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
    loaded = load(
        tmp_path,
        ENGINE + "classes: [{name: old}, {name: new}]\ndevices: [{name: d, class: old}]\n" + MODEL,
    )

    [warning] = loaded.warnings
    file = tmp_path / "megtrim.yaml"
    text = "m/s@new: no device is of class new, so this stays unverified"
    assert warning == f"{file}:9: {text}"


RUNNERS = """\
version: 1
engine: {kind: sample}
classes:
- {name: old, qemu_cpu: cortex-a53}
- {name: new}
- {name: newest}
devices:
- {name: a, class: old, runner: true}
- {name: b, class: new, runner: true}
- {name: c, class: new, runner: true}
- {name: d, class: newest, runner: true}
- {name: e, class: newest}
"""


def test_a_class_of_runners_that_nothing_can_play_is_warned_of(tmp_path: Path) -> None:
    """Its own CPU chooses other kernels than one with every feature would."""
    loaded = load(tmp_path, RUNNERS + MODEL)

    [warning] = loaded.warnings
    assert warning == (
        f"{tmp_path / 'megtrim.yaml'}:5: class new: without its runner, an emulated CPU with "
        "every feature takes its place, which may choose other kernels; set its qemu_cpu"
    )


MEGENGINE = "version: 1\nengine: {kind: megengine, source: absent}\n" + MODEL


def test_the_engine_can_be_somewhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "engine").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r":2: engine\.source: found 'absent', no such folder"):
        load(tmp_path, MEGENGINE)
    monkeypatch.chdir(tmp_path / "here")
    loaded = load_config(tmp_path / "megtrim.yaml", engine_source=Path("engine"))

    assert loaded.config.engine.source == tmp_path / "here" / "engine"
    assert loaded.config.engine.target == "load_and_run"


def test_an_engine_that_is_not_there_is_shown_by_its_path(tmp_path: Path) -> None:
    load(tmp_path, SMALL)
    with pytest.raises(ConfigError, match=r"found '/no/such/engine', no such folder"):
        load_config(tmp_path / "megtrim.yaml", engine_source=Path("/no/such/engine"))


def test_a_file_that_is_not_there_comes_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "none.yaml")

    assert caught.value.message == (
        f"{tmp_path}/none.yaml: found no such file, expected a megtrim.yaml"
    )
    assert caught.value.hint == "`megtrim init` writes one, --config names another"
    with pytest.raises(ConfigError, match="found a folder, expected"):
        load_config(tmp_path)
    with pytest.raises(
        ConfigError, match=r"found a path that leads nowhere \(File name too long\)"
    ):
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


def test_a_message_stays_readable(tmp_path: Path) -> None:
    text = SMALL + "".join(f"key{number}: 1\n" for number in range(100)) + f"{'k' * 200}: 1\n"
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)

    assert caught.value.message.splitlines()[-1] == f"and {101 - MOST_SHOWN} more problems"
    assert len(caught.value.message.splitlines()) == MOST_SHOWN + 1
    assert len(caught.value.problems[-1].key) == 60


def test_the_example_for_the_engine_loads(tmp_path: Path) -> None:
    loaded = load_config(EXAMPLES / "megengine-linux-arm64.yaml", engine_source=tmp_path)

    assert [(each.name, each.fast_run) for each in loaded.config.models[0].scenarios] == [
        ("default", False),
        ("tuned", True),
    ]
    assert str(loaded.config.budgets[0].max_size) == "3145728 B"


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.dates()
    | st.sampled_from(["sample", "megengine", "m", "m.mge", "any", "3 MiB", "10 minutes", "--cpu"])
)
SECTIONS = (
    Config,
    EngineConfig,
    ToolchainConfig,
    TrimConfig,
    CpuClass,
    DeviceConfig,
    ModelConfig,
    ScenarioConfig,
    VerifyConfig,
    Budget,
    Waiver,
)
KNOWN_KEYS = sorted(
    {field.alias or name for each in SECTIONS for name, field in each.model_fields.items()}
)
KEYS = st.sampled_from(KNOWN_KEYS) | st.text(max_size=4)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=30,
)
QUICK = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _loads_or_refuses(folder: Path, raw: bytes) -> None:
    file = folder / "megtrim.yaml"
    file.write_bytes(raw)
    try:
        assert load_config(file).config.version == 1
    except InputError as error:
        assert str(file) in error.message
        assert "pydantic" not in error.message


@QUICK
@given(data=st.data())
def test_a_good_file_with_one_value_replaced_loads_or_is_refused(
    tmp_path: Path, data: st.DataObject
) -> None:
    (tmp_path / "m.mge").touch()
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

    _loads_or_refuses(tmp_path, yaml.safe_dump(tree, allow_unicode=True).encode("utf-8"))


HEAD = "version: 1\nengine: {kind: sample}\n"
MODELS = "models:\n- {name: m, file: f, scenarios: [{name: s}]}\n"


def problems(text: str) -> list[str]:
    document = parse_document(text.encode(), file="f")
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(document.data)
    return [str(each) for each in problems_of(caught.value, document, Config)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("jobs: 3", "jobs: found an unknown key, expected version, engine, "),
        ("trim: {levle: region}", "trim.levle: found an unknown key, expected level, base, "),
        ("toolchain: {jobs: 1.5}", "toolchain.jobs: found the number 1.5, expected a whole number"),
        ("toolchain: {ndk: 21}", "toolchain.ndk: found the number 21, expected text (in quotes "),
        ("toolchain: {ndk: 21e}", "toolchain.ndk: found '21e', expected a release of the NDK"),
        ("budgets: [{max: 1 MiB}]", "budgets[0].artifact: found nothing, expected this key, which"),
    ],
)
def test_a_mistake_has_its_line_and_what_was_expected(line: str, problem: str) -> None:
    [found] = problems(f"{HEAD}{MODELS}{line}\n")

    assert found.startswith(f"f:5: {problem}")


def test_the_keys_of_a_section_in_a_list_are_its_own() -> None:
    [problem] = problems(
        f"{HEAD}models:\n- {{name: m, fiel: f, file: f, scenarios: [{{name: s}}]}}\n"
    )

    assert problem.startswith("f:4: models[0].fiel: found an unknown key, expected name, file, ")
    assert problem.endswith("(did you mean file?)")


def test_a_list_of_wrong_entries_is_not_called_empty() -> None:
    assert problems(f"{HEAD}models: [3]\n") == [
        "f:3: models[0]: found the number 3, expected a mapping (key: value)"
    ]
    [problem] = problems(f"{HEAD}models:\n- {{name: m, file: f, scenarios: []}}\n")
    assert problem.startswith(
        "f:4: models[0].scenarios: found an empty list, expected at least one"
    )


def test_a_single_path_that_counts_as_a_list_has_the_line_of_its_key() -> None:
    [problem] = problems(
        f"{HEAD}models:\n- name: m\n  file: f\n  also: 3\n  scenarios: [{{name: s}}]\n"
    )

    assert problem.startswith("f:6: models[0].also: found the number 3, expected ")
