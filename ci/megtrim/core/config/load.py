"""The entry point of this room: takes the path of a megtrim.yaml, returns a checked value.

A bundle comes from a pull request, which must not choose what a machine's owner says of devices.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from pydantic import Field, ValidationError

from megtrim.core.config.config_id import split
from megtrim.core.config.device import BoardAccess, DeviceSettings, PowerPort, is_on_runner
from megtrim.core.config.document import LARGEST_FILE_BYTES, Document, MarkedDict, parse_document
from megtrim.core.config.items import choose_toolchain, expand_threads, read_items, toolchain_names
from megtrim.core.config.kinds import DEFAULT_LEVEL, DEFERRED, DEFERRING_LEVELS, find_builder
from megtrim.core.config.model import Config
from megtrim.core.config.problems import (
    ConfigError,
    KeyPath,
    Place,
    Problem,
    closest,
    listing,
    show,
)
from megtrim.core.config.references import COMPILED, find_problems, find_toolchain_problems
from megtrim.core.config.removed import find_key
from megtrim.core.config.scenarios import all_scenarios, runners_alone, without_device
from megtrim.core.config.value_types import EXPECTED, ConfigSection, HostName, Name, Serial
from megtrim.core.parts import find_parts, load
from megtrim.libs.programs.made_inputs import is_made
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import FOLDER, MISSING, kind_at, read_bytes
from megtrim.libs.util.strict_json import show_path
from megtrim.libs.util.value import Value

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

BOARDS_VARIABLE = "MEGTRIM_BOARDS"
_EXAMPLE = "`boards: [{name: rock-5, host: rock-5.lan}]`"
_MAPPING = "a mapping (key: value)"

_EXPECTED: Mapping[str, str] = {
    "string_type": "text (in quotes where it looks like something else)",
    "bool_type": "true or false",
    "float_type": "a number",
    "greater_than_equal": "{ge:g} or more",
    "less_than": "less than {lt:g}",
    "finite_number": "a number that is not infinite",
    "less_than_equal": "{le:g} or less",
    "tuple_type": "a list",
    "too_short": "at least one entry (or the key left out, where it may be)",
    "model_type": _MAPPING,
    "dict_type": _MAPPING,
    EXPECTED: "{what}",
}


Section = TypeVar("Section", bound=ConfigSection)


def find_missing_files(config: Config, document: Document, folder: Path) -> Iterator[Problem]:
    engine: KeyPath = ("engine", "source")
    if config.engine.source is None:
        kind = load(find_parts().engines[config.engine.kind], "engines")
        if kind.find_embedded() is None:
            yield document.problem(engine, "nothing", f"{kind.tree} (or --engine PATH)")
    folders = {engine: (config.engine.source, "engine's source (or --engine PATH)")} | {
        ("applications", i, "source"): (each.source, "application's source")
        for i, each in enumerate(config.applications)
    }
    for path, (source, what) in folders.items():
        if source is None:
            continue
        written = show(document.value(path))
        if kind_at(folder / source) != FOLDER:
            yield document.problem(path, f"{written}, no such folder", f"the folder of the {what}")
        elif path != engine and kind_at(folder / source / "CMakeLists.txt"):
            found = f"{written}, a folder without CMakeLists.txt"
            yield document.problem(path, found, "the folder of a CMake project")
    for path, file in _list_files(config):
        if found := kind_at(folder / file):
            place = document.nearest(path)  # a single path counts as a list of one
            written = show(document.value(place))
            yield document.problem(place, f"{written}, {found}", "a file that is there")


def _list_files(config: Config) -> Iterator[tuple[KeyPath, Path]]:
    for i, model in enumerate(config.models):
        at: KeyPath = ("models", i)
        yield (*at, "file"), model.file
        yield from (((*at, "strip_info", j), file) for j, file in enumerate(model.strip_info))
        yield from (((*at, "also", j), file) for j, file in enumerate(model.also))
        for j, scenario in enumerate(model.scenarios):
            place = (*at, "scenarios", j)
            if scenario.algo_cache is not None:
                yield (*place, "algo_cache"), scenario.algo_cache
            for name, file in scenario.inputs.items():
                if not is_made(file):
                    yield (*place, "inputs", name), file
    for i, command in enumerate(config.scenarios):
        if command.stdin is not None:
            yield ("scenarios", i, "stdin"), command.stdin
        for name, file in command.inputs.items():
            yield ("scenarios", i, "inputs", name), file


class LoadedConfig(Value):
    config: Config
    path: Path
    """The file as it was given, for messages."""
    folder: Path
    """The folder that paths in the configuration are relative to; absolute."""
    document: Document
    warnings: tuple[str, ...]
    """Lines such as ``FILE:LINE: what may surprise``."""
    models_pattern: str = ""
    """Of the files of the models; empty: they are a list."""
    made: frozenset[Path] = frozenset()
    """Files of inputs that were made of values."""

    @property
    def sha256(self) -> str:
        return self.document.sha256

    @property
    def item_files(self) -> tuple[str, ...]:
        paths: list[KeyPath] = [scenario.path for scenario in all_scenarios(self.config)]
        places = (self.place(*each) for path in paths for each in (path, path[:2]))
        return tuple(sorted({each.file for each in places} - {self.path.name}))

    def keeping(self, patterns: Iterable[str]) -> LoadedConfig:
        """Return it with more of ``trim.keep``, behind what the file says."""
        trim = self.config.trim
        trim = trim.model_copy(update={"keep": (*trim.keep, *patterns)})
        return replace(self, config=self.config.model_copy(update={"trim": trim}))

    def resolve(self, path: Path) -> Path:
        return self.folder / path

    def line(self, *path: str | int) -> int:
        return self.document.find_mark(path).line

    def place(self, *path: str | int) -> Place:
        mark = self.document.find_mark(path)
        return Place(file=mark.file or self.path.name, line=mark.line)

    def show_key(self, *path: str | int) -> str:
        return show_path(self.document.find_mark(path).path)

    def where(self, *path: str | int) -> str:
        """Return ``FILE:LINE`` of a key, for messages."""
        place = self.place(*path)
        return f"{posixpath.normpath(self.path.parent / place.file)}:{place.line}"

    def describe(self, *path: str | int) -> str:
        """Return ``FILE:LINE: KEY``, with which a message about a key begins."""
        return f"{self.where(*path)}: {self.show_key(*path)}"


def load_config(
    path: Path, *, engine_source: Path | None = None, quick: bool = False
) -> LoadedConfig:
    """Read ``FILE`` or ``FILE#TOOLCHAIN``; ``quick``: as by ``base: plain``. Raises ConfigError."""
    file, toolchain = split(str(path))
    path = Path(file)
    folder = path.absolute().parent
    main = parse_document(_load_bytes(path), file=str(path))
    pattern = main.data.get("models")
    document = read_items(main, folder)
    document = expand_threads(document)
    problems = [*document.repeated, *find_toolchain_problems(_validate(document, Config), document)]
    document = choose_toolchain(document, toolchain)
    if engine_source is not None:
        document = _with_source(document, engine_source.absolute())
    if quick:
        document = _quick(document)
    config = _validate(document, Config)
    problems += find_problems(config, document)
    problems += find_missing_files(config, document, folder)
    if problems:
        raise ConfigError(problems)
    return LoadedConfig(
        config=config,
        path=path,
        folder=folder,
        document=document,
        warnings=_warnings(config, document),
        models_pattern=pattern if isinstance(pattern, str) else "",
    )


