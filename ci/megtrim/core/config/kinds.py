"""The kinds of engine and toolchain that megtrim.yaml can name."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from megtrim.core.config.value_types import NO_CHOICE
from megtrim.core.parts import find_parts

ToolchainKind = Literal[
    "auto",
    "zig",
    "clang-linux-arm64",
    "clang-linux-armhf",
    "ndk",
    "host",
]


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
