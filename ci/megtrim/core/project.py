"""A project that can be trimmed: what each kind has, and what only some have.

A kind of engine is a class that opens a tree. What it leaves out is never asked of it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from megtrim.core.build_spec import (
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.config.load import LoadedConfig
from megtrim.core.config.model import EngineConfig
from megtrim.core.functions.refusals import RefusalRule
from megtrim.core.keep.algo_cache import CacheFormat
from megtrim.core.keep.marks import RegionMarks
from megtrim.core.keep.operators import OperatorCode, OperatorNeeds
from megtrim.core.model_facts import ModelFacts, UnknownFormat
from megtrim.core.own_program import ProgramFlags
from megtrim.core.parts import find_parts, load
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import open_plain_file
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout

_HEAD_BYTES = 64


class ModelReader(Protocol):
    """Reads model files, without a tree. Each raises InputError for a damaged one."""

    def is_own(self, head: bytes) -> bool:
        """Tell by the first bytes of a file whether no other reader can read it."""

    def read_model(self, path: Path, *, shown: str = "") -> ModelFacts:
        """Raises UnknownFormat for what only the engine can read."""

    def read_whole(self, path: Path, *, source: str) -> None:
        """Refuse an empty or a truncated model; unknown formats pass."""
        self.read_model(path, shown=source)

    def read_is_flatbuffers(self, path: Path) -> bool:
        del path
        return False

    def digest_model_graph(self, path: Path, sha256: str) -> str | None:
        """Without values of weights; None: only the engine can read it."""

    def load_operator_json(self, path: Path, *, shown: str) -> object:
        msg = f"{shown}: found {path.name}, expected none: the model itself names its operators"
        raise InputError(msg, hint="leave strip_info out")

    def gather_needs(
        self, models: Iterable[tuple[str, Path, Sequence[Path]]], *, folder: Path
    ) -> tuple[OperatorNeeds, tuple[str, ...]]:
        """Take name, file and operator JSON of each; return what they need, and warnings."""


class Project(Protocol):
    """An opened tree; the class itself is its kind, and answers what needs no tree."""

    title: str
    tree: str = "a copy of the tree that comes with megtrim"
    """What ``engine.source`` names."""
    clone: str = ""
    """Command that gets a tree; empty: it comes with megtrim."""
    archive: str = ""
    """File of the library that programs of a team link to run its models."""
    model_format: str = ""
    """The word that the formats of its models begin with."""
    models: ModelReader | None = None
    caches: CacheFormat | None = None
    """How its search writes algorithm caches; None: they cannot be joined."""
    operator_code: OperatorCode | None = None
    """None: what an operator of its models costs is not known."""
    built_by: str = ""
    """cmake or link: what builds any project of this kind, whose code has no marks."""
    marks: RegionMarks | None = None
    """None: its code is not marked with regions."""

    starter: str = ""
    """The section ``engine`` of a starter file, with a place for the line of its ``source``."""
    starter_toolchain: str = "auto"
    own_options: Mapping[str, str] = {}
    """CMake options that megtrim sets, and what to write in their place."""

    checkout: Checkout
    kept: tuple[str, ...] = ()
    """Patterns of functions that always stay, as in ``trim.keep``."""
    refusals: tuple[RefusalRule, ...] = ()
    """Functions by which it refuses a model or an input, as in ``trim.refusals``."""
    kernels: tuple[str, ...] = ()
    """Folders of its tree that are always compiled for speed, even if the rest is for size."""
    switches: tuple[Switch, ...] = ()
    """Switches that its releases have options for."""

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        """Raises InputError for a tree of another kind."""

    def choose(self, asked: EngineConfig) -> None:
        """Take what a configuration says of it. Raises InputError for what the tree has not."""
        del asked

    @staticmethod
    def find_embedded() -> Path | None:
        """Return the tree that comes with megtrim."""
        return None

    @staticmethod
    def is_checkout(folder: Path) -> bool: ...

    @staticmethod
    def find_checkouts(folder: Path) -> tuple[Path, ...]:
        """Return the trees in, around or next to a folder, the nearest alone."""
        del folder
        return ()

    @staticmethod
    def list_submodules(files: Collection[str], listed: Collection[str]) -> tuple[str, ...]:
        """Return those of the ``listed`` paths of submodules that a build needs."""
        del files, listed
        return ()

    def identity(self) -> EngineIdentity: ...

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        """Return what to build; ``header``: generated files' texts by name, for reduced alone."""

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        """Raises InputError if this engine has no such library."""

    def find_forced_off(self, switch: Switch, toolchain: Toolchain, spec: BuildSpec) -> str:
        """Return why a build has a switch off, whatever it is asked for; empty: it has not."""
        del switch, toolchain, spec
        return ""

    @property
    def flags(self) -> ProgramFlags | None:
        """None: it has no program of its own that runs models."""
        return None

    def formats(self) -> tuple[str, ...]:
        """Return the formats that its program reads; empty if none or an unknown one is named."""
        return ()


def find_kind(kind: str) -> type[Project]:
    found: type[Project] = load(find_parts().engines.get(kind, ""), f"engines of kind {kind}")
    return found


def find_kinds() -> Mapping[str, type[Project]]:
    return {kind: find_kind(kind) for kind in find_parts().engines}


def find_embedded() -> Path:
    """Return the tree of the engine that comes with megtrim."""
    trees = (kind.find_embedded() for kind in find_kinds().values())
    found = next((tree for tree in trees if tree is not None), None)
    if found is None:
        msg = "this copy of megtrim has no engine in it"
        raise InputError(msg, hint="name one as engine.source")
    return found


def read_any_model(path: Path, *, shown: str = "", first: ModelReader | None = None) -> ModelFacts:
    """Let the reader that knows its first bytes read it, or else each in turn.

    Raises UnknownFormat where none can read it.
    """
    listed = (first, *(kind.models for kind in find_kinds().values()))
    readers = dict.fromkeys(reader for reader in listed if reader is not None)
    if not readers:
        msg = f"{shown or path} cannot be read: no engine in this copy of megtrim runs models"
        raise UnknownFormat(msg)
    with open_plain_file(path, expected="a model", shown=shown) as stream:
        head = stream.read(_HEAD_BYTES)
    owner = next((reader for reader in readers if reader.is_own(head)), None)
    if owner is not None:
        return owner.read_model(path, shown=shown)
    unknown: list[UnknownFormat] = []
    for reader in readers:
        try:
            return reader.read_model(path, shown=shown)
        except UnknownFormat as error:
            unknown.append(error)
    raise unknown[0]


def find_operators(project: Project, loaded: LoadedConfig) -> OperatorNeeds | None:
    """Return those of the models, where they are facts for prices and comparisons alone: an engine
    with marks has a header made of them, and a keep set of it without a header keeps them all.
    """
    models = loaded.config.models
    if project.models is None or project.marks is not None or not models:
        return None
    named = [(each.name, each.file, each.strip_info) for each in models]
    needs, _warnings = project.models.gather_needs(named, folder=loaded.folder)
    return needs


def find_library(
    project: Project, toolchain: Toolchain, shared: Collection[str]
) -> EngineLibrary | None:
    """Return the library for applications if it is one of the ``shared`` ones. Raises InputError
    if there are some, and the project has no such library.
    """
    if not shared:
        return None
    library = project.library(Linkage.SHARED, toolchain)
    return library if library.file in shared else None
