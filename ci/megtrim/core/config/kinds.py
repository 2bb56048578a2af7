"""The kinds of engine and toolchain, and the levels, that megtrim.yaml can name."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from megtrim.core.config.value_types import NO_CHOICE
from megtrim.core.parts import find_parts, load

ToolchainKind = Literal[
    "auto",
    "zig",
    "clang-linux-arm64",
    "clang-linux-armhf",
    "ndk",
    "host",
]


CMAKE = "cmake"
LINK = "link"
DEFERRED = "deferred"
BLOCKS = "blocks"
DEFAULT_LEVEL = DEFERRED
"""Of projects."""
DEFERRING_LEVELS = (DEFERRED, BLOCKS)
"""Levels of which what did not run is in a second file."""
FUNCTION_LEVELS = ("function", *DEFERRING_LEVELS)


class KindFacts(Protocol):
    """What a kind of engine says of itself, as a class: ``Project`` in full."""

    built_by: str
    models: object | None


def find_facts() -> Mapping[str, KindFacts]:
    return {kind: load(place, "its kind") for kind, place in find_parts().engines.items()}


def find_builder(kind: object) -> str:
    """Return what builds any project of a kind; empty for engines that are known by name."""
    place = find_parts().engines.get(kind, "") if isinstance(kind, str) else ""
    if not place:
        return ""
    facts: KindFacts = load(place, f"engines of kind {kind}")
    return facts.built_by


def name_source(kind: str) -> str:
    """Return the word for what is trimmed: only some of it is an engine."""
    return "source" if find_builder(kind) else "engine"


def list_built_by(*builders: str) -> tuple[str, ...]:
    return tuple(kind for kind, facts in find_facts().items() if facts.built_by in builders)


def has_models(kind: str) -> bool:
    facts: KindFacts = load(find_parts().engines.get(kind, ""), f"engines of kind {kind}")
    return facts.models is not None


def _read_engine_kind(value: object) -> object:
    kinds = find_parts().engines
    if isinstance(value, str) and value in kinds:
        return value
    choices = {"expected": ", ".join(f"'{kind}'" for kind in kinds)}
    raise PydanticCustomError(NO_CHOICE, "{expected}", choices)


def _list_engine_kinds(schema: dict[str, Any]) -> None:
    schema["enum"] = list(find_parts().engines)


EngineKind = Annotated[
    str, BeforeValidator(_read_engine_kind), Field(json_schema_extra=_list_engine_kinds)
]
"""One of those that parts hand in."""


def _read_base(value: object) -> object:
    return "region" if value == "reduced" else value


Base = Annotated[
    Literal["region", "plain"],
    BeforeValidator(_read_base),
    Field(json_schema_extra={"enum": ["region", "plain", "reduced"]}),
]
"""The build that trimming functions starts from; ``reduced`` is an older name of ``region``."""
