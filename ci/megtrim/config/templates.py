"""The commented megtrim.yaml that ``megtrim init`` writes, with the files of its models.

The texts load as they are, and so does each commented line when the ``#`` goes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field
from pathlib import PurePath
from typing import Literal

from megtrim.config.config_id import DEFAULT_CONFIG, NAME_PATTERN, choose, id_of, suffix_of
from megtrim.util.errors import InputError
from megtrim.util.value import Value

SIZE_CHECK = ".github/workflows/megtrim.yml"
REFRESH = ".github/workflows/megtrim-refresh.yml"
NIGHT = ".github/workflows/megtrim-night.yml"
RELEASE = ".github/workflows/megtrim-release.yml"
"""The files of the default configuration; those of others have their ids in their names."""
CALLED = (
    *("size-check.yml", "size-summary.yml", "size-history.yml"),
    *("trace-refresh.yml", "nightly-performance.yml", "release.yml"),
)

_GRAMMAR = {
    "repository": (r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+", "OWNER/REPO of the kit"),
    "sha": (r"[0-9a-f]{40}", "the 40 hex digits of a commit of the kit"),
    "version": (r"v[0-9]+\.[0-9]+\.[0-9]+", "that commit's version, such as v1.2.3"),
    "branch": (r"[A-Za-z0-9_][A-Za-z0-9._/-]*", "the name of a branch, without spaces"),
    "config": (r"[A-Za-z0-9._][A-Za-z0-9._/-]*(#[a-z0-9-]+)?", "a path without spaces and quotes"),
    "keep_set": (r"[A-Za-z0-9._][A-Za-z0-9._/-]*", "a path without spaces and quotes"),
    "recipe": (r"|[a-z0-9][a-z0-9-]*", "the name of a recipe of the kit"),
    "packages": (r"|[a-z0-9][a-z0-9.+ -]*", "names of Debian packages"),
}

_SIZE_CHECK = """\
# What a pull request costs. Require the check "{check}", and nothing else of this file.
# No paths filter: a required check that is filtered out is waited for forever. No concurrency:
# the called jobs have their own, and a run that is cut off as a whole would cut off a device.
name: megtrim{of}
on:
  pull_request:
  push: {{branches: ["{branch}"]}}
  merge_group:
  workflow_dispatch: {{inputs: {{pull-request: {{type: string, description: Its number}}}}}}
permissions: {{}}
jobs:
{sizes}  history:
    name: history{of}{leg}{strategy}
    needs: {needs}
    if: ${{{{ !cancelled() && github.event_name == 'push' }}}}
    permissions: {{contents: write}} # the history's branch
    uses: {repository}/.github/workflows/size-history.yml@{sha} # {version}
    with: {{config: {chosen}}}
"""
_SIZE_JOB = """\
  {job}:
    name: size{of}{leg}
    permissions: {{actions: read, contents: read, pull-requests: write}} # baseline and comment
    uses: {repository}/.github/workflows/size-check.yml@{sha} # {version}
    with: {{{given}{quiet}, pull-request: "${{{{ inputs.pull-request }}}}"}}
"""
_SIZE_SUMMARY = """\
  summary:
    name: size{of}
    needs: {needs}
    if: always()
    permissions: {{contents: read, pull-requests: write}} # the comment
    uses: {repository}/.github/workflows/size-summary.yml@{sha} # {version}
    with: {{{summarised}, pull-request: "${{{{ inputs.pull-request }}}}"}}
"""
_REFRESH = """\
# Traces every scenario again, and proposes the keep set when it changed. No concurrency: as there.
name: megtrim refresh{of}
on:
  schedule: [{{cron: "17 3 * * 1"}}]
  workflow_dispatch:
permissions: {{}}
jobs:
  refresh:
    name: refresh{of}{leg}{strategy}
    permissions: {{actions: write, contents: write, pull-requests: write}} # the proposal
    uses: {repository}/.github/workflows/trace-refresh.yml@{sha} # {version}
    with: {{{given}, keep-set: {keep_set}{starts}}}
