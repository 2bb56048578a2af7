"""From model files to a configuration that can be trimmed as it is, and the inputs for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from megtrim.core.cli.session.preflight import read_npy_header
from megtrim.core.config.config_id import DEFAULT_CONFIG, choose
from megtrim.core.config.items import climb
from megtrim.core.config.json_schema import make_files
from megtrim.core.config.load import LoadedConfig, list_toolchains, load_config
from megtrim.core.config.project_template import render_models
from megtrim.core.config.templates import (
    MODELS,
    SCHEMAS,
    StarterModel,
    model_files,
    name_keep_set,
    name_models,
    starter,
)
from megtrim.core.model_facts import ModelFacts, Variable, describe_variable
from megtrim.core.project import find_kind, find_kinds, read_any_model
from megtrim.libs.programs import npy
from megtrim.libs.programs.app_outputs import NPY
from megtrim.libs.util.errors import NO_ROOM, InputError
from megtrim.libs.util.files import cannot_write
from megtrim.libs.util.input_files import kind_at, read_text
from megtrim.libs.util.value import Value

_SAMPLE = "sample"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]+")


class _Input(Value):
    variable: Variable
    file: Path
    content: bytes | None
    """What is to be written; None: the file is there."""


class StarterFiles(Value):
    files: Mapping[Path, Content]
    """In the order in which they are written: the configuration last, after all that it names."""
    lines: tuple[str, ...]
    toolchain: str = ""


def plan_starter(models: Sequence[Path], config: Path, engine: Path | None = None) -> StarterFiles:
    """Raises InputError where a model cannot be used, or a file is there and differs."""
    if config.exists():
        msg = f"{config} already exists"
        raise InputError(msg, hint="edit it, or name another file with --config")
    if not models:
        msg = "found no model, expected at least one to trim for"
        raise InputError(msg, hint="`megtrim init MODEL...`")
    models = _drop_doubles(models)
    facts = {path: read_any_model(path) for path in models}
    kind = _kind_of(facts)
    source = _find_source(kind, config, engine)
    if find_kind(kind).archive:
        return _plan_program(kind, models, config, source)
    inputs = {path: tuple(_plan_inputs(path, each)) for path, each in facts.items()}
    described = model_files([_describe_model(path, config, inputs[path]) for path in models])
    texts = {config.parent / name: text for name, text in described.items()}
    # The toolchain that MegEngine is known to build with; auto might take zig.
    toolchain = "auto" if kind == _SAMPLE else "clang-linux-arm64"
    missing = find_missing(texts, hint="name another folder with --config, or remove it")
    missing |= _plan_schemas(config.parent)
    missing[config] = starter(
        kind,
        source=_relative(source, config) if source else "",
        toolchain=toolchain,
        keep_set=name_keep_set(config),
    )
    shown = f"the engine in {source}" if source else "the sample engine"
    lines = (
        *_describe_inputs(facts, inputs),
        f"wrote {config} and {config.parent / MODELS}, for {shown}",
    )
    return StarterFiles(files=_new_inputs(inputs) | missing, lines=lines, toolchain=toolchain)


_PROGRAM = "app"


def _plan_program(
    kind: str, models: Sequence[Path], config: Path, source: Path | None
) -> StarterFiles:
    """Of an engine that is a library alone: a program of the team's runs the models."""
    found = find_kind(kind)
    engine = {"kind": kind, "source": _relative(source or Path(), config), "target": found.archive}
    described = [_describe_model(path, config, ()) for path in models]
    named = list(zip(name_models(described), (each.file for each in described), strict=True))
    text = render_models(engine, _PROGRAM, named, name_keep_set(config))
    program = config.parent / _PROGRAM
    lines = [f"wrote {config}, for {found.title} in {source}"]
    if not program.exists():
        lines.append(f"write your program that runs the models: {program}/CMakeLists.txt")
    return StarterFiles(files={config: text}, lines=tuple(lines), toolchain="host")


