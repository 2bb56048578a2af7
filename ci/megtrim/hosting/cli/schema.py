"""``megtrim ci schema``: the JSON Schema of megtrim.yaml, and of what megtrim writes."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from megtrim.core.cli.echo import show
from megtrim.core.cli.options import examples
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
NAMES = tuple(_MADE)


def make_schema(name: str) -> dict[str, Any]:
    version, make = _MADE[name]
    return json_schema.identify(name, version, make())


def name_file(name: str) -> str:
    return f"{name.removesuffix('.json')}-{_MADE[name][0]}.schema.json"


@examples(
    "megtrim ci schema > megtrim.schema.json",
    "megtrim ci schema scenario > scenario.schema.json",
    "megtrim ci schema verdict.json",
)
@click.command()
@click.argument("name", type=click.Choice(NAMES), default=NAMES[0])
def schema(name: str) -> int:
    """Print the JSON Schema of megtrim.yaml, or of a file that megtrim writes.

    NAME may be megtrim.yaml; model or scenario, a file that holds one; verdict.json; sizes.json;
    size-history, what `megtrim size history --json` prints; or results, what --json of a stage
    prints.
    """
    show(json.dumps(make_schema(name), indent=1))
    return EXIT_PASS
