"""The store of results: ``OUT/<stage>/<key>/`` with files and, written last, ``manifest.json``.

The key is the digest of the inputs and of megtrim's own code, so the same inputs are never built
or run twice, and two versions of megtrim never take each other's results. A folder without a
manifest, or whose files are not what it states, is redone.
"""

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from functools import cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from filelock import FileLock, Timeout
from pydantic import Field

from megtrim.core.chain.gitignore import hide
from megtrim.core.chain.stage_result import Result, StageResult, dump_result, parse_result
from megtrim.libs.util import owned_folders
from megtrim.libs.util.errors import (
    DISK_ERRORS,
    InfrastructureFailure,
    InputError,
    MegtrimError,
    ProductFailure,
)
from megtrim.libs.util.files import (
    MEMORY,
    KnownDigests,
    cannot_write,
    expect_room,
    guard_write,
    is_known,
    load_text,
    read_damage,
    read_known,
    sha256_file,
    write_atomically,
)
from megtrim.libs.util.owned_folders import LOCKS, MARKER, refuse
from megtrim.libs.util.shortage import LITTLE_ROOM_BYTES
from megtrim.libs.util.strict_json import decode, encode
from megtrim.libs.util.value import Value

LAYOUT = 3
"""Version of folders and manifests. It enters every key: results of an older one are made again."""
_SEAL = "sha256"


class FileFacts(Value):
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    size_bytes: Annotated[int, Field(alias="bytes")]


class Manifest(Value):
    layout: int = field(default_factory=lambda: LAYOUT)
    stage: str
    name: str
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{20}$")]
    inputs: Mapping[str, str]
    result: Mapping[str, Any]
    files: Mapping[str, FileFacts]
    """By path, relative to the folder."""

    def __post_init__(self) -> None:
        _expect(self.layout == LAYOUT, "another layout")
        for name in self.files:
            path = PurePosixPath(name)
            leaves = path.is_absolute() or ".." in path.parts
            stays = str(path) == name and path.parts and not leaves and "\0" not in name
            _expect(bool(stays), "a file outside the folder")


def dump_manifest(manifest: Manifest) -> str:
    data = encode(manifest)
    return _text(data | {_SEAL: _digest(data)})


def parse_manifest(text: str) -> Manifest:
    """Return what a text says. Raises InputError where megtrim did not write exactly that."""
    try:
        data = json.loads(text)
        whole = isinstance(data, dict) and data.pop(_SEAL, "") == _digest(data)
        _expect(whole, "another content than its sha256 states")
        manifest: Manifest = decode(Manifest, data, "")
    except (InputError, ValueError, RecursionError) as error:
        msg = f"found {error}, expected a manifest as megtrim writes it"
        raise InputError(msg) from None
    return manifest


def _expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _text(data: Any) -> str:
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def _digest(data: Any) -> str:
    # A lone surrogate, which JSON can spell and no file can hold, is a ValueError here.
    return hashlib.sha256(_text(data).encode()).hexdigest()


MANIFEST = "manifest.json"
_LOCK_POLL_S = 0.2
_ASIDE = ".before"
"""Ends the folder of a result that is being made again."""
RESULT_NAME = re.compile(r"[0-9a-f]{20}(\.before)?", re.ASCII)
_OTHER_DIGEST = "it does not have the sha256 that its manifest states"


class StageFolder(Value):
    path: Path
    stage: str
    name: str
    key: str
    inputs: Mapping[str, str]
    result: StageResult
    files: Mapping[str, str]
    """Relative path to sha256."""
    known: Mapping[str, KnownDigests] = field(default_factory=dict, compare=False, repr=False)
    """By what the disk says, files that need not be read again to be sure of them."""

    def result_as(self, kind: type[Result]) -> Result:
        if not isinstance(self.result, kind):
            msg = f"{self.path} contains a {type(self.result).__name__}, not a {kind.__name__}"
            raise TypeError(msg)
        return self.result

    def file(self, name: str) -> Path:
        """Raises InfrastructureFailure where the file does not hold what its stage wrote."""
        if name not in self.files:
            msg = f"{self.path} has no {name}"
            raise KeyError(msg)
        path = self.path / name
        known = self.known.get(name)
        unchanged = known is not None and is_known(path, known)
        if not unchanged and read_known(path, self.files[name]) is None:
            msg = f"{path} was damaged: {_OTHER_DIGEST}"
            raise InfrastructureFailure(msg, hint="run it again: megtrim then makes it anew")
        return path


