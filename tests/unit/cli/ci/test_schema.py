"""``megtrim ci schema``: the JSON Schema of megtrim.yaml."""

from __future__ import annotations

import json

from megtrim.cli.ci.schema import DIALECT, json_schema
from unit.cli.support import Shell


def test_schema_prints_the_schema(shell: Shell) -> None:
    """Of the configuration, for editors."""
    schema = json.loads(shell("ci", "schema").out)

    assert schema["$schema"].startswith("https://json-schema.org/")
    assert "keep_set" in schema["properties"]


def test_the_schema_knows_the_keys_as_they_are_written() -> None:
    """``class`` and ``timeout``, not the names that Python has for them; nothing else passes."""
    schema = json_schema()
    definitions = schema["$defs"]

    assert (schema["$schema"], schema["$id"]) == (DIALECT, "urn:megtrim:megtrim.yaml:1")
    assert schema["required"] == ["version", "engine", "models"]
    assert schema["additionalProperties"] is False
    assert list(definitions["DeviceConfig"]["properties"]) == [
        *("name", "kind", "class", "runner", "sysroot", "serial", "match"),
        *("host", "port", "user", "key", "known_hosts", "power", "cool_down", "governor", "cpus"),
    ]
    assert "timeout" in definitions["ScenarioConfig"]["properties"]
    assert definitions["EngineConfig"]["properties"]["kind"]["enum"] == ["megengine", "sample"]
    assert definitions["ToolchainConfig"]["properties"]["kind"]["enum"] == [
        "auto",
        "zig",
        "clang-linux-arm64",
        "ndk",
        "host",
    ]


def test_an_editor_can_say_what_a_key_is_for() -> None:
    """The docstrings of the model are its descriptions."""
    engine = json_schema()["$defs"]["EngineConfig"]["properties"]

    assert engine["target"]["description"] == (
        "Program that is built, trimmed, and run with the models."
    )
    assert engine["target"]["default"] == "load_and_run"


def test_the_schema_is_the_same_every_time() -> None:
    """So that a committed copy can be compared."""
    assert json.dumps(json_schema()) == json.dumps(json_schema())