"""
_NIGHT = """\
# Measures times, compares them with earlier nights, and opens issues. No concurrency: as there.
name: megtrim night{of}
on:
  schedule: [{{cron: "43 1 * * *"}}]
  workflow_dispatch:
permissions: {{}}
jobs:
  night:
    name: night{of}{leg}{strategy}
    permissions: {{actions: read, contents: write, issues: write}} # the history's branch, issues
    uses: {repository}/.github/workflows/nightly-performance.yml@{sha} # {version}
    with: {{{given}}}
"""
_RELEASE = """\
# Makes a release of each tag: built twice, proven on devices, published whole. By hand: choose the
# tag where the branch is asked for. No concurrency: as there.
name: megtrim release{of}
on:
  push: {{tags: ["{tags}"]}}
  workflow_dispatch:
permissions: {{}}
jobs:
  release:
    name: release{of}
    permissions: {{attestations: write, contents: write, id-token: write}} # attests, publishes
    uses: {repository}/.github/workflows/release.yml@{sha} # {version}
    with: {{{given}}}
"""


class Kit(Value):
    repository: str
    sha: str
    version: str


class Provision(Value):
    packages: str = ""
    recipe: str = ""
    """The kit's recipe of an image, where the configuration does not name one by digest."""


class Callers(Value):
    kit: Kit
    branch: str
    config: str
    keep_set: str
    packages: str = ""
    recipe: str = ""
    toolchains: Mapping[str, Provision] = field(default_factory=dict)
    """By name, if the file has several: each caller has a leg for each of them."""
    releases: bool = False
    """Whether tags are to become releases; of one toolchain."""


def name_check(config: str) -> str:
    return f"size{_of(config)} / verdict"


def workflows(callers: Callers) -> dict[str, str]:
    """Return the text of each workflow by path. Raises InputError for what YAML could misread."""
    check_kit(callers.kit)
    values = asdict(callers)
    del values["kit"], values["toolchains"], values["releases"]
    for name, value in values.items():
        _expect_plain(name, value)
    values |= asdict(callers.kit)
    values["given"] = _list_given(callers.config, callers.packages, callers.recipe)
    values["chosen"] = callers.config
    values["check"] = name_check(callers.config)
    values["of"] = _of(callers.config)
    end = f"{suffix_of(callers.config)}.yml"
    texts = {SIZE_CHECK: _SIZE_CHECK, REFRESH: _REFRESH, NIGHT: _NIGHT}
    if callers.releases:
        texts[RELEASE] = _RELEASE
    own = {path: path.replace(".yml", end) for path in texts}
    started = own[SIZE_CHECK].rpartition("/")[2]
    values["starts"] = f", size-check: {started}" if own[SIZE_CHECK] != SIZE_CHECK else ""
    # With any letter after the v, a tag such as vision-v1 would be one of two configurations.
    values["tags"] = f"{id_}-v[0-9]*" if (id_ := id_of(callers.config)) else "v[0-9]*"
    values |= dict.fromkeys(("leg", "strategy", "quiet"), "") | {"job": "size", "needs": "size"}
    if callers.toolchains:
        # A matrix has the outputs of one of its jobs only, and the summary needs the ids of all.
        sizes = [_SIZE_JOB.format_map(values | leg) for leg in _list_size_jobs(callers)]
        values |= _legs(callers)
        texts[SIZE_CHECK] += _SIZE_SUMMARY
    else:
        sizes = [_SIZE_JOB.format_map(values)]
    values["sizes"] = "".join(sizes)
    return {own[path]: text.format_map(values) for path, text in texts.items()}


def check_kit(kit: Kit) -> None:
    for name, value in asdict(kit).items():
        _expect_plain(name, value)


def _expect_plain(name: str, value: str) -> None:
    pattern, expected = _GRAMMAR[name]
    if not re.fullmatch(pattern, value) or ".." in value.split("/"):
        msg = f"{name.replace('_', ' ')}: found {value!r}, expected {expected}"
        raise InputError(msg)


def _list_given(config: str, packages: str, recipe: str) -> str:
    given = {"config": config, "packages": packages, "image-recipe": recipe}
    return ", ".join(f"{key}: {value}" for key, value in given.items() if value)


