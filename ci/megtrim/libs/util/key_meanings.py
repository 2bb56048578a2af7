"""What the source says of each key of a section, in the text below it: the JSON Schema has it."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


def describe_keys(section: type[BaseModel], schema: Schema) -> None:
    """Add the descriptions to the schema of a section.

    pydantic can do it, but whenever a section is defined: then reading the source again would take
    a tenth of the time of a short verb.
    """
    by_name = dict(_read_meanings(section))
    for name, field in section.model_fields.items():
        if name in by_name:
            schema["properties"][field.alias or name]["description"] = by_name[name]


def _read_meanings(section: type[BaseModel]) -> Iterator[tuple[str, str]]:
    for model in reversed(section.__mro__):
        if issubclass(model, BaseModel) and model is not BaseModel:
            yield from _read_own(model)


def _read_own(model: type[BaseModel]) -> Iterator[tuple[str, str]]:
    source = textwrap.dedent(inspect.getsource(model))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.ClassDef)
    for line, below in pairwise(definition.body):
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        if not isinstance(below, ast.Expr) or not isinstance(below.value, ast.Constant):
            continue
        if isinstance(below.value.value, str):
            yield line.target.id, inspect.cleandoc(below.value.value)
