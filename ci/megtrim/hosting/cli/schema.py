"""``megtrim ci schema``: the JSON Schema of megtrim.yaml, and of what megtrim writes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from megtrim.core.cli.echo import show
from megtrim.core.cli.stage import RESULTS_VERSION, make_results_schema
from megtrim.core.config import json_schema
from megtrim.core.size import baseline, history
from megtrim.core.verdict import conclusion, model
from megtrim.libs.util.errors import EXIT_PASS
from megtrim.libs.util.strict_json import make_schemas


def _of_document(kind: type) -> dict[str, Any]:
    schemas, known = make_schemas([kind])
    name = schemas[kind]["$ref"].rpartition("/")[2] if "$ref" in schemas[kind] else ""
    document: dict[str, Any] = known.pop(name, schemas[kind])
    return document | {"$defs": known}


_MADE: Mapping[str, tuple[int, Callable[[], dict[str, Any]]]] = {
    **{name: (json_schema.VERSION, make) for name, make in json_schema.FILES.items()},
    "verdict.json": (conclusion.VERSION, lambda: _of_document(model.Verdict)),
    "sizes.json": (baseline.VERSION, lambda: _of_document(baseline.SizesDocument)),
    "size-history": (history.VERSION, lambda: _of_document(history.SizeHistory)),
    "results": (RESULTS_VERSION, make_results_schema),
}


def make_schema(name: str) -> dict[str, Any]:
    version, make = _MADE[name]
    return json_schema.identify(name, version, make())


def name_file(name: str) -> str:
    return f"{name.removesuffix('.json')}-{_MADE[name][0]}.schema.json"


def schema(name: str) -> int:
    show(json.dumps(make_schema(name), indent=1))
    return EXIT_PASS