def plan_models(models: Sequence[Path], config: Path) -> StarterFiles:
    """Raises InputError where the models are a list, or one of these is there already."""
    if not models:
        msg = "--add: found no model, expected at least one"
        raise InputError(msg, hint="`megtrim init --add MODEL...`")
    names = list_toolchains(config)
    loaded = load_config(Path(choose(str(config), names[0])) if names else config)
    if not (pattern := loaded.models_pattern):
        msg = f"{loaded.where('models')}: found a list of models, expected a pattern of files"
        hint = f"move each entry into a file, and write `models: {MODELS}/*.yaml` in their place"
        raise InputError(msg, hint=hint)
    models = _drop_doubles(models)
    _expect_new(models, loaded)
    facts = {path: read_any_model(path) for path in models}
    kind = loaded.config.engine.kind
    if (found := _kind_of(facts)) != kind:
        msg = f"{models[0]} is a model for the engine {found}, expected one for {kind}"
        raise InputError(msg, hint="a configuration trims one engine: write one for each")
    base = loaded.folder / climb(pattern)
    place = PurePosixPath(os.path.relpath((loaded.folder / pattern).parent, base)).as_posix()
    inputs = {path: tuple(_plan_inputs(path, each)) for path, each in facts.items()}
    described = model_files(
        [_describe_model(path, base / DEFAULT_CONFIG, inputs[path]) for path in models],
        folder=place,
        taken=[model.name for model in loaded.config.models],
    )
    texts = {base / name: text for name, text in described.items()}
    missing = find_missing(texts, hint="rename the model's file, or remove the existing one")
    missing |= _plan_schemas(base)
    wrote = (f"wrote {os.path.relpath(path)}" for path in missing)
    lines = (*_describe_inputs(facts, inputs), *wrote)
    return StarterFiles(files=_new_inputs(inputs) | missing, lines=lines)


def _drop_doubles(models: Sequence[Path]) -> Sequence[Path]:
    """Two names of one file, such as a link, are one model."""
    first: dict[Path, Path] = {}
    for path in models:
        first.setdefault(path.resolve(), path)
    return tuple(first.values())


def _expect_new(models: Sequence[Path], loaded: LoadedConfig) -> None:
    known = {loaded.resolve(model.file).resolve(): model for model in loaded.config.models}
    for path in models:
        if (there := known.get(path.resolve())) is not None:
            at = loaded.config.models.index(there)
            msg = f"--add: {path} is in the configuration already, as the model {there.name}"
            hint = f"edit it at {loaded.where('models', at)}, or name another file"
            raise InputError(msg, hint=hint)


def _plan_schemas(base: Path) -> dict[Path, Content]:
    """Those that are there may be of another version: a person decides when they change."""
    texts = {base / SCHEMAS / name: text for name, text in make_files().items()}
    return {path: text for path, text in texts.items() if not path.exists()}


def _kind_of(facts: dict[Path, ModelFacts]) -> str:
    kinds = find_kinds()
    found: dict[str, Path] = {}
    for path, each in facts.items():
        word = each.format.partition(" ")[0]
        name = next((name for name, kind in kinds.items() if kind.model_format == word), "")
        if not name:
            msg = f"{path}: found the format {each.format}, expected one of an engine of this copy"
            raise InputError(msg, hint="`megtrim init` with a model of another engine")
        found.setdefault(name, path)
    if len(found) > 1:
        other, *_, last = sorted(found, key=list(kinds).index)
        msg = f"{found[last]} is a model of {kinds[last].title}, {found[other]} is not"
        raise InputError(msg, hint="a configuration trims one engine: write one for each")
    (only,) = found
    return only


