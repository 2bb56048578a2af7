"""The errors of pydantic, in the words of megtrim.yaml.

Pure: pydantic's errors in, :class:`~megtrim.config.problems.Problem` out; none of its own
messages are shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError

from megtrim.config.problems import KeyPath, Problem, closest, listing, show
from megtrim.config.value_types import EXPECTED

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from megtrim.config.document import Document

_MAPPING = "a mapping (key: value)"

_EXPECTED: Mapping[str, str] = {
    "string_type": "text (in quotes where it looks like something else)",
    "bool_type": "true or false",
    "float_type": "a number",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "finite_number": "a number that is not infinite",
    "less_than_equal": "{le:g} or less",
    "tuple_type": "a list",
    "too_short": "at least one entry (or the key left out, where it may be)",
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    EXPECTED: "{what}",
}


def problems_of(
    error: ValidationError, document: Document, model: type[BaseModel]
) -> Iterator[Problem]:
    """Yield what is wrong with a ``model``, each with the line of its key."""
    for details in error.errors(include_url=False):
        # A list with nothing but wrong entries counts as empty, too; its entries are reported.
        if details["type"] != "too_short" or not details["input"]:
            yield _problem(details, document, model)


def _problem(details: ErrorDetails, document: Document, model: type[BaseModel]) -> Problem:
    path: KeyPath = details["loc"]
    kind = details["type"]
    if kind == "missing":
        return document.problem(path, "nothing", "this key, which has no default")
    # A single path counts as a list of one, and a wrong key is reported below its section.
    path = document.nearest(path)
    if kind == "extra_forbidden":
        keys = _keys(model, path[:-1])
        return document.problem(path, "an unknown key", listing(keys), closest(path[-1], keys))
    context = details.get("ctx", {})
    found = show(details["input"])
    if kind in ("literal_error", "enum"):
        choices = re.findall(r"'([^']*)'", context["expected"]) or [context["expected"]]
        return document.problem(path, found, listing(choices), closest(details["input"], choices))
    return document.problem(path, found, _EXPECTED[kind].format(**context))


def _keys(section: type[BaseModel], path: KeyPath) -> list[str]:
    for part in path:
        if isinstance(part, str):
            section = next(
                _section(field.annotation)
                for name, field in section.model_fields.items()
                if (field.alias or name) == part
            )
    return [field.alias or name for name, field in section.model_fields.items()]


def _section(annotation: Any) -> type[BaseModel]:
    """Return the section inside ``tuple[Section, ...]`` or ``Section``."""
    candidates = (annotation, *get_args(annotation))
    return next(
        each for each in candidates if isinstance(each, type) and issubclass(each, BaseModel)
    )