def _list_size_jobs(callers: Callers) -> Iterator[dict[str, str]]:
    for name, provision in callers.toolchains.items():
        config = f'"{choose(callers.config, name)}"'
        given = _list_given(config, provision.packages, provision.recipe)
        yield {"job": f"size-{name}", "leg": f" {name}", "quiet": ", comment: false"} | {
            "given": given
        }


def _legs(callers: Callers) -> dict[str, str]:
    entries = []
    for name, provision in callers.toolchains.items():
        _expect_plain("config", choose(callers.config, name))
        for key, value in asdict(provision).items():
            _expect_plain(key, value)
        entries.append(
            f'\n          - {{toolchain: "{name}", packages: "{provision.packages}", '
            f'recipe: "{provision.recipe}"}}'
        )
    leg = "${{ matrix.toolchain }}"
    names = " ".join(callers.toolchains)
    jobs = [f"size-{name}" for name in callers.toolchains]
    reports = ",".join(f"${{{{ needs.{job}.outputs.report }}}}" for job in jobs)
    return {
        "leg": f" {leg}",
        "strategy": "\n    strategy:\n      fail-fast: false\n      matrix:\n        include:"
        + "".join(entries),
        "given": f'config: "{choose(callers.config, leg)}", packages: "${{{{ matrix.packages }}}}"'
        ', image-recipe: "${{ matrix.recipe }}"',
        "chosen": f'"{choose(callers.config, leg)}"',
        "keep_set": f'"{callers.keep_set}/{leg}"',
        "needs": f"[{', '.join(jobs)}]",
        "summarised": f'config: {callers.config}, toolchains: "{names}", reports: "{reports}"',
    }


def _of(config: str) -> str:
    return f" {id_}" if (id_ := id_of(config)) else ""


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
# The models, each in a file of its own, and so is each way that one is run: people who add some
# at the same time change no common file.
models: {models}

# What is kept, with a file for each scenario. Commit this folder: a later run is held against it.
keep_set: {keep_set}

# Outputs must equal the plain build's to the last bit, and a proof counts for this long.
#verify: {{tolerance: 0, max_age: 14 days}}

# Limits for stripped files. Set them once you have seen the first sizes.
#budgets:
#- {{artifact: load_and_run, max: 3 MiB, growth: 16 KiB}}
#- {{artifact: load_and_run, section: .text, max: 2 MiB, owner: runtime team}}

# What `megtrim perf run` measures, and the smallest change of a time that counts.
#perf: {{experiments: [fast-run-cache, weight-preprocess], threshold: 1%, inconclusive: warn}}

# Leave to exceed a budget, for a reason and a time.
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
# Everything that a user does with it belongs into some scenario: what none of them runs is gone
# from the trimmed engine. Add one by another file in that folder.
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


class StarterModel(Value):
    file: str
    strip_info: str | None = None
    inputs: tuple[tuple[str, str], ...] = ()


def starter(
    kind: Literal["megengine", "sample"],
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
    return f"{_HEAD}{engine}{place}{tail}"


def name_keep_set(config: PurePath) -> str:
    if config.name == DEFAULT_CONFIG:
        return KEEP_SET
    words = re.sub(r"[^A-Za-z0-9]+", "-", config.stem.removeprefix("megtrim")).strip("-")
    return f"{KEEP_SET}-{words or 'other'}"


def model_files(
    models: Sequence[StarterModel], *, folder: str = MODELS, taken: Sequence[str] = ()
) -> dict[str, str]:
    texts: dict[str, str] = {}
    names = [*taken]
    for model in models:
        name = _free_name(PurePath(model.file).stem, names)
        names.append(name)
        texts[f"{folder}/{name}.yaml"] = _write_model(name, model, folder)
        given = [f"  {_quote_scalar(key)}: {_quote_scalar(file)}\n" for key, file in model.inputs]
        texts[f"{folder}/{name}/default.yaml"] = "".join(
            [_SCENARIO, *([_INPUTS] if given else ()), *given]
        )
    return texts


def _write_model(name: str, model: StarterModel, folder: str) -> str:
    text = _MODEL.format(name=_quote_scalar(name), file=_quote_scalar(model.file))
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
