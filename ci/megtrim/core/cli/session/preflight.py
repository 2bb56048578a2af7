"""Checks of the configuration against trees and models, before a build."""

import io
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from megtrim.core.chain.graph import trims_plain_build
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import ModelConfig, ScenarioConfig
from megtrim.core.config.problems import ConfigError, KeyPath, Problem, closest, listing
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.model_facts import ModelFacts, UnknownFormat, Variable, describe_variable
from megtrim.core.own_program import ProgramFlags
from megtrim.core.project import Project, find_kind, read_any_model
from megtrim.libs.programs import npy
from megtrim.libs.programs.app_outputs import NPY
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import open_plain_file
from megtrim.places.compile.projects.checkout import Checkout

_SET_BY_MEGTRIM = {"CMAKE_TOOLCHAIN_FILE": "the section toolchain in its place"}
_Read = Callable[[Path, str], None]
_LARGEST_READ_BYTES = 4 * 1024**3


def expect_known_options(loaded: LoadedConfig, engine: Project) -> None:
    ours = {**_SET_BY_MEGTRIM, **engine.own_options}
    problems = tuple(
        _problem(loaded, ("engine", "cmake", name), "an option that megtrim sets", ours[name])
        for name in loaded.config.engine.cmake
        if name in ours
    )
    if problems:
        raise ConfigError(problems, hint="take it out of engine.cmake")
    flags = engine.flags
    if flags is None:
        return
    for scenario in all_scenarios(loaded.config):
        if not scenario.settings.is_command:
            source = f"{loaded.where(*scenario.path)}: {scenario.id}"
            flags.check(scenario.settings.args, source=source)


def expect_usable_files(loaded: LoadedConfig) -> None:
    """What only the engine can read passes. All problems are reported at once."""
    wrong = []
    for keys, file, read in _named_files(loaded):
        try:
            read(loaded.resolve(file), f"{loaded.where(*keys)}: {file}")
        except InputError as error:
            wrong.append(error)
    if wrong:
        raise InputError("\n".join(each.message for each in wrong), hint=wrong[0].hint)


def expect_repeatable(loaded: LoadedConfig) -> None:
    """A search is timing, so a keep set of another search proves nothing."""
    for scenario in all_scenarios(loaded.config):
        if scenario.searches:
            where = loaded.where(*scenario.path, "fast_run")
            msg = f"{where}: {scenario.id} searches for algorithms, which --committed cannot repeat"
            raise InputError(
                msg,
                hint="commit the algo.cache that a trim leaves in its profile folder, and name it "
                "as algo_cache",
                command=("trim",),
            )


def list_named_files(loaded: LoadedConfig) -> tuple[Path, ...]:
    return tuple(sorted(loaded.resolve(each).resolve() for each in list_written_files(loaded)))


def list_written_files(loaded: LoadedConfig) -> set[Path]:
    """Return the files of models and scenarios, and what they name, as it is written."""
    written = (Path(each) for each in loaded.item_files)
    return {*written, *(file for _, file, _ in _named_files(loaded))}


def _named_files(loaded: LoadedConfig) -> Iterator[tuple[KeyPath, Path, _Read]]:
    yield from _name_files_of_models(loaded)
    for at, model in enumerate(loaded.config.models):
        for number, scenario in enumerate(model.scenarios):
            own = ("models", at, "scenarios", number)
            yield from (
                ((*own, "inputs", name), file, _open)
                for name, file in scenario.inputs.items()
                if file not in loaded.made
            )
            if scenario.algo_cache is not None:
                yield (*own, "algo_cache"), scenario.algo_cache, _open
    for at, command in enumerate(loaded.config.scenarios):
        for name, file in command.inputs.items():
            yield ("scenarios", at, "inputs", name), file, _open
        if command.stdin is not None:
            yield ("scenarios", at, "stdin"), command.stdin, _open


