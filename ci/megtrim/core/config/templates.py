"""The commented megtrim.yaml that ``megtrim init`` writes, with the files of its models.

The texts load as they are, and so does each commented line when the ``#`` goes.
"""

import posixpath
import re
from collections.abc import Sequence
from pathlib import PurePath

from megtrim.core.config.config_id import DEFAULT_CONFIG, NAME_PATTERN
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

SCHEMAS = "megtrim/schemas"
"""Folder with the schemas that the files name for editors, which read them without a network."""

_HEAD = """\
# megtrim.yaml: what to trim, for which models, and what the result must satisfy.
# Paths are relative to this file. A line such as "#jobs: 4" shows a key that you may leave out.
version: 1
"""

_SAMPLE = """
# The small engine that comes with megtrim: it builds in seconds and shows the whole chain.
engine:
  kind: sample
{source}"""

_MEGENGINE = """
# The checkout, with its submodules. megtrim only reads it, and builds in a copy.
# On the command line, `--engine PATH` names another checkout.
engine:
  kind: megengine
  source: {source}
  # The program that is trimmed and run, and CMake options beyond megtrim's own.
  #target: load_and_run
  #cmake: {{MGE_WITH_TEST: false}}
"""

_PLACE = """
# The compiler: zig, clang-linux-arm64 or host; auto uses the best one on this machine.
toolchain:
  kind: {toolchain}
  #jobs: 4

# The recipe: regions that no scenario runs are not compiled, and the build has minimum size.
#trim: {{level: region, layout: scoped, minimum_size: true, optimize: none}}

# A CPU class is a group of CPUs that choose the same kernels. Traces of one prove nothing about
# another, so name each class that you ship to; qemu emulates it with the CPU given here.
#classes:
#- {{name: any, qemu_cpu: max}}

# The devices that run the engine: local is this machine, qemu emulates arm64, auto chooses.
#devices:
#- {{name: here, kind: auto, class: any}}
"""

_TAIL = """
# The models. Each model and each scenario has a separate file, so that people who add some at the
# same time do not change the same file.
models: {models}

# The code to keep, in a file for each scenario. Commit it: later runs are compared with it.
keep_set: {keep_set}

# Outputs must equal the plain build's to the last bit. A proof counts for max_age.
#verify: {{tolerance: 0, max_age: 14 days}}

# Limits for stripped files. Set them once you have seen the first sizes.
#budgets:
#- {{artifact: load_and_run, max: 3 MiB, growth: 16 KiB}}
#- {{artifact: load_and_run, section: .text, max: 2 MiB, owner: runtime team}}

# How many more instructions than the baseline each scenario may execute, and how much more memory
# it may use. A limit that cannot be checked fails; with `inconclusive: warn` it warns instead.
#work: {{growth: 1%}}
#memory: {{growth: 5%}}

# The experiments that `megtrim perf run` measures, and the smallest change that counts.
#perf: {{experiments: [fast-run-cache, weight-preprocess], threshold: 1%, inconclusive: warn}}

# Permission to exceed a budget, with a reason and a last day.
#waivers:
#- {{budget: load_and_run, bytes: 64 KiB, reason: new model, owner: you, expires: 2099-12-31}}
"""

MODELS = "megtrim/models"
KEEP_SET = "megtrim/keepset"
"""The committed keep set of a megtrim.yaml; other files have their names in theirs."""
_MODEL = """\
# A model that the trimmed engine must run. Paths are relative to the configuration.
name: {name}
file: {file}
"""
_STRIP_INFO = """\
strip_info: {strip_info}
"""
_SCENARIOS = """\
# Put everything that your users do into some scenario: the trimmed engine lacks all code that none
# of them runs. To add a scenario, add a file to this folder.
scenarios: {scenarios}
"""
_SCENARIO = """\
# One way the model is run.
name: default
args: [--cpu]
#threads: 1
#timeout: 10 minutes
# With the fastest algorithms, which the engine searches for once:
#fast_run: true
"""
_INPUTS = """\
inputs:
"""

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./+@*-]*")
_WORDS = frozenset({"true", "false", "null"})


class ProjectStarter(Value):
    source: str
    target: str
    compiler: str
    commands: tuple[tuple[str, ...], ...]
    programs: tuple[str, ...]
    """Those that load the target, if it is a shared object."""
    keep_set: str