def _validate(document: Document, kind: type[Section]) -> Section:
    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        problems = [*problems_of(error, document, kind), *document.repeated]
        raise ConfigError(problems) from None


def list_toolchains(path: Path) -> tuple[str, ...]:
    file, chosen = split(str(path))
    with suppress(InputError):
        document = parse_document(_load_bytes(Path(file)), file=file)
        return () if chosen else toolchain_names(document)
    return ()


def _load_bytes(path: Path) -> bytes:
    expected = "a megtrim.yaml"
    hint = "`megtrim init MODEL...` writes one, --config names another"
    if found := kind_at(path):
        problem = Problem(file=str(path), line=0, key="", found=found, expected=expected)
        raise ConfigError([problem], hint=hint)
    return read_bytes(path, most_bytes=LARGEST_FILE_BYTES, expected=expected, hint=hint)


def _with_source(document: Document, source: Path) -> Document:
    engine = document.data.get("engine")
    if not isinstance(engine, MarkedDict):
        return document
    whole = document.data.replace({"engine": engine.replace({"source": str(source)})})
    return replace(document, data=whole)


def _quick(document: Document) -> Document:
    trim = document.data.get("trim", MarkedDict({}, {}))
    if not isinstance(trim, MarkedDict):
        return document
    # Keys of a reduced build have no effect on it, but are no mistake in the file.
    left = {key: value for key, value in trim.items() if key not in COMPILED}
    engine = document.data.get("engine")
    of_project = isinstance(engine, MarkedDict) and find_builder(engine.get("kind")) != ""
    asked = trim.get("level", DEFAULT_LEVEL if of_project else "function")
    level = DEFERRED if asked in DEFERRING_LEVELS else "function"
    quick = MarkedDict(left | {"level": level, "base": "plain"}, trim.marks)
    return replace(document, data=document.data.replace({"trim": quick}))


