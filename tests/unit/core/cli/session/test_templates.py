import re
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.core.cli.session.templates import StarterModel, model_files, starter
from megtrim.core.config.document import parse_document
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.project import find_kind
from megtrim.hosting.caller_texts import (
    FORKS,
    NIGHT,
    REFRESH,
    RELEASE,
    SIZE_CHECK,
    Callers,
    Kit,
    name_check,
    parse_kit,
    workflows,
)
from megtrim.libs.util.errors import InputError

SHA = "0123456789abcdef0123456789abcdef01234567"
CALLERS = Callers(
    kit=Kit(repository="megtrim/kit.v2", sha=SHA, version="v1.20.3"),
    branch="release/1",
    config="trim/megtrim.yaml",
    keep_set="trim/keepset",
    nights=("",),
)


_KINDS = ("forks", "refresh", "night", "release")


@pytest.mark.parametrize(
    ("folder", "infix", "name"), [("", "", ""), ("android/", ".android", " android")]
)
def test_names_follow_the_configuration(folder: str, infix: str, name: str) -> None:
    config = f"{folder}megtrim.yaml"
    texts = workflows(replace(CALLERS, config=config, releases=True))

    assert list(texts) == [
        f".github/workflows/{kind}{infix}.yml"
        for kind in ("megtrim", *(f"megtrim-{each}" for each in _KINDS))
    ]
    assert folder or list(texts) == [SIZE_CHECK, FORKS, REFRESH, NIGHT, RELEASE]
    check, _, *others, release = texts.values()
    documents = [yaml.safe_load(text) for text in (check, *others)]
    assert [document["name"] for document in documents] == [
        f"megtrim{name}",
        f"megtrim refresh{name}",
        f"megtrim night{name}",
    ]
    size, refresh, night = (next(iter(document["jobs"].values())) for document in documents)
    assert [size["name"], refresh["name"], night["name"]] == [
        f"size{name}",
        f"refresh{name}",
        f"night{name}",
    ]
    assert name_check(config) == f"size{name} / verdict"
    assert f'the check "size{name} / verdict"' in check
    assert refresh["with"].get("size-check", "megtrim.yml") == f"megtrim{infix}.yml"
    tag = folder.replace("/", "-")
    assert f'tags: ["{tag}v[0-9]*"]' in release
    assert list(workflows(replace(CALLERS, config=config))) == list(texts)[:-1]


def test_two_configurations_share_no_file() -> None:
    folders = ("refresh", "night", "android")
    configs = ("megtrim.yaml", *(f"{folder}/megtrim.yaml" for folder in folders))
    paths = [path for config in configs for path in workflows(replace(CALLERS, config=config))]

    assert len({*paths}) == 16


def test_what_a_caller_says() -> None:
    check, _, refresh, night = workflows(CALLERS).values()

    uses = "    uses: megtrim/kit.v2/.github/workflows/"
    assert f"{uses}size-check.yml@{SHA} # v1.20.3\n" in check
    assert f"{uses}trace-refresh.yml@{SHA} # v1.20.3\n" in refresh
    assert f"{uses}nightly-performance.yml@{SHA} # v1.20.3\n" in night
    assert '  push: {branches: ["release/1"]}\n' in check
    assert yaml.safe_load(check)["jobs"]["size"]["with"] == {
        "config": "trim/megtrim.yaml",
        "pull-request": "${{ inputs.pull-request }}",
    }
    assert yaml.safe_load(refresh)["jobs"]["refresh"]["with"] == {
        "config": "trim/megtrim.yaml",
        "keep-set": "trim/keepset",
        "size-check": "megtrim.trim.yml",
    }
    assert yaml.safe_load(night)["jobs"]["night"]["with"] == {"config": "trim/megtrim.yaml"}


