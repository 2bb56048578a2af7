"""The short megtrim.yaml that ``megtrim init --cmake`` writes: a project, and a first command."""

import json
from collections.abc import Mapping

_TEXT = """\
# megtrim.yaml: what to trim, and the commands that must work on the result.
# Paths are relative to this file. `megtrim trim` does it, `megtrim check` looks for mistakes.
version: 1
engine: {engine}
toolchain: {{kind: host}}
# deferred: functions that no scenario runs are in a second file, which the program loads when it
# needs one. function: they are gone, and a call of one is a trap.
trim: {{level: deferred}}
# What these run is kept, and its outputs must equal the plain program's: the files in {{outputs}},
# or else what is printed. Add one for each way in which the program is used.
scenarios:
- name: first
  args: {args}
{inputs}#- {{name: read, args: ["-"], stdin: FILE, environment: {{NAME: value}}, status: 0}}
keep_set: {keep_set}
#budgets: [{{artifact: {target}, max: 1 MiB}}]
"""


def render_project(
    *,
    source: str,
    folder: str,
    target: str,
    args: tuple[str, ...],
    inputs: Mapping[str, str],
    keep_set: str,
) -> str:
    engine = {"kind": "cmake", "source": source}
    if folder:
        engine["folder"] = folder
    engine["target"] = target
    return _TEXT.format(
        engine=_flow(engine),
        args=json.dumps(args, ensure_ascii=False),
        inputs=f"  inputs: {_flow(inputs)}\n" if inputs else "",
        keep_set=json.dumps(keep_set, ensure_ascii=False),
        target=target,
    )


def _flow(values: Mapping[str, str]) -> str:
    pairs = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return f"{{{', '.join(pairs)}}}"
