"""The commented megtrim.yaml that ``megtrim init`` writes.

Pure: names in, text out. The text loads as it is (once the files that it names are there), and
so does every line that is commented out when the ``#`` goes, which no space follows there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from megtrim.config.value_types import NAME_PATTERN
from megtrim.errors import InputError

_HEAD = """\
# megtrim.yaml: what to trim, for which models, and what the result must hold to.
# Paths are relative to this file. A line such as "#jobs: 4" shows a key that may be left out.
version: 1
"""

_SAMPLE = """
# The small engine that comes with megtrim: it builds in seconds and shows the whole chain.
engine:
  kind: sample
{source}"""

_MEGENGINE = """
# The checkout, with its submodules. It is never written to; builds happen in a copy.
# `--engine PATH` names another place on the command line.
engine:
  kind: megengine
  source: {source}
  # The program that is trimmed and run, and CMake options beyond megtrim's own.
  #target: load_and_run
  #cmake: {{MGE_WITH_TEST: false}}
"""

_PLACE = """
# The compiler: zig, clang-linux-arm64 or host; auto takes the best that this machine has.
toolchain:
  kind: {toolchain}
  #jobs: 4

# The recipe: regions that no scenario runs are compiled out, and the build is a minimum-size one.
#trim: {{level: region, layout: scoped, minimum_size: true, optimize: none}}

# A CPU class is a group of CPUs that choose the same kernels. Traces of one prove nothing about
# another, so name each that you ship to; qemu plays it with the CPU given here.
#classes:
#- {{name: any, qemu_cpu: max}}

# What runs the engine: local is this machine, qemu emulates arm64, auto chooses.
#devices:
#- {{name: here, kind: auto, class: any}}
"""

_TAIL = """
# What is kept, and for whom. Commit this file: a later run is held against it.
keep_set: megtrim/keepset.json

# Outputs must equal the plain build's to the last bit, and a proof counts for this long.
#verify: {tolerance: 0, max_age: 14 days}

# Limits for stripped files. Set them once you have seen the first sizes.
#budgets:
#- {artifact: load_and_run, max: 3 MiB, growth: 16 KiB}

# What `megtrim perf run` measures, and the smallest change of a time that counts.
#perf: {experiments: [fast-run-cache, weight-preprocess], threshold: 1%, inconclusive: warn}

# Leave to exceed a budget, for a reason and a time.
#waivers:
#- {budget: load_and_run, bytes: 64 KiB, reason: new model, owner: you, expires: 2099-12-31}
"""

_MODEL = """\
  - name: {name}
    file: {file}
"""
_STRIP_INFO = """\
    strip_info: {strip_info}
"""
_SCENARIO = """\
    scenarios:
      # One way the model is run. Everything that a user does with it belongs into some scenario:
      # what none of them runs is gone from the trimmed engine.
      - name: default
        args: [--cpu]
        #threads: 1
        #timeout: 10 minutes
"""
_INPUTS = """\
        inputs:
"""
_TUNED = """\
      # The same with the fastest algorithms, which the engine searches for once.
      #- {name: tuned, fast_run: true, args: [--cpu]}
"""

_PLAIN = re.compile(r"[A-Za-z./][A-Za-z0-9_./+@-]*")
_WORDS = frozenset({"true", "false", "null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StarterModel:
    """A model to begin with; paths as they shall be written."""

    file: str
    strip_info: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()
    """Input name and file."""


def starter(
    kind: Literal["megengine", "sample"],
    *,
    models: Sequence[StarterModel],
    source: str = "",
    toolchain: str = "auto",
) -> str:
    """Return the text of a megtrim.yaml for these models.

    ``source`` is the engine's folder; empty: the sample engine that comes with megtrim. A path that
    YAML cannot hold on one line is an :class:`InputError`.
    """
    parts = [_HEAD, _engine(kind, source), _PLACE.format(toolchain=toolchain), "\nmodels:\n"]
    names: list[str] = []
    for model in models:
        names.append(_free_name(PurePath(model.file).stem, names))
        parts.append(_model(names[-1], model))
    return "".join([*parts, _TAIL])


def _engine(kind: Literal["megengine", "sample"], source: str) -> str:
    if kind == "megengine":
        return _MEGENGINE.format(source=_quote_scalar(source))
    return _SAMPLE.format(source=f"  source: {_quote_scalar(source)}\n" if source else "")


def _model(name: str, model: StarterModel) -> str:
    text = _MODEL.format(name=_quote_scalar(name), file=_quote_scalar(model.file))
    if model.strip_info is not None:
        text += _STRIP_INFO.format(strip_info=_quote_scalar(model.strip_info))
    text += _SCENARIO
    if model.inputs:
        text += _INPUTS
    for input_name, file in model.inputs:
        text += f"          {_quote_scalar(input_name)}: {_quote_scalar(file)}\n"
    return text + _TUNED


def _free_name(stem: str, taken: Sequence[str]) -> str:
    """Make a model's name of a file's, one that is not taken."""
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