def _warnings(config: Config, document: Document) -> tuple[str, ...]:
    unserved = tuple(
        f"{document.file_of(each.path)}:{document.find_mark(each.path).line}: {each.id}: no device "
        f"is of class {each.cpu_class.name}, so this stays unverified"
        for each in without_device(config)
        if document.value(each.path) is not None
    )
    unplayed = tuple(
        f"{document.file}:{document.find_mark(('classes', index)).line}: class {each.name}: "
        "without its runner, an emulated CPU with every feature takes its place, which may choose "
        "other kernels; set its qemu_cpu"
        for index, each in runners_alone(config)
        if each.qemu_cpu is None
    )
    return (*unserved, *unplayed)


def problems_of(
    error: ValidationError, document: Document, model: type[ConfigSection]
) -> Iterator[Problem]:
    for details in error.errors(include_url=False):
        # A list with nothing but wrong entries counts as empty, too; its entries are reported.
        if details["type"] != "too_short" or not details["input"]:
            yield _problem(details, document, model)


def _problem(details: ErrorDetails, document: Document, model: type[ConfigSection]) -> Problem:
    path: KeyPath = details["loc"]
    kind = details["type"]
    if kind == "missing":
        return document.problem(path, "nothing", "this key, which has no default")
    # A single path counts as a list of one, and a wrong key is reported below its section.
    path = document.nearest(path)
    if kind == "extra_forbidden":
        if gone := find_key(path):
            was = f"a key that was removed: {gone.last} is the last version that has it"
            return document.problem(path, was, gone.instead)
        keys = _keys(model, path[:-1])
        return document.problem(path, "an unknown key", listing(keys), closest(path[-1], keys))
    context = details.get("ctx", {})
    found = show(details["input"])
    if kind in ("literal_error", "enum"):
        choices = re.findall(r"'([^']*)'", context["expected"]) or [context["expected"]]
        return document.problem(path, found, listing(choices), closest(details["input"], choices))
    return document.problem(path, found, _EXPECTED[kind].format(**context))


def _keys(section: type[ConfigSection], path: KeyPath) -> list[str]:
    for part in path:
        if isinstance(part, str):
            field = section.model_fields[section.names_by_key()[part]]
            section = _section(field.annotation)
    return [*section.names_by_key()]


def _section(annotation: Any) -> type[ConfigSection]:
    """Return the section inside ``tuple[Section, ...]`` or ``Section``."""
    candidates = (annotation, *get_args(annotation))
    return next(
        each for each in candidates if isinstance(each, type) and issubclass(each, ConfigSection)
    )


class OwnedBoard(BoardAccess):
    name: Name
    host: HostName


class OwnedPhone(ConfigSection):
    serial: Serial
    power: PowerPort


class OwnedDevices(ConfigSection):
    boards: tuple[OwnedBoard, ...] = Field(default=(), max_length=1000)
    phones: tuple[OwnedPhone, ...] = Field(default=(), max_length=1000)

    def settle(self, name: str, kind: str, asked: DeviceSettings) -> DeviceSettings:
        if kind != "ssh":
            powers = {phone.serial: phone.power for phone in self.phones}
            return asked.model_copy(update={"power": powers.get(asked.serial)})
        for board in self.boards:
            if board.name == name:
                own = {key: value for key, value in board if key != "name"}
                return asked.model_copy(update=own)
        msg = f"device {name}: the owner of this machine has not listed such a board"
        raise InputError(
            msg, hint=f"{BOARDS_VARIABLE} names a file that lists its boards: {_EXAMPLE}"
        )


def load_owned_devices(path: str) -> OwnedDevices:
    """Read the owner's file; without one, jobs may use no board. Raises InputError."""
    if not path or kind_at(Path(path)) == MISSING:
        return OwnedDevices()
    expected = f"a file with this machine's boards, such as {_EXAMPLE}"
    raw = read_bytes(
        Path(path), most_bytes=LARGEST_FILE_BYTES, expected=expected, shown=BOARDS_VARIABLE
    )
    document = parse_document(raw, file=path)
    owned = _validate(document, OwnedDevices)
    problems = [*document.repeated]
    for index, board in enumerate(owned.boards):
        problems += [
            document.problem(("boards", index, key), str(file), "a path: /... or ~/...")
            for key, file in board
            if isinstance(file, Path) and not is_on_runner(str(file))
        ]
    if problems:
        raise ConfigError(problems)
    return owned