MEASURED = frozenset({"time_s", "conditions", "crash", "log_tail", "day", "rebuilt"})
"""Fields of a result, at any depth, that differ where the same is done again: times, logs, what
a device was like, and what a tree had compiled before."""
_LOG = ".log"


def content_of(folder: StageFolder) -> str:
    """Digest what other stages depend on: what was found, and not how long it took or where.

    So a result that is made again and says something else replaces whatever was reported before.
    """
    files = {name: sha256 for name, sha256 in folder.files.items() if not name.endswith(_LOG)}
    return _digest([_facts(dump_result(folder.result)), files])


def failure_content(failure: MegtrimError) -> str:
    attempts = failure.attempts if isinstance(failure, InfrastructureFailure) else ()
    return _digest([failure.exit_code, str(failure), *attempts])


def _facts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _facts(each) for key, each in value.items() if key not in MEASURED}
    return [_facts(each) for each in value] if isinstance(value, list) else value


def key_of(stage: str, name: str, inputs: Mapping[str, str]) -> str:
    """Return the digest that names a stage's folder: 20 hex digits of sha256."""
    text = json.dumps([LAYOUT, code_digest(), stage, name, sorted(inputs.items())])
    return hashlib.sha256(text.encode()).hexdigest()[:20]


@cache
def code_digest() -> str:
    package = Path(__file__).parents[2]
    hasher = hashlib.sha256()
    for root in (package, package.with_name("virtual_phone")):
        for folder, folders, names in os.walk(root, onerror=_reraise):
            folders[:] = sorted(each for each in folders if each != "__pycache__")
            for path in (Path(folder, name) for name in sorted(names)):
                shown = path.relative_to(package.parent)
                hasher.update(f"{sha256_file(path)}  {shown}\n".encode())
    return hasher.hexdigest()


def _reraise(error: OSError) -> None:
    raise error


def made_by_another(root: Path) -> InputError:
    msg = f"another version of megtrim made the results in {root}"
    return InputError(
        msg, hint=f"trim again, which is quick if {root}/work is still there", command=("trim",)
    )


