"""The short megtrim.yaml of a project: with a first command, or with models that a program runs."""

import json
from collections.abc import Mapping, Sequence

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


_WITH_MODELS = """\
# megtrim.yaml: what to trim, for which models, and the program that runs them.
# Paths are relative to this file. `megtrim trim` does it, `megtrim check` looks for mistakes.
version: 1
engine: {engine}
toolchain: {{kind: host}}
# deferred: functions that no scenario runs are in a second file, which the program loads when it
# needs one. function: they are gone, and a call of one is a trap. prices: what each model costs.
trim: {{level: deferred, prices: true}}
# Your program: the folder of its CMakeLists.txt, which links MEGTRIM_ENGINE_LIBRARIES.
applications: [{{name: {program}, source: {program}}}]
# What these run is kept, and what they write into {{outputs}} must equal the plain program's.
models:
{models}keep_set: {keep_set}
"""


def render_models(
    engine: Mapping[str, str], program: str, models: Sequence[tuple[str, str]], keep_set: str
) -> str:
    """``models``: name and file of each."""
    args = json.dumps(["{model}", "{outputs}/out.bin"])
    text = "".join(
        f"- {_flow({'name': name, 'file': file})[:-1]},\n"
        f"   scenarios: [{{name: default, application: {program}, args: {args}}}]}}\n"
        for name, file in models
    )
    return _WITH_MODELS.format(
        engine=_flow(engine),
        program=program,
        models=text,
        keep_set=json.dumps(keep_set, ensure_ascii=False),
    )


def _flow(values: Mapping[str, str]) -> str:
    pairs = (f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())
    return f"{{{', '.join(pairs)}}}"