_PROJECT = """\
version: 1
engine:
  kind: link
  source: {source}
  target: {target}
  compiler: {compiler}
  # Run one after the other, without a shell, in a copy of source.
  build:
{build}
{programs}# What must work: add what your users do. Other functions move to a second file.
scenarios:
- {{name: first, {program}args: ['--version']}}
"""


def project_starter(about: ProjectStarter) -> str:
    """Return the text of a megtrim.yaml for a project that its own commands build."""
    lines = [", ".join(_quote_scalar(word) for word in words) for words in about.commands]
    programs = ""
    if about.programs:
        named = ", ".join(f"{{name: {_quote_scalar(name)}}}" for name in about.programs)
        programs = f"applications: [{named}]\n"
    if about.keep_set != KEEP_SET:
        programs += f"keep_set: {_quote_scalar(about.keep_set)}\n"
    return _PROJECT.format(
        source=_quote_scalar(about.source),
        target=_quote_scalar(about.target),
        compiler=_quote_scalar(about.compiler),
        build="\n".join(f"  - [{line}]" for line in lines),
        programs=programs,
        program=f"program: {_quote_scalar(about.programs[0])}, " if about.programs else "",
    )


class StarterModel(Value):
    file: str
    strip_info: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()


def starter(
    kind: str,
    *,
    source: str = "",
    toolchain: str = "auto",
    models: str = f"{MODELS}/*.yaml",
    keep_set: str = KEEP_SET,
) -> str:
    """Return the text of a megtrim.yaml; without ``source``, for megtrim's own engine."""
    place = _PLACE.format(toolchain=toolchain)
    tail = _TAIL.format(models=_quote_scalar(models), keep_set=_quote_scalar(keep_set))
    if kind == "megengine":
        engine = _MEGENGINE.format(source=_quote_scalar(source))
    else:
        engine = _SAMPLE.format(source=f"  source: {_quote_scalar(source)}\n" if source else "")
    return f"{_name_schema('megtrim')}{_HEAD}{engine}{place}{tail}"


def name_keep_set(config: PurePath) -> str:
    if config.name == DEFAULT_CONFIG:
        return KEEP_SET
    words = re.sub(r"[^A-Za-z0-9]+", "-", config.stem.removeprefix("megtrim")).strip("-")
    return f"{KEEP_SET}-{words or 'other'}"


def model_files(
    models: Sequence[StarterModel], *, folder: str = MODELS, taken: Sequence[str] = ()
) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, model in zip(name_models(models, taken), models, strict=True):
        texts[f"{folder}/{name}.yaml"] = _write_model(name, model, folder)
        scenario = f"{_name_schema('scenario', f'{folder}/{name}')}{_SCENARIO}"
        if model.inputs:
            scenario += _INPUTS
        for key, file in model.inputs:
            scenario += f"  {_quote_scalar(key)}: {_quote_scalar(file)}\n"
        texts[f"{folder}/{name}/default.yaml"] = scenario
    return texts


def name_models(models: Sequence[StarterModel], taken: Sequence[str] = ()) -> tuple[str, ...]:
    names = [*taken]
    for model in models:
        names.append(_free_name(PurePath(model.file).stem, names))
    return tuple(names[len(taken) :])


def _name_schema(kind: str, folder: str = ".") -> str:
    place = posixpath.relpath(SCHEMAS, folder)
    return f"# yaml-language-server: $schema={place}/{kind}.schema.json\n"


def _write_model(name: str, model: StarterModel, folder: str) -> str:
    text = _name_schema("model", folder)
    text += _MODEL.format(name=_quote_scalar(name), file=_quote_scalar(model.file))
    if model.strip_info is not None:
        text += _STRIP_INFO.format(strip_info=_quote_scalar(model.strip_info))
    return text + _SCENARIOS.format(scenarios=_quote_scalar(f"{folder}/{name}/*.yaml"))


def _free_name(stem: str, taken: Sequence[str]) -> str:
    allowed = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("._-")[:100]
    name = allowed if re.fullmatch(NAME_PATTERN, allowed) else "model"
    number = 2
    base = name
    while name in taken:
        name = f"{base}-{number}"
        number += 1
    return name


def _quote_scalar(text: str) -> str:
    if not text.isprintable():
        msg = f"found the path {text!r}, expected one without control characters"
        raise InputError(msg, hint="rename the file")
    if _PLAIN.fullmatch(text) and text not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"
