"""What an engine's checkout consists of; it is only read.

Files that git ignores do not belong to it; untracked files do, because the engine's own build
collects sources by pattern.
"""

import hashlib
import os
import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from megtrim.core.build_spec import EngineIdentity
from megtrim.libs.util import git_reading
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import CompletedCommand, ProcessRunner
from megtrim.libs.util.value import Value

_SUBMODULE_MODE = "160000"
_LARGEST_TEXT_BYTES = 2**24
_SKIPPED = frozenset({".git", "__pycache__"})


class Checkout(Value):
    """A snapshot of the tree: ``files`` maps relative paths to the sha256 of their content."""

    root: Path
    files: Mapping[str, str]
    commit: str
    """Commit of the superproject; empty outside git."""
    dirty: tuple[str, ...]
    """Paths that differ from the commit, including new files and moved submodules."""
    submodules: Mapping[str, str] = field(default_factory=dict)
    """Path of each submodule, those of submodules among them, to its recorded commit."""
    parts: tuple[str, ...] = ("",)
    """Files and folders that make up ``files``, if there are others next to them."""

    @property
    def digest(self) -> str:
        lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(self.files.items()))
        return hashlib.sha256(os.fsencode(lines)).hexdigest()

    def text(self, name: str, *, most_bytes: int = _LARGEST_TEXT_BYTES) -> str:
        """Empty for a link, a file larger than ``most_bytes``, or one that is not of the tree."""
        path = self.root / name
        if name not in self.files:
            return ""
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > most_bytes:
                return ""
            return path.read_bytes().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def identity(self, kind: str, generation: int) -> EngineIdentity:
        return EngineIdentity(
            kind=kind,
            generation=generation,
            digest=self.digest,
            commit=self.commit,
            dirty=self.dirty,
        )


def take(root: Path, processes: ProcessRunner, *, without: Path | None = None) -> Checkout:
    """``without``: a folder that is no part of the tree, for megtrim itself writes there."""
    if not root.is_dir():
        msg = f"there is no engine checkout at {root}"
        raise InputError(msg, hint="set engine.source, or pass --engine PATH")
    if not any(folders or files for _, folders, files in os.walk(root)) and processes.which("git"):
        top = Path(_Git(root, processes).find_top() or root)
        for path in _Git(top, processes).list_links():
            if root.resolve() == (top / path).resolve():
                msg = f"{root}: the submodule {path} of {top} is not checked out"
                command = ("git", "-C", str(top), "submodule", "update", "--init", path)
                raise InputError(msg, hint=shlex.join(command))
    git = _Git(root, processes)
    names = git.files() if git.works else _walk(root)
    dirty = git.dirty() if git.works else ()
    if without is not None:
        whole = root.resolve()
        apart = without.resolve()
        names = [name for name in names if apart not in (whole / name).parents]
        dirty = tuple(name for name in dirty if apart not in (whole / name).parents)
    return Checkout(
        root=root,
        files={name: digest for name in names if (digest := digest_of(root / name))},
        commit=git.commit() if git.works else "",
        dirty=dirty,
        submodules=git.submodules() if git.works else {},
    )


class _Git:
    """Asks git about a tree; ``works`` is false for a tree that is no checkout."""

    def __init__(self, root: Path, processes: ProcessRunner) -> None:
        self._root = root
        self._processes = processes
        self.works = (root / ".git").exists() and bool(self._expect_own())

    def files(self) -> list[str]:
        """Submodules' files, too, and untracked ones: a build collects by pattern."""
        found = {
            *self._names("ls-files", "-z", "--cached"),
            *self._names("ls-files", "-z", "--others", "--exclude-standard"),
        }
        for name in self.list_links():
            inside = _Git(self._root / name, self._processes)
            if inside.works:
                found |= {f"{name}/{file}" for file in inside.files()}
        return sorted(found)

    def submodules(self) -> dict[str, str]:
        found = self.list_links()
        for name in tuple(found):
            inside = _Git(self._root / name, self._processes)
            if inside.works:
                found |= {f"{name}/{each}": at for each, at in inside.submodules().items()}
        return found

    def find_top(self) -> str:
        return (self._ask("rev-parse", "--show-toplevel") or "").removesuffix("\n")

    def _expect_own(self) -> str:
        """Return the top folder. Raises InputError for a checkout of another user."""
        outcome = self._run("rev-parse", "--show-toplevel")
        if git_reading.is_of_another_user(outcome.stderr):
            msg = f"{self._root} belongs to another user, so git refuses to read this checkout"
            place = str(self._root.resolve())
            trust = ("git", "config", "--global", "--add", "safe.directory", place)
            raise InputError(msg, hint=f"if you trust its settings: {shlex.join(trust)}")
        return outcome.stdout.removesuffix("\n") if outcome.ok else ""

    def list_links(self) -> dict[str, str]:
        if not self.works:
            return {}
        entries = self._names("ls-files", "-z", "--stage")
        links = (entry.partition("\t") for entry in entries if entry.startswith(_SUBMODULE_MODE))
        return {name: about.split()[1] for about, _, name in links}

    def commit(self) -> str:
        return (self._ask("rev-parse", "HEAD") or "").strip()

    def dirty(self) -> tuple[str, ...]:
        # Within a submodule, git would run itself without looking whose that is.
        how = ("-z", "--porcelain", "--no-renames", "--ignore-submodules=dirty")
        found = {entry[3:] for entry in self._names("status", *how)}
        for name in self.list_links():
            inside = _Git(self._root / name, self._processes)
            if inside.works and inside.dirty():
                found.add(name)
        return tuple(sorted(found))

    def _names(self, *arguments: str) -> list[str]:
        output = self._ask(*arguments)
        if output is None:
            msg = f"git {arguments[0]} failed in {self._root}"
            raise InputError(msg, hint="is the checkout complete? `git status` there shows more")
        return [name for name in output.split("\0") if name]

    def _ask(self, *arguments: str) -> str | None:
        outcome = self._run(*arguments)
        return outcome.stdout if outcome.ok else None

    def _run(self, *arguments: str) -> CompletedCommand:
        command = git_reading.make_command(self._root, *arguments, env=self._processes.env)
        return self._processes.run(command)


def _walk(root: Path) -> list[str]:
    names = []
    for folder, folders, files in os.walk(root):
        kept = set(folders) - _SKIPPED
        folders[:] = sorted(name for name in kept if not _hides_itself(Path(folder, name)))
        links = [name for name in folders if Path(folder, name).is_symlink()]
        names += [str(Path(folder, name).relative_to(root)) for name in (*files, *links)]
    return sorted(names)


def _hides_itself(folder: Path) -> bool:
    # Our own results do.
    rules = folder / ".gitignore"
    try:
        if not rules.is_file():
            return False
        with rules.open("rb") as stream:
            return stream.read(3).strip() == b"*"
    except OSError:
        return False


def digest_of(path: Path) -> str | None:
    """By a file's content, or a link's target; None for a folder (submodule)."""
    try:
        if path.is_symlink():
            return hashlib.sha256(b"link:" + os.fsencode(path.readlink())).hexdigest()
        if not path.is_file():
            return None
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        msg = f"{path} cannot be read: {error.strerror}"
        raise InputError(msg) from None