class Store:
    """All stage folders below one root; those of another, ``earlier``, are taken if they fit."""

    def __init__(
        self,
        root: Path,
        *,
        earlier: Path | None = None,
        say: Callable[[str], None] = lambda _: None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.root = root
        self.taken: set[str] = set()
        self._earlier = earlier
        self._say = say
        self._warn = warn

    @property
    def owner(self) -> str:
        """The id that stands in the marker of each folder of these results."""
        return owned_folders.claim_results(self.root / LOCKS)

    def claim(self, name: str, *, is_former: Callable[[Path], bool] = lambda _: False) -> Path:
        """Return a folder of this name, which is megtrim's alone. Raises InputError."""
        path = self.root / name
        owned_folders.claim(path, self.owner, is_former=is_former)
        return path

    def find(self, stage: str, key: str, kind: type[StageResult]) -> StageFolder | None:
        """None where there is none, or it is torn or damaged; one not of ``kind`` is damage."""
        path = self.root / stage / key
        folder, damage = _load(path, kind)
        if damage:
            self._warn(f"{path} was damaged: {damage}; it is made again")
        return folder

    def previous(
        self,
        stage: str,
        kind: type[StageResult],
        name: str = "",
        *,
        fits: Callable[[StageFolder], bool] = lambda _: True,
    ) -> StageFolder | None:
        """Return the newest finished folder of ``name``, or of any, whatever its inputs were."""
        newest: tuple[float, Path] | None = None
        for manifest in (self.root / stage).glob(f"*/{MANIFEST}"):
            folder, _ = _load(manifest.parent, kind)
            if folder is None or name not in ("", folder.name) or not fits(folder):
                continue
            try:
                candidate = (manifest.stat().st_mtime, manifest.parent)
            except FileNotFoundError:
                continue  # another process discards it just now
            newest = candidate if newest is None else max(newest, candidate)
        return _load(newest[1], kind)[0] if newest else None

    def holds_foreign(self, stage: str, name: str = "") -> bool:
        found = (self.root / stage).glob(f"*/{MANIFEST}")
        return any(_is_foreign(each.parent, name) for each in found)

    def ensure(
        self,
        stage: str,
        name: str,
        inputs: Mapping[str, str],
        produce: Callable[[Path], Result],
        kind: type[Result],
    ) -> tuple[StageFolder, bool]:
        """Return the folder for these inputs, and whether it had to be produced now.

        When ``produce`` raises, the folder stays without a manifest: its logs can be read.
        """
        key = key_of(stage, name, inputs)
        with self.lock(f"{stage}-{key}"):
            found = self.find(stage, key, kind) or self._take(stage, key, kind)
            if found is not None:
                with suppress(OSError):  # of a store that can only be read
                    os.utime(found.path / MANIFEST)  # the newest one of its stage
                return found, False
            path = self.root / stage / key
            self._clear(path)
            result = _run_producer(produce, path)
            self._finish(path, stage, name, key, inputs, result)
            with suppress(OSError, InputError):
                remove_result(path.with_name(f"{key}{_ASIDE}"), self.owner)
        folder = self.find(stage, key, kind)
        if folder is None:
            msg = f"{path / MANIFEST} was written and cannot be read back"
            raise InfrastructureFailure(msg)
        return folder, True

    def _take(self, stage: str, key: str, kind: type[Result]) -> StageFolder | None:
        if self._earlier is None or _load(self._earlier / stage / key, kind)[0] is None:
            return None
        path = self.root / stage / key
        self._clear(path)
        with guard_write(path):
            # The manifest comes last: a copy that is cut off is none.
            source = self._earlier / stage / key
            shutil.copytree(
                source,
                path,
                dirs_exist_ok=True,
                ignore=shutil.ignore_patterns(MANIFEST, MARKER),
            )
            shutil.copy2(source / MANIFEST, path / MANIFEST)
        self.taken.add(key)
        return self.find(stage, key, kind)

    def discard(self, stage: str, name: str = "") -> None:
        """Set every result of a stage aside, so it is made again; ``name``: of that name alone.

        It is still the previous one, until its successor is there.
        """
        for manifest in sorted((self.root / stage).glob(f"*/{MANIFEST}")):
            path = manifest.parent
            if path.name.endswith(_ASIDE) or not is_result(path, self.owner):
                continue
            if name and not _is_named(path, name):
                continue
            with self.lock(f"{stage}-{path.name}"):
                self._set_aside(path)

    def _set_aside(self, path: Path) -> None:
        aside = path.with_name(f"{path.name}{_ASIDE}")
        # Another process may discard it just now.
        with guard_write(path), suppress(FileNotFoundError):
            remove_result(aside, self.owner)
            path.rename(aside)

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold a lock between processes; it dies with its holder. The wait is announced once."""
        path = self.root / LOCKS / f"{name}.lock"
        owned_folders.claim_results(path.parent)
        with guard_write(path):
            lock = FileLock(path)
            try:
                lock.acquire(timeout=0)
            except Timeout:
                self._say(f"waiting for another megtrim that works on {name}")
                lock.acquire(poll_interval=_LOCK_POLL_S)
        try:
            yield
        finally:
            lock.release()

    def _clear(self, path: Path) -> None:
        hide(self.root)
        with guard_write(path):
            remove_result(path, self.owner)
            path.mkdir(parents=True)
        owned_folders.mark(path, self.owner)

    def _finish(
        self,
        path: Path,
        stage: str,
        name: str,
        key: str,
        inputs: Mapping[str, str],
        result: StageResult,
    ) -> None:
        files = {
            str(file.relative_to(path)): FileFacts(
                sha256=sha256_file(file), size_bytes=file.stat().st_size
            )
            for file in sorted(path.rglob("*"))
            if file.is_file() and file != path / MARKER
        }
        manifest = Manifest(
            stage=stage, name=name, key=key, inputs=inputs, result=dump_result(result), files=files
        )
        write_atomically(path / MANIFEST, dump_manifest(manifest))


def is_result(path: Path, owner: str) -> bool:
    """Tell whether megtrim made a folder of a result: its marker says so, or its manifest."""
    if path.is_symlink() or not path.is_dir() or not RESULT_NAME.fullmatch(path.name):
        return False
    return owned_folders.is_owned(path, owner) or _read_own_manifest(path) is not None


def remove_result(path: Path, owner: str) -> None:
    """Of a finished result go the files that its manifest lists, and others are set aside.

    One that was cut off goes whole; a link holds nothing. Raises InputError for any other folder.
    """
    if path.is_symlink():
        path.unlink()
    elif (manifest := _read_own_manifest(path)) is not None:
        owned_folders.remove_files(path, (*manifest.files, MEMORY, MARKER, MANIFEST))
        if path.exists():
            kept = (path.with_name(f"{path.name}.kept-{number}") for number in count())
            path.rename(next(each for each in kept if not os.path.lexists(each)))
    elif path.is_dir() and (owned_folders.is_owned(path, owner) or owned_folders.is_empty(path)):
        shutil.rmtree(path)
    elif path.exists():
        raise refuse(path)


def _read_own_manifest(path: Path) -> Manifest | None:
    try:
        manifest = parse_manifest(load_text(path / MANIFEST))
    except (OSError, ValueError, InputError):
        return None
    return manifest if manifest.key == path.name.removesuffix(_ASIDE) else None


def _run_producer(produce: Callable[[Path], Result], path: Path) -> Result:
    try:
        result = produce(path)
    except OSError as error:
        if error.errno in DISK_ERRORS:
            raise cannot_write(path, error) from None
        _expect_there(path)
        raise
    except (InputError, ProductFailure):
        # What failed then says nothing of the product: a tool may have left half of a file.
        _expect_there(path)
        scratch = Path(tempfile.gettempdir())
        expect_room(path, scratch, fewest_bytes=LITTLE_ROOM_BYTES)
        raise
    _expect_there(path)
    return result


def _expect_there(path: Path) -> None:
    if not path.is_dir():
        msg = f"{path} does not exist any more: the folder of results was removed or unmounted"
        raise InfrastructureFailure(
            msg, hint="do not change it while megtrim works, and run it again"
        )


def _is_named(path: Path, name: str) -> bool:
    manifest, _ = _load_manifest(path)
    return manifest is not None and manifest.name == name


def _is_foreign(path: Path, name: str) -> bool:
    """Tell whether another megtrim left this folder: its manifest may be of another layout."""
    try:
        data = json.loads(load_text(path / MANIFEST))
    except (OSError, ValueError, InputError):
        return False
    if not isinstance(data, dict) or data.get("key") != path.name:
        return False
    whole = data.get("layout") != LAYOUT or _load_manifest(path) == (None, "")
    return whole and name in ("", data.get("name"))


def _load(path: Path, kind: type[StageResult]) -> tuple[StageFolder | None, str]:
    """Return a finished folder, or None and what is wrong with it: empty where it is torn."""
    manifest, damage = _load_manifest(path)
    if manifest is None:
        return None, damage
    try:
        result = parse_result(kind, manifest.result)
    except InputError as error:
        return None, f"its result is odd: {error.message}"
    files = {name: facts.sha256 for name, facts in manifest.files.items()}
    damage, known = read_damage(path, files)
    if damage:
        return None, f"{damage}: {_OTHER_DIGEST}"
    folder = StageFolder(
        path=path,
        stage=manifest.stage,
        name=manifest.name,
        key=manifest.key,
        inputs=manifest.inputs,
        result=result,
        files=files,
        known=known,
    )
    return folder, ""


def _load_manifest(path: Path) -> tuple[Manifest | None, str]:
    try:
        manifest = parse_manifest(load_text(path / MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        return None, ""
    except (OSError, ValueError, InputError):
        return None, "its manifest is not as it was written"
    if path.is_symlink() or path.name.removesuffix(_ASIDE) != manifest.key:
        return None, "another result is in its place"
    if manifest.key != key_of(manifest.stage, manifest.name, manifest.inputs):
        return None, ""  # of another megtrim
    return manifest, ""