@pytest.mark.parametrize(
    "text",
    [
        "megtrim/kit",
        "https://github.com/megtrim/kit",
        "https://github.com/megtrim/kit.git/",
        "git@github.com:megtrim/kit.git",
        "ssh://git@github.com/megtrim/kit",
    ],
)
def test_a_kit_is_named_by_any_of_its_addresses(text: str) -> None:
    assert parse_kit(text, "https://github.com") == "megtrim/kit"


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("image-recipe", "recipe", "android-arm64"),
        ("packages", "packages", "clang-14 g++-aarch64-linux-gnu"),
    ],
)
def test_what_jobs_need_is_named_where_there_is_some(key: str, field: str, value: str) -> None:
    texts = workflows(replace(CALLERS, **{field: value}))  # type: ignore[arg-type]
    del texts[FORKS.replace(".yml", ".trim.yml")]

    for text in texts.values():
        job = next(iter(yaml.safe_load(text)["jobs"].values()))
        assert job["with"][key] == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"config": "a b.yaml"}, "config: found 'a b.yaml', expected a path without spaces"),
        ({"config": "../m.yaml"}, "config: found '../m.yaml', expected"),
        ({"config": "/m.yaml"}, "config: found '/m.yaml', expected"),
        ({"keep_set": "a,b"}, "keep set: found 'a,b', expected"),
        ({"branch": "main]"}, "branch: found 'main]', expected the name of a branch"),
        ({"packages": "a\nb"}, "packages: found 'a\\nb', expected"),
        ({"kit": Kit(repository="kit", sha=SHA, version="v1.2.3")}, "repository: found 'kit'"),
        ({"kit": Kit(repository="a/b/c", sha=SHA, version="v1.2.3")}, "repository: found 'a/b/c'"),
        ({"kit": Kit(repository="a/..", sha=SHA, version="v1.2.3")}, "repository: found 'a/..'"),
        ({"kit": Kit(repository="a/b", sha="main", version="v1.2.3")}, "sha: found 'main'"),
        ({"kit": Kit(repository="a/b", sha=SHA[:39], version="v1.2.3")}, "sha: found '0123456789"),
        ({"kit": Kit(repository="a/b", sha=SHA.upper(), version="v1.2.3")}, "sha: found"),
        ({"kit": Kit(repository="a/b", sha=SHA, version="v1")}, "version: found 'v1', expected"),
        ({"kit": Kit(repository="a/b", sha=SHA, version="v1.2.3\n")}, "version: found"),
    ],
)
def test_what_could_be_read_otherwise_is_refused(change: dict[str, str], message: str) -> None:
    """It would stand in a file that runs with a team's rights."""
    with pytest.raises(InputError) as error:
        workflows(replace(CALLERS, **change))  # type: ignore[arg-type]

    assert error.value.message.startswith(message)


Kind = Literal["megengine", "sample"]
SOURCES = {"megengine": "third_party/MegEngine", "sample": ""}
MODEL = StarterModel(file="m.mge", strip_info="m.json", inputs=(("h2d[0]", "in put.npy"),))


def _texts(kind: Kind, toolchain: str = "auto") -> dict[str, str]:
    main = starter(find_kind(kind).starter, source=SOURCES[kind], toolchain=toolchain)
    return {"megtrim.yaml": main, **model_files([MODEL])}


def _load(folder: Path, texts: dict[str, str]) -> LoadedConfig:
    for name in ("m.mge", "m.json", "in put.npy", "other.mge"):
        (folder / name).touch()
    (folder / "third_party/MegEngine").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_the_starter_loads_as_it_is(tmp_path: Path, kind: Kind) -> None:
    config = _load(tmp_path, _texts(kind, "host")).config
    scenario = config.models[0].scenarios[0]

    assert config.engine.kind == kind
    assert config.engine.source == (Path(SOURCES[kind]) if SOURCES[kind] else None)
    assert (config.toolchain.kind, config.models[0].name) == ("host", "m")
    assert config.models[0].strip_info == (Path("m.json"),)
    assert (scenario.name, scenario.args) == ("default", ("--cpu",))
    assert scenario.inputs == {"h2d[0]": Path("in put.npy")}


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_all_that_it_shows_commented_out_loads_too(tmp_path: Path, kind: Kind) -> None:
    texts = _texts(kind)
    uncommented = {
        name: re.sub(r"^( *)#(?=[^ \n])", r"\1", text, flags=re.MULTILINE)
        for name, text in texts.items()
    }
    config = _load(tmp_path, uncommented).config

    assert "".join(uncommented.values()).count("#") < "".join(texts.values()).count("#") - 10
    assert config.toolchain.jobs == 4
    assert config.models[0].scenarios[0].fast_run
    assert (config.devices[0].name, config.waivers[0].owner) == ("here", "you")
    assert config.verify.max_age_s == 14 * 86_400


def test_models_get_names_of_their_own() -> None:
    files = ["m.mge", "sub/m.mge", "été 1.mge", "---.mge", "2024.mge", "true.mge"]
    texts = model_files([StarterModel(file=file) for file in files])
    names = ["m", "m-2", "t-1", "model", "2024", "true"]

    assert list(texts) == [
        path
        for name in names
        for path in (f"megtrim/models/{name}.yaml", f"megtrim/models/{name}/default.yaml")
    ]
    data = [parse_document(text.encode(), file="f").data for text in texts.values()]
    assert [each["name"] for each in data[::2]] == names
    assert [each["file"] for each in data[::2]] == files


def test_a_path_that_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(InputError, match="control characters"):
        model_files([StarterModel(file="a\nb.mge")])


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(file=st.text(min_size=1, max_size=20), source=st.text(min_size=1, max_size=20))
def test_paths_are_written_so_that_they_read_back(file: str, source: str) -> None:
    try:
        main = starter(find_kind("megengine").starter, source=source)
        model, _ = model_files([StarterModel(file=file)]).values()
    except InputError:
        assert not (file.isprintable() and source.isprintable())
        return
    data = parse_document(main.encode(), file="megtrim.yaml").data

    assert isinstance(data["engine"], dict)
    assert data["engine"]["source"] == source
    assert parse_document(model.encode(), file="m.yaml").data["file"] == file