def _name_files_of_models(loaded: LoadedConfig) -> Iterator[tuple[KeyPath, Path, _Read]]:
    models = find_kind(loaded.config.engine.kind).models

    def read_whole(path: Path, shown: str) -> None:
        if models is None:
            _open(path, shown)
        else:
            models.read_whole(path, source=shown)

    def read_operators(path: Path, shown: str) -> None:
        if models is not None:
            models.load_operator_json(path, shown=shown)

    for at, model in enumerate(loaded.config.models):
        keys: KeyPath = ("models", at)
        yield (*keys, "file"), model.file, read_whole
        yield from (((*keys, "also", i), each, read_whole) for i, each in enumerate(model.also))
        for number, info in enumerate(model.strip_info):
            yield (*keys, "strip_info", number), info, read_operators


def _open(path: Path, shown: str) -> None:
    with open_plain_file(path, expected="a file that a run reads", shown=shown) as stream:
        size_bytes = stream.seek(0, io.SEEK_END)
    if size_bytes > _LARGEST_READ_BYTES:
        msg = f"{shown}: found {size_bytes:,} bytes, expected at most {_LARGEST_READ_BYTES:,}"
        raise InputError(msg, hint="each run gets a copy of it: use a smaller file")


def expect_known_folders(loaded: LoadedConfig, trees: Collection[Checkout]) -> None:
    """One that CMake files speak of may be a build's own; one with / first is elsewhere."""
    asked = [
        (at, text)
        for at, text in enumerate(loaded.config.trim.keep)
        if "/" in text and not text.startswith("/") and "operator" not in text
    ]
    if not asked:
        return
    files = (PurePosixPath(name) for tree in trees for name in tree.files)
    folders = {f"{parent}/" for file in files for parent in file.parents}
    problems = [
        _problem(
            loaded,
            ("trim", "keep", at),
            f"{text!r}, {found}",
            "a folder of the source, with / at its end",
            closest(text, folders),
        )
        for at, text in asked
        if (found := _wrong_folder(text, folders, trees))
    ]
    if problems:
        raise ConfigError(problems, hint="the path of a folder outside of the source begins with /")


def _wrong_folder(text: str, folders: Collection[str], trees: Collection[Checkout]) -> str:
    if not text.endswith("/"):
        return "no name of a function"
    wanted = f"/{text.removeprefix('./')}"
    known = any(wanted in f"/{folder}" for folder in folders)
    return "" if known or any(_speaks_of(text, tree) for tree in trees) else "no such folder"


def _speaks_of(folder: str, tree: Checkout) -> bool:
    word = re.compile(rf"(?<![\w-]){re.escape(PurePosixPath(folder).name)}(?![\w-])")
    files = (name for name in tree.files if name.endswith((".cmake", "CMakeLists.txt")))
    return any(word.search(tree.text(name)) for name in files)


_HINT = "`megtrim model show FILE` prints what a model takes"
_IMAGES = (".jpg", ".jpeg", ".png")
_IMAGE_DIMENSIONS = 4


def expect_runnable_models(loaded: LoadedConfig, engine: Project) -> tuple[str, ...]:
    """All mistakes are reported at once; what only the engine can read passes."""
    problems = []
    warnings = []
    flags = engine.flags
    for at, model in enumerate(loaded.config.models):
        facts = _read_facts(loaded, engine, model)
        keys: KeyPath = ("models", at)
        formats = engine.formats()
        if facts is not None and formats and facts.format not in formats:
            found = f"{model.file}, a model of the format {facts.format}"
            expected = f"one that this engine reads: {listing(formats)}"
            problems.append(_problem(loaded, (*keys, "file"), found, expected))
            continue
        _expect_known_needs(loaded, engine, model)
        if facts is None:
            continue
        for number, scenario in enumerate(model.scenarios):
            if flags is None or scenario.application is not None:
                continue
            own = (*keys, "scenarios", number)
            problems += _input_problems(loaded, own, (model, scenario), facts, flags)
            absent = (input_ for input_ in facts.inputs if input_.name not in scenario.inputs)
            missing = ", ".join(map(describe_variable, absent))
            if missing and flags.needs_inputs:
                expected = f"{missing}: this engine runs the model only with its inputs"
                problems.append(_problem(loaded, own, "no file for an input", expected))
            elif missing:
                where = f"{loaded.where(*own)}: {model.name}/{scenario.name}"
                warnings.append(f"{where}: no file for the input {missing}: the output may be "
                                "constant, which proves nothing")  # fmt: skip
    if problems:
        raise ConfigError(problems, hint=_HINT)
    return tuple(warnings)


