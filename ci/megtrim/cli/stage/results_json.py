"""What ``--json`` of a stage, or of the whole chain, prints; and the JSON Schema of that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from megtrim.pipeline.session import TaskResults
from megtrim.plan.graph import Stage
from megtrim.stage_result import StageResult, dump_result
from megtrim.stages.runner import MODULES
from megtrim.strict_json import make_schemas

VERSION = 2


def render(results: TaskResults) -> str:
    """Return the folder and the result of each task, and why others failed."""
    done = {
        task: {"folder": str(folder.path), "result": dump_result(folder.result)}
        for task, folder in results.done.items()
    }
    failed = {
        task: {"exit": error.exit_code, "message": str(error)}
        for task, error in results.failed.items()
    }
    document = {"version": VERSION, "done": done, "failed": failed}
    return json.dumps(document, indent=1, sort_keys=True)


def make_schema() -> dict[str, Any]:
    """Return the schema, with a form of result for each stage, whose name begins a task's id."""
    kinds = {stage: tuple(list_kinds(stage)) for stage in Stage}
    schemas, known = make_schemas(kind for each in kinds.values() for kind in each)
    done = {
        f"^{stage}/": _object(
            folder={"type": "string"}, result={"anyOf": [schemas[kind] for kind in kinds[stage]]}
        )
        for stage in Stage
    }
    failed = _object(exit={"enum": [1, 2, 3]}, message={"type": "string"})
    document = _object(
        version={"const": VERSION},
        done={"type": "object", "patternProperties": done, "additionalProperties": False},
        failed={"type": "object", "additionalProperties": failed},
    )
    return document | {"$defs": known}


def list_kinds(stage: Stage) -> Iterator[type[StageResult]]:
    """Yield the types of the results that a stage has."""
    [kind] = get_args(get_type_hints(MODULES[stage].result_type)["return"])
    yield from get_args(kind) or (kind,)


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
