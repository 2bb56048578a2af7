"""What a trim is made of: each file's bytes, and the tools, as they are now."""

import hashlib
import os
import posixpath
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Origin, Toolchain
from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import keep_task
from megtrim.core.chain.made_of import MadeOf, leave_out, list_changed
from megtrim.core.chain.result_store import code_digest
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session.origin import find_top
from megtrim.core.cli.session.preflight import list_written_files
from megtrim.core.config.load import LoadedConfig
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import find_files, read_folder, read_keep_set
from megtrim.core.project import find_kind
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects.checkout import Checkout, digest_of

_MOST_LINKS = 40
_KEPT = "**/*.json"
_NOWHERE = "which no commit of this repository contains"
_OF_IT = "a folder that is not of the program's sources"


def gather(
    loaded: LoadedConfig,
    options: Options,
    origin: Origin,
    trees: Collection[Checkout],
    toolchain: Toolchain,
    processes: ProcessRunner,
) -> MadeOf | None:
    """Raises InputError for a file that cannot be read. None: there is no repository."""
    top = find_top(loaded.path.parent.resolve(), processes)
    if top is None:
        return None
    gathered = _Files(top)
    for path in _list_own_files(loaded, quick=options.quick):
        gathered.add(path)
    built_with = {f"toolchain {label}": value for label, value in toolchain.identity().items()}
    built_with["megtrim"] = f"{origin.megtrim} {code_digest()[:12]}"
    embedded = find_kind(loaded.config.engine.kind).find_embedded()
    for tree in trees:
        if embedded is not None and tree.root.resolve() == embedded.resolve():
            built_with["embedded engine"] = tree.digest
        else:
            gathered.add_tree(tree)
    if options.kept:
        gathered.outside.append("it kept functions that a patch names, which no commit records")
    if options.reached:
        gathered.outside.append("it kept functions that --reached names, which no commit records")
    return MadeOf(
        # An origin names it in full only once it is committed.
        config=_name_below(top, loaded.folder, options.config.name) or origin.config,
        quick=options.quick,
        files=gathered.files,
        folders=tuple(gathered.folders),
        patterns=tuple(_list_patterns(loaded, top, quick=options.quick)),
        outside=tuple(gathered.outside),
        built_with={label: value[:4096] for label, value in built_with.items()},
    )


def finish(session: Session, processes: ProcessRunner) -> MadeOf | None:
    """Return what a trim that passed was made of, with the keep set that it may have written."""
    request = session.request
    before = request.made_of
    top = find_top(request.loaded.path.parent.resolve(), processes)
    if before is None or top is None:
        return None
    now = _Files(top)
    try:
        for path in _list_own_files(request.loaded, quick=request.options.quick):
            now.add(path)
    except InputError:
        return None  # it passed, whatever became of its files since
    traced = not (request.options.quick or request.options.committed)
    pattern = _name_keep_set(request.loaded, top)
    # The keep set is what the trim found out, and may have written.
    known = leave_out(before, pattern) if traced else before
    after = replace(before, files={**known.files, **now.files})
    changed = list_changed(known, leave_out(after, pattern) if traced else after)
    reasons = [f"{path} changed during the trim" for path in changed]
    if traced and not _is_as_traced(session):
        reasons.append("it kept another list than the committed one")
    return replace(after, outside=(*after.outside, *reasons))


def _is_as_traced(session: Session) -> bool:
    folder = session.done.get(keep_task(session.config))
    if folder is None:
        return False
    try:
        committed = read_folder(session.request.path(session.config.keep_set))
    except InputError:
        return False
    return _list_kept(committed) == _list_kept(read_keep_set(folder.file(KEEP_SET_FILE)))


def _list_kept(keep: KeepSet) -> tuple[object, ...]:
    return (keep.regions(), keep.functions(), keep.operators)


def _list_own_files(loaded: LoadedConfig, *, quick: bool) -> Iterator[Path]:
    yield loaded.path.absolute()
    yield from map(loaded.resolve, list_written_files(loaded))
    if not quick:
        folder = loaded.resolve(loaded.config.keep_set)
        yield from (folder / name for name in find_files(folder))


def _list_patterns(loaded: LoadedConfig, top: Path, *, quick: bool) -> Iterator[str]:
    for pattern in loaded.document.patterns:
        if (name := _name_below(top, loaded.folder, pattern)) is not None:
            yield name
    if not quick:
        yield _name_keep_set(loaded, top)


def _name_keep_set(loaded: LoadedConfig, top: Path) -> str:
    keep_set = loaded.config.keep_set.as_posix()
    return _name_below(top, loaded.folder, f"{keep_set}/{_KEPT}") or _KEPT


def _name_below(top: Path, folder: Path, name: str) -> str | None:
    """Return a path from the top of the repository; None: it leads out of it."""
    whole = posixpath.normpath(f"{folder.resolve().as_posix()}/{name}")
    below = posixpath.relpath(whole, top.as_posix())
    return None if below.startswith("../") else below


class _Files:
    def __init__(self, top: Path) -> None:
        self.files: dict[str, str] = {}
        self.folders: list[str] = []
        self.outside: list[str] = []
        self._top = top

    def add(self, path: Path) -> None:
        """A path through links is of the program with each of them."""
        real = self._follow(path)
        digest = digest_of(real)
        if not real.is_relative_to(self._top):
            self.outside.append(f"it needs {spell(real)}, {_NOWHERE}")
        elif digest is not None:
            self.files[self._name(real)] = digest

    def add_tree(self, tree: Checkout) -> None:
        root = self._follow(tree.root)
        if not root.is_relative_to(self._top):
            self.outside.append(f"its sources are in {spell(root)}, {_NOWHERE}")
            return
        self.folders += [self._name(root / part) for part in tree.parts]
        for name, digest in tree.files.items():
            path = root / name
            self.files[self._name(path)] = digest
            if path.is_symlink():
                self._add_target(path, root)

    def _add_target(self, link: Path, root: Path) -> None:
        real = self._follow(link)
        if real.is_dir() and not real.is_relative_to(root):
            self.outside.append(f"{self._name(link)} leads to {spell(real)}, {_OF_IT}")
        elif not real.is_relative_to(root):
            self.add(real)

    def _follow(self, path: Path) -> Path:
        """Return where a path leads, and note the links of the repository on the way."""
        at = Path(path.absolute().anchor)
        parts = deque(path.absolute().parts[1:])
        links = 0
        while parts:
            part = parts.popleft()
            if part == "..":
                at = at.parent
                continue
            step = at / part
            if not step.is_symlink():
                at = step
                continue
            links += 1
            if links > _MOST_LINKS:
                break
            target = step.readlink()
            if step.is_relative_to(self._top):
                written = b"link:" + os.fsencode(target)
                self.files[self._name(step)] = hashlib.sha256(written).hexdigest()
            if target.is_absolute():
                at = Path(target.anchor)
            parts.extendleft(reversed([each for each in target.parts if each != target.anchor]))
        return at

    def _name(self, path: Path) -> str:
        return spell(path.relative_to(self._top))


def spell(path: Path) -> str:
    """Return a path as text that JSON holds, whatever its bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