def _read_facts(loaded: LoadedConfig, engine: Project, model: ModelConfig) -> ModelFacts | None:
    """Of another engine's model, too: its format is named."""
    models = engine.models
    if models is None:
        return None
    path = loaded.resolve(model.file)
    with suppress(UnknownFormat):
        return read_any_model(path, shown=str(model.file), first=models)
    return None


def _expect_known_needs(loaded: LoadedConfig, engine: Project, model: ModelConfig) -> None:
    if engine.models is not None and not trims_plain_build(loaded.config):
        asked = (model.name, model.file, model.strip_info)
        engine.models.gather_needs([asked], folder=loaded.folder)


def _input_problems(
    loaded: LoadedConfig,
    keys: KeyPath,
    asked: tuple[ModelConfig, ScenarioConfig],
    facts: ModelFacts,
    flags: ProgramFlags,
) -> Iterator[Problem]:
    model, scenario = asked
    taken: Mapping[str, Variable] = {input_.name: input_ for input_ in facts.inputs}
    for name, file in scenario.inputs.items():
        own = (*keys, "inputs", name)
        if name not in taken:
            has = ", ".join(map(describe_variable, facts.inputs)) or "none at all"
            found = f"an input that {model.file} does not have"
            suggestion = closest(name, taken)
            yield _problem(loaded, own, found, f"one of its inputs: {has}", suggestion)
        elif file.suffix not in flags.input_suffixes:
            ends = f"a file whose name ends in {listing(flags.input_suffixes)}"
            if file.suffix.lower() in _IMAGES:
                ends += f"; to convert it: {_convert_image(file, taken[name])}"
            yield _problem(loaded, own, str(file), ends)
        elif file.suffix == NPY:
            variable = taken[name]
            shown = f"{loaded.where(*own)}: {file}"
            header = read_npy_header(loaded.resolve(file), shown=shown)
            if not header.fits(variable.dtype, variable.shape, resized=scenario.dynamic_shape):
                expected = f"{describe_variable(variable)}, as {model.file} takes it"
                yield _problem(loaded, own, f"{file} with {header}", expected)


def _convert_image(file: Path, variable: Variable) -> str:
    """Return the line that makes a tensor of an image: NCHW, numbers as they are."""
    sides = variable.shape or ()
    resized = ""
    if len(sides) == _IMAGE_DIMENSIONS:
        height = sides[2]
        width = sides[3]
        resized = f".resize(({width}, {height}))"
    element = "float32" if variable.dtype in ("", "Float32") else "uint8"
    program = (
        "import sys, numpy as np; from PIL import Image; "
        f"image = Image.open(sys.argv[1]).convert('RGB'){resized}; "
        f"np.save(sys.argv[2], np.asarray(image, np.{element}).transpose(2, 0, 1)[None])"
    )
    return shlex.join(("python3", "-c", program, str(file), str(file.with_suffix(NPY))))


def read_npy_header(file: Path, *, shown: str) -> npy.NpyHeader:
    with open_plain_file(file, expected="a .npy file", shown=shown) as stream:
        header = npy.parse_header(stream.read(npy.LONGEST_HEADER), source=shown)
        npy.expect_whole(header, stream.seek(0, io.SEEK_END), source=shown)
    return header


def _problem(
    loaded: LoadedConfig, keys: KeyPath, found: str, expected: str, suggestion: str = ""
) -> Problem:
    place = loaded.place(*keys)
    return Problem(
        file=str(loaded.path.parent / place.file),
        line=place.line,
        key=loaded.show_key(*keys),
        found=found,
        expected=expected,
        suggestion=suggestion,
    )
