"""The JSON Schema of megtrim.yaml, made from the model, with what the parser checks across keys."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from megtrim.core.build_spec import LOWEST_API, MINIMUM_SIZE, Variant
from megtrim.core.config.device import KINDS_OF_KEY, PATH_KEYS
from megtrim.core.config.kinds import (
    BLOCKS,
    CMAKE,
    FUNCTION_LEVELS,
    LINK,
    find_facts,
    has_models,
    list_built_by,
)
from megtrim.core.config.limits import Budget
from megtrim.core.config.model import Config
from megtrim.core.config.references import (
    CLANG,
    COMPILED,
    FUNCTION_KEYS,
    GUARD_KEYS,
    KINDS_OF_TOOLCHAIN_KEY,
    OF_ONE,
    OF_TRIMMED,
    PARTS,
)
from megtrim.core.config.run_checks import BUILDER_OF_KEY, OWN_ARGUMENTS
from megtrim.core.config.value_types import Limit, Requirement

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = 1
"""Of megtrim.yaml."""

Schema = dict[str, Any]
_REFERENCE = re.compile(r"#/\$defs/(\w+)")
_ABOUT = ("title", "default", "description")


def identify(name: str, version: int, schema: Schema) -> Schema:
    if "version" in schema["properties"]:
        schema["properties"]["version"] = {"const": version}
    return {"$schema": DIALECT, "$id": f"urn:megtrim:{name}:{version}"} | schema


def make_item_schema(section: str) -> Schema:
    definitions = make_json_schema()["$defs"]
    needed: dict[str, Schema] = {}
    waiting = [definitions[section]]
    while waiting:
        for name in _REFERENCE.findall(json.dumps(waiting.pop())):
            if name not in needed:
                needed[name] = definitions[name]
                waiting.append(definitions[name])
    return {**definitions[section], "$defs": needed}


def make_json_schema() -> Schema:
    schema = Config.model_json_schema(by_alias=True)
    rules = _make_rules()
    for name, section in (("Config", schema), *schema["$defs"].items()):
        if "properties" in section:
            _allow_empty(section)
            _close_mappings(section)
        if name in rules:
            section["allOf"] = list(rules[name])
    return schema


def _allow_empty(section: Schema) -> None:
    """Let a key that may be left out stand without a value, its entries commented out."""
    for key, value in section["properties"].items():
        if key in section.get("required", ()):
            continue
        about = {word: value.pop(word) for word in _ABOUT if word in value}
        choices = value["anyOf"] if set(value) == {"anyOf"} else [value]
        if {"type": "null"} not in choices:
            choices = [*choices, {"type": "null"}]
        section["properties"][key] = {**about, "anyOf": choices}


def _close_mappings(value: object) -> None:
    if isinstance(value, dict):
        if "patternProperties" in value:
            value["additionalProperties"] = False
        for each in value.values():
            _close_mappings(each)
    elif isinstance(value, list):
        for each in value:
            _close_mappings(each)


def _has(key: str) -> Schema:
    return {"required": [key], "properties": {key: {"not": {"type": "null"}}}}


def _is(key: str, *values: object) -> Schema:
    return {"required": [key], "properties": {key: {"enum": list(values)}}}


def _if(condition: Schema, then: Schema) -> Schema:
    return {"if": condition, "then": then}


def _unique(*keys: str) -> Schema:
    return {"properties": {key: {"uniqueItems": True} for key in keys}}


def _device_rules() -> Iterator[Schema]:
    for key, kinds in KINDS_OF_KEY.items():
        anywhere = {"properties": {"kind": {"enum": [*kinds, None]}}}
        yield _if(_has(key), anywhere if "auto" in kinds else _is("kind", *kinds))
    yield _if(_is("kind", "adb"), {"oneOf": [_has("serial"), _has("match")]})
    yield _if(_is("kind", "ssh"), _has("host"))
    on_runner = {"pattern": "^(/|~/)"}
    yield _if(_is("runner", True), {"properties": dict.fromkeys(PATH_KEYS, on_runner)})


def _toolchain_rules() -> Iterator[Schema]:
    for key, kinds in KINDS_OF_TOOLCHAIN_KEY.items():
        left_out = {"properties": {"kind": {"enum": [*kinds, None]}}}
        of_kind = left_out if "auto" in kinds else _is("kind", *kinds)
        yield _if(_is(key, True) if key == "fp16" else _has(key), of_kind)
    first, *_ = LOWEST_API
    for abi, lowest in LOWEST_API.items():
        chosen = {"properties": {"abi": {"enum": [abi, None]}}} if abi == first else _is("abi", abi)
        yield _if(chosen, {"properties": {"api": {"minimum": lowest}}})
    yield _if(_is("fp16", True), {"properties": {"abi": {"enum": [first, None]}}})


def _engine_rules() -> Iterator[Schema]:
    projects = list_built_by(CMAKE, LINK)
    yield _if(_is("kind", *projects), {"allOf": [_has("source"), _has("target")]})
    yield _if(_is("kind", LINK), _has("build"))
    for key, builder in BUILDER_OF_KEY.items():
        yield _if({"required": [key]}, _is("kind", *list_built_by(builder)))


_PROJECT_TRIM: Schema = {
    "properties": {
        "level": {"enum": [*FUNCTION_LEVELS, None]},
        "base": {"enum": ["plain", None]},
        "caches": {"enum": ["each", None]},
    }
    | {key: {"type": "null"} for key in COMPILED}
}
"""Of a project, which marks no kernels and has no switches."""


def _trim_rules() -> Iterator[Schema]:
    for key in FUNCTION_KEYS:
        of_functions = {
            "properties": {"level": {"enum": list(FUNCTION_LEVELS)}},
            "required": ["level"],
        }
        yield _if({"required": [key]}, of_functions)
    yield _if(_is("base", "plain"), {"not": {"anyOf": [{"required": [key]} for key in COMPILED]}})
    yield _if(_is("crash_ids", True), {"properties": {"layout": {"enum": ["scoped", None]}}})
    by_functions = {
        "properties": {"level": {"const": "function"}, "crash_ids": {"enum": [False, None]}},
        "required": ["level"],
    }
    yield _if(_is("on_missing", "error"), by_functions)
    for key in GUARD_KEYS:
        yield _if({"required": [key]}, _is("on_missing", "error"))
    off = {"properties": {str(each): {"not": {"const": True}} for each in MINIMUM_SIZE}}
    yield _if({"not": _is("minimum_size", False)}, {"properties": {"switches": off}})


def _scenario_rules() -> Iterator[Schema]:
    own = f"^({'|'.join(OWN_ARGUMENTS)})(=|$)"  # JSON Schema knows no escaped hyphen
    arguments = {"items": {"not": {"type": "string", "pattern": own}}}
    yield {
        "if": _has("application"),
        "then": _has("args"),
        "else": {"properties": {"args": arguments}},
    }
    searching = {"allOf": [_has("application"), _is("fast_run", True)]}
    yield _if(searching, _has("algo_cache"))
    yield _unique("classes")


def _budget_rules() -> Iterator[Schema]:
    limits = Budget.find_marked(Limit)
    yield {"anyOf": [_has(key) for key in limits]}
    share = {"type": "string", "pattern": "%"}
    for key, limit in limits.items():
        if limit.takes_share:
            yield _if({"required": [key], "properties": {key: share}}, _has(limit.below))
    for key, required in Budget.find_marked(Requirement).items():
        yield _if(_has(key), _has(required.key))
    trimmed = {"properties": {"variant": {"enum": [str(Variant.REDUCED), None]}}}
    for key in OF_TRIMMED:
        yield _if(_has(key), trimmed)
    in_bytes = {"properties": {"max": {"not": share}}}
    for sole in (*map(_has, OF_TRIMMED), _is("variant", str(Variant.PLAIN))):
        yield _if(sole, in_bytes)
    whole = {"properties": {"size": {"enum": ["stripped", None]}}}
    for key in PARTS:
        others = [_has(other) for other in PARTS if other != key]
        yield _if(_has(key), {**whole, "not": {"anyOf": others}})


_NO_SCENARIOS: Schema = {"anyOf": [{"type": "null"}, {"type": "array", "maxItems": 0}]}
_SOME_SCENARIOS: Schema = {
    "required": ["scenarios"],
    "properties": {"scenarios": {"not": _NO_SCENARIOS}},
}


def _config_rules() -> Iterator[Schema]:
    yield {"anyOf": [_has("models"), _has("scenarios")]}
    projects = list_built_by(CMAKE, LINK)
    without_models = [kind for kind in find_facts() if not has_models(kind)]
    for kinds, keys in (
        (projects, {"trim": _PROJECT_TRIM}),
        (without_models, {"models": {"type": "null"}}),
    ):
        of_kind = {"properties": {"engine": _is("kind", *kinds)}, "required": ["engine"]}
        yield _if(of_kind, {"properties": keys})
    by_operators = {"properties": {"trim": _is("level", "operator")}, "required": ["trim"]}
    yield _if(
        {"not": {"anyOf": [by_operators, _has("toolchains")]}},
        {"properties": {"models": {"items": _SOME_SCENARIOS}}},
    )
    yield _unique("artifacts")
    yield _if(_has("toolchains"), {"not": {"anyOf": [_has(key) for key in OF_ONE]}})
    yield {"properties": {"artifacts": {"items": {"not": {"type": "string", "pattern": r"\.a$"}}}}}


def _block_rules() -> Iterator[Schema]:
    """Functions are cut in plain builds, by one compiler; a recorded link brings its own."""
    blocks = {"properties": {"trim": _is("level", BLOCKS)}, "required": ["trim"]}
    plain = {"properties": {"trim": _is("base", "plain")}}
    by_clang = {"properties": {"kind": {"enum": ["auto", CLANG, None]}}}
    without_own = {"items": _if({"not": _has("trim")}, by_clang)}
    by_one_compiler = {"properties": {"toolchain": by_clang, "toolchains": without_own}}
    for free, whole, item in (
        (list_built_by(CMAKE, LINK), plain, plain),
        (list_built_by(LINK), by_one_compiler, by_clang),
    ):
        bound = {"properties": {"engine": {"not": _is("kind", *free)}}}
        yield _if({"allOf": [bound, blocks]}, whole)
        yield _if(bound, {"properties": {"toolchains": {"items": _if(blocks, item)}}})


def _make_rules() -> Mapping[str, Iterable[Schema]]:
    return {
        "Config": [*_config_rules(), *_block_rules()],
        "Application": [_if(_has(key), _has("source")) for key in ("library", "cmake")],
        "Budget": _budget_rules(),
        "CommandConfig": [_unique("classes")],
        "EngineConfig": _engine_rules(),
        "DeviceConfig": _device_rules(),
        "NamedToolchain": _toolchain_rules(),
        "PerfConfig": [_unique("experiments", "recipes", "scenarios", "classes")],
        "PerfHistoryConfig": [{"not": {"required": ["folder", "branch"]}}],
        "ScenarioConfig": _scenario_rules(),
        "ToolchainConfig": _toolchain_rules(),
        "TrimConfig": _trim_rules(),
    }


FILES: Mapping[str, Callable[[], Schema]] = {
    "megtrim.yaml": make_json_schema,
    "model": lambda: make_item_schema("ModelConfig"),
    "scenario": lambda: make_item_schema("ScenarioConfig"),
    "command": lambda: make_item_schema("CommandConfig"),
}
"""Of each kind of file that people write, how its schema is made."""


def make_files() -> dict[str, str]:
    """Return the schemas of all of these by the names of their files, ``model.schema.json``."""
    made = {name: identify(name, VERSION, make()) for name, make in FILES.items()}
    return {
        f"{name.removesuffix('.yaml')}.schema.json": json.dumps(schema, indent=1) + "\n"
        for name, schema in made.items()
    }
