import json
from collections.abc import Iterator
from typing import Any

import pytest
import regress
import yaml
from jsonschema import Draft202012Validator

from megtrim.cli.ci.schema import NAMES, make_schema, name_file
from megtrim.size.baseline import dump_sizes
from megtrim.size.budgets import Baseline
from megtrim.verdict.model import to_json
from unit.cli.support import Shell
from unit.verdict import examples


def find_errors(name: str, document: Any) -> list[str]:
    return [each.message for each in Draft202012Validator(make_schema(name)).iter_errors(document)]


def test_the_schema_of_the_configuration_is_printed(shell: Shell) -> None:
    schema = json.loads(shell("ci", "schema").out)

    assert schema == make_schema("megtrim.yaml")
    assert schema["required"] == ["version", "engine", "models"]
    assert "keep_set" in schema["properties"]
    assert json.loads(shell("ci", "schema", "sizes.json").out) == make_schema("sizes.json")
    assert shell("ci", "schema", "nonsense").status == 2


def test_the_schema_knows_the_keys_as_they_are_written() -> None:
    definitions = make_schema("megtrim.yaml")["$defs"]

    assert list(definitions["DeviceConfig"]["properties"]) == [
        *("name", "kind", "class", "runner", "host", "port", "user", "key", "known_hosts", "power"),
        *("sysroot", "serial", "match", "cool_down", "governor", "cpus"),
        "toolchains",
    ]
    assert "timeout" in definitions["ScenarioConfig"]["properties"]
    assert definitions["EngineConfig"]["properties"]["kind"]["enum"] == ["megengine", "sample"]


def test_an_editor_can_say_what_a_key_is_for() -> None:
    engine = make_schema("megtrim.yaml")["$defs"]["EngineConfig"]["properties"]

    assert engine["target"]["description"] == (
        "Program that is built, trimmed, and run with the models."
    )
    assert engine["target"]["default"] == "load_and_run"


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_says_its_version(name: str) -> None:
    schema = make_schema(name)
    Draft202012Validator.check_schema(schema)

    version = schema["properties"].get("version", {"const": 1})["const"]
    assert schema["$id"] == f"urn:megtrim:{name}:{version}"
    assert name_file(name).endswith(f"-{version}.schema.json")
    assert find_errors(name, {"version": version + 1})
    for pattern in list_patterns(schema):
        regress.Regex(pattern, "u")  # as editors and check-jsonschema read it


def list_patterns(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (each for key, each in value.items() if key == "pattern" and each is str(each))
        yield from value.get("patternProperties", ())
    for each in value.values() if isinstance(value, dict) else value:
        if isinstance(each, dict | list):
            yield from list_patterns(each)


@pytest.mark.parametrize(
    ("name", "file", "parts"),
    [("model", "m.yaml", ["ScenarioConfig"]), ("scenario", "m/default.yaml", [])],
)
def test_files_of_models_and_scenarios_have_schemas(
    shell: Shell, name: str, file: str, parts: list[str]
) -> None:
    shell.sample("tiny-vgg.sample")
    (shell.folder / "tiny-vgg.sample").rename(shell.folder / "m.sample")
    assert shell("init", "m.sample").status == 0
    document = yaml.safe_load((shell.folder / "megtrim/models" / file).read_text("utf-8"))

    assert find_errors(name, document) == []
    assert find_errors(name, document | {"sauce": 1})
    assert [*json.loads(shell("ci", "schema", name).out)["$defs"]] == parts


@pytest.mark.parametrize(
    "make", [examples.passing, examples.failing, examples.near, examples.compared, examples.hostile]
)
def test_a_verdict_fits_its_schema(make: Any) -> None:
    document = json.loads(to_json(make()))

    assert find_errors("verdict.json", document) == []
    assert find_errors("verdict.json", document | {"more": 1})
    assert find_errors("verdict.json", document | {"checks": "none"})
    assert find_errors("verdict.json", {k: v for k, v in document.items() if k != "headline"})


def test_sizes_fit_their_schema() -> None:
    sizes = {("load_and_run", "reduced"): 5, ("load_and_run", "plain"): 9}
    full = json.loads(dump_sizes(Baseline(sizes=sizes)))

    assert find_errors("sizes.json", full) == []
    none = dump_sizes(Baseline(sizes={}, source="none", quick=True))
    assert find_errors("sizes.json", json.loads(none)) == []
    assert find_errors("sizes.json", full | {"artifacts": {"load_and_run": {"plain": -1}}})