def _find_source(kind: str, config: Path, engine: Path | None) -> Path | None:
    asked = find_kind(kind)
    if engine is not None:
        if not asked.is_checkout(engine):
            tree = f"a checkout of {asked.title}" if asked.clone else f"a copy of {asked.title}"
            msg = f"--engine {engine}: found {kind_at(engine) or 'a file'}, expected {tree}"
            get = f"get one: {asked.clone}"
            hint = get if asked.clone else "leave it out: the engine comes with megtrim"
            raise InputError(msg, hint=hint)
        return engine
    if not asked.clone:
        return None
    folder = config.absolute().parent
    found = asked.find_checkouts(folder)
    if len(found) == 1:
        return Path(os.path.relpath(found[0]))
    if found:
        names = ", ".join(os.path.relpath(each) for each in found)
        msg = f"found {len(found)} checkouts of {asked.title}: {names}"
        raise InputError(msg, hint="name the one to trim: --engine PATH")
    msg = f"found no checkout of {asked.title} in, next to or above {folder}"
    raise InputError(msg, hint=f"name it with --engine PATH, or get one: {asked.clone}")


def _plan_inputs(model: Path, facts: ModelFacts) -> Iterator[_Input]:
    taken: set[str] = set()
    for variable in facts.inputs:
        content = npy.generate_input(variable.dtype, variable.shape or (0,))
        name = _NOT_IN_A_NAME.sub("-", variable.name).strip("-") or "input"
        while name in taken:
            name += "-2"
        taken.add(name)
        file = model.with_name(f"{model.stem}.{name}{NPY}")
        if not kind_at(file):
            header = read_npy_header(file, shown=str(file))
            if not header.fits(variable.dtype, variable.shape):
                msg = f"{file}: found {header}, expected {describe_variable(variable)}"
                raise InputError(msg, hint="remove it, and one that fits is written")
            yield _Input(variable=variable, file=file, content=None)
        elif content is not None:
            yield _Input(variable=variable, file=file, content=content)


def _describe_inputs(
    facts: Mapping[Path, ModelFacts], inputs: Mapping[Path, Sequence[_Input]]
) -> Iterator[str]:
    for model, read in facts.items():
        by_name = {planned.variable.name: planned for planned in inputs[model]}
        for variable in read.inputs:
            shown = f"the input {describe_variable(variable)} of {model}"
            planned = by_name.get(variable.name)
            if planned is None:
                yield f"warning: {shown} cannot be generated: add its file to inputs yourself"
            else:
                verb = "found" if planned.content is None else "wrote"
                yield f"{verb} {planned.file}, for {shown}"


def _new_inputs(inputs: Mapping[Path, Sequence[_Input]]) -> dict[Path, Content]:
    planned = (each for group in inputs.values() for each in group)
    return {each.file: each.content for each in planned if each.content is not None}


def _describe_model(path: Path, config: Path, inputs: Sequence[_Input]) -> StarterModel:
    strip_info = path.with_name(f"{path.name}.json")
    return StarterModel(
        file=_relative(path, config),
        strip_info=_relative(strip_info, config) if strip_info.is_file() else None,
        inputs=tuple((input_.variable.name, _relative(input_.file, config)) for input_ in inputs),
    )


def _relative(path: Path, config: Path) -> str:
    return Path(os.path.relpath(path.absolute(), config.absolute().parent)).as_posix()


Content = str | bytes

_LARGEST_FILE_BYTES = 1024 * 1024


def find_missing(texts: Mapping[Path, str], *, hint: str) -> dict[Path, Content]:
    missing: dict[Path, Content] = {}
    for path, text in texts.items():
        if not path.exists():
            missing[path] = text
        elif read_text(path, most_bytes=_LARGEST_FILE_BYTES, expected="a short text") != text:
            msg = f"{path} exists and differs"
            raise InputError(msg, hint=hint)
    return missing


def write_files(files: Mapping[Path, Content]) -> None:
    written: list[Path] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as stream:  # also a dangling link is someone's work
                written.append(path)
                stream.write(content.encode() if isinstance(content, str) else content)
    except BaseException as error:
        for file in written:
            file.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        if error.errno in NO_ROOM:
            raise cannot_write(Path(error.filename or written[-1]), error) from None
        msg = f"{error.filename or written[-1]} cannot be written: {error.strerror}"
        raise InputError(msg, hint="copy the models to a folder of your own") from None
