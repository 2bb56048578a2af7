"""The entry point of this room: takes the path of a megtrim.yaml, returns a checked value.

Reads that file, and those of its items, and looks which of the files that they name exist; writes
nothing, starts nothing.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path

from pydantic import ValidationError

from megtrim.config.config_id import split
from megtrim.config.document import (
    LARGEST_FILE_BYTES,
    Document,
    nearest_item,
    nearest_line,
    parse_document,
    written_path,
)
from megtrim.config.items import expand_threads, read_items
from megtrim.config.model import Config
from megtrim.config.problems import ConfigError, KeyPath, Place, Problem, show
from megtrim.config.pydantic_messages import problems_of
from megtrim.config.references import COMPILED, find_problems, find_toolchain_problems
from megtrim.config.scenarios import runners_alone, without_device
from megtrim.config.toolchains import choose_toolchain, toolchain_names
from megtrim.util.errors import InputError
from megtrim.util.input_files import FOLDER, kind_at, read_bytes
from megtrim.util.strict_json import show_path
from megtrim.util.value import Value


def find_missing_files(config: Config, document: Document, folder: Path) -> Iterator[Problem]:
    """Yield files and folders that are named but do not exist, relative to ``folder``."""
    engine: KeyPath = ("engine", "source")
    if config.engine.source is None and config.engine.kind == "megengine":
        expected = "the folder of a MegEngine checkout (or --engine PATH)"
        yield document.problem(engine, "nothing", expected)
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
                yield (*place, "inputs", name), file


class LoadedConfig(Value):
    config: Config
    path: Path
    """The file as it was given, for messages."""
    folder: Path
    """The folder that paths in the configuration are relative to; absolute."""
    lines: Mapping[KeyPath, int]
    sha256: str
    """Of the file's bytes, and of its items' files."""
    warnings: tuple[str, ...]
    """Lines such as ``FILE:LINE: what may surprise``."""
    files: Mapping[KeyPath, str] = field(default_factory=dict)
    """Models and scenarios that are files of their own, relative to the folder."""
    models_pattern: str = ""
    """Of the files of the models; empty: they are a list."""
    written: Mapping[KeyPath, KeyPath] = field(default_factory=dict)
    """As in a document: where what stands elsewhere in its file is written."""

    def resolve(self, path: Path) -> Path:
        return self.folder / path

    def line(self, *path: str | int) -> int:
        return nearest_line(self.lines, path)

    def place(self, *path: str | int) -> Place:
        item = nearest_item(self.files, path)
        name = self.path.name if item is None else self.files[item]
        return Place(file=name, line=self.line(*path))

    def source(self, *path: str | int) -> tuple[Path, KeyPath]:
        item = nearest_item(self.files, path) or ()
        within = written_path(self.written, path)
        return self.path.parent / self.place(*path).file, within[len(item) :]

    def is_shared(self, *path: str | int) -> bool:
        """Return whether a key is in a file that other configurations may use, too."""
        return self.place(*path).file.startswith("../")

    def show_key(self, *path: str | int) -> str:
        return show_path(written_path(self.written, path))

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
    """Read and check a megtrim.yaml; all mistakes of a kind are one :class:`ConfigError`.

    First each key is read by itself; what keys say of each other is checked once all are right.

    A file with several toolchains holds a configuration for each: ``path`` is ``FILE#TOOLCHAIN``.
    ``engine_source`` replaces ``engine.source``; it is relative to the current folder. ``quick``
    trims by functions from the plain build, whatever level is configured.
    """
    file, toolchain = split(str(path))
    path = Path(file)
    folder = path.absolute().parent
    main = parse_document(_load_bytes(path), file=str(path))
    pattern = main.data.get("models")
    document = read_items(main, folder)
    document = expand_threads(document)
    problems = [*document.repeated, *find_toolchain_problems(_validate(document), document)]
    document = choose_toolchain(document, toolchain)
    if engine_source is not None:
        document = _with_source(document, engine_source.absolute())
    if quick:
        document = _quick(document)
    config = _validate(document)
    problems += find_problems(config, document)
    problems += find_missing_files(config, document, folder)
    if problems:
        raise ConfigError(problems)
    return LoadedConfig(
        config=config,
        path=path,
        folder=folder,
        lines=document.lines,
        sha256=document.sha256,
        warnings=_warnings(config, document),
        files=document.files,
        models_pattern=pattern if isinstance(pattern, str) else "",
        written=document.written,
    )


def _validate(document: Document) -> Config:
    try:
        return Config.model_validate(document.data)
    except ValidationError as error:
        problems = [*problems_of(error, document, Config), *document.repeated]
        raise ConfigError(problems) from None


def list_toolchains(path: Path) -> tuple[str, ...]:
    """Return the names of a file's toolchains; none if it has one, or one of them is chosen.

    A file that cannot be read has none: whoever loads it reports that.
    """
    file, chosen = split(str(path))
    with suppress(InputError):
        document = parse_document(_load_bytes(Path(file)), file=file)
        return () if chosen else toolchain_names(document)
    return ()


def _load_bytes(path: Path) -> bytes:
    expected, hint = "a megtrim.yaml", "`megtrim init` writes one, --config names another"
    if found := kind_at(path):
        problem = Problem(file=str(path), line=0, key="", found=found, expected=expected)
        raise ConfigError([problem], hint=hint)
    return read_bytes(path, most_bytes=LARGEST_FILE_BYTES, expected=expected, hint=hint)


def _with_source(document: Document, source: Path) -> Document:
    engine = document.data.get("engine")
    if not isinstance(engine, dict):
        return document
    return replace(document, data=document.data | {"engine": engine | {"source": str(source)}})


def _quick(document: Document) -> Document:
    trim = document.data.get("trim", {})
    if not isinstance(trim, dict):
        return document
    # Keys of a reduced build have no effect on it, but are no mistake in the file.
    left = {key: value for key, value in trim.items() if key not in COMPILED}
    quick = {"level": "function", "base": "plain"}
    return replace(document, data=document.data | {"trim": left | quick})


def _warnings(config: Config, document: Document) -> tuple[str, ...]:
    unserved = tuple(
        f"{document.file_of(each.path)}:{nearest_line(document.lines, each.path)}: "
        f"{each.id}: no device is "
        f"of class {each.cpu_class.name}, so this stays unverified"
        for each in without_device(config)
    )
    unplayed = tuple(
        f"{document.file}:{nearest_line(document.lines, ('classes', index))}: class {each.name}: "
        "without its runner, an emulated CPU with every feature takes its place, which may choose "
        "other kernels; set its qemu_cpu"
        for index, each in runners_alone(config)
        if each.qemu_cpu is None
    )
    return (*unserved, *unplayed)
