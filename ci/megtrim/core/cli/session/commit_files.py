"""The files of a commit, read from git's objects: what is checked out does not count."""

import hashlib
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from megtrim.core.cli.session.origin import ask_git
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value

_SUBMODULE = "160000"
_LINK = "120000"
_AS_IT_IS = "--no-replace-objects"
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]+\n)*oid sha256:([0-9a-f]{64})\n"
)
_FEW_BYTES = 4096
"""As many as the target of a link may have; a pointer has less."""
_CHUNK_BYTES = 2**20


class _Entry(Value):
    blob: str
    is_link: bool
    repository: Path


class _Submodule(Value):
    path: str
    commit: str
    folder: Path


class CommitFiles:
    """Those of submodules are among them, where they are asked for.

    The digests of a file are what it may be on disk: its bytes, and what a Git LFS pointer names.
    """

    def __init__(self, top: Path, commit: str, processes: ProcessRunner) -> None:
        self._processes = processes
        self._entries: dict[str, _Entry] = {}
        self._closed: list[_Submodule] = []
        self._digests: dict[tuple[str, bool], frozenset[str]] = {}
        self.unknown: list[str] = []
        """What is not on this machine, in words."""
        self._list(top, commit, "")

    def names(self) -> Collection[str]:
        return self._entries.keys()

    def hold(self, paths: Iterable[str]) -> dict[str, Collection[str]]:
        """Return the digests of those of ``paths`` that the commit has."""
        wanted = sorted(paths)
        self._open_submodules(wanted)
        found = {path: self._entries[path] for path in wanted if path in self._entries}
        for repository in sorted({entry.repository for entry in found.values()}):
            self._read(repository, [e for e in found.values() if e.repository == repository])
        return {
            path: self._digests.get((entry.blob, entry.is_link), frozenset())
            for path, entry in found.items()
        }

    def _open_submodules(self, wanted: Collection[str]) -> None:
        """Open those that hold one of ``wanted``; a build does without the others."""
        waiting = list(self._closed)
        self._closed = []
        while waiting:
            each = waiting.pop()
            if not any(path.startswith(f"{each.path}/") for path in wanted):
                self._closed.append(each)
                continue
            self._list(each.folder, each.commit, f"{each.path}/")
            waiting += self._closed
            self._closed = []

    def _list(self, folder: Path, commit: str, prefix: str) -> None:
        # Without a repository of its own, git would answer for the one around it.
        listed = b""
        if (folder / ".git").exists():
            listed = self._ask(folder, "ls-tree", "-r", "-z", "--full-tree", commit) or b""
        if not listed:
            where = f"the submodule {prefix.rstrip('/')}" if prefix else "the commit"
            self.unknown.append(f"{where} at {commit[:12]} is not on this machine")
        for line in listed.split(b"\0"):
            about, tab, name = line.partition(b"\t")
            if not tab:
                continue
            mode, _, blob = about.decode("ascii").split(" ", 2)
            path = prefix + name.decode("utf-8", "backslashreplace")
            if mode == _SUBMODULE:
                inner = folder / os.fsdecode(name)
                self._closed.append(_Submodule(path=path, commit=blob, folder=inner))
            else:
                entry = _Entry(blob=blob, is_link=mode == _LINK, repository=folder)
                self._entries[path] = entry

    def _read(self, repository: Path, entries: Iterable[_Entry]) -> None:
        links: dict[str, set[bool]] = {}
        for entry in entries:
            if (entry.blob, entry.is_link) not in self._digests:
                links.setdefault(entry.blob, set()).add(entry.is_link)
        if not links:
            return
        with tempfile.TemporaryDirectory(prefix="megtrim-") as folder:
            asked = Path(folder, "blobs")
            asked.write_text("".join(f"{blob}\n" for blob in links), encoding="ascii")
            answer = Path(folder, "answer")
            arguments = (_AS_IT_IS, "cat-file", "--batch", "--buffer")
            ask_git(repository, self._processes, *arguments, stdin=asked, stdout_to=answer)
            with answer.open("rb") as stream:
                for blob, whole, pointer in _read_batch(stream):
                    for is_link in links.get(blob, ()):
                        self._digests[blob, is_link] = _name_digests(whole, pointer, is_link)
        if not links.keys() <= {blob for blob, _ in self._digests}:
            self.unknown.append(f"some objects of {repository} are not on this machine")

    def _ask(self, folder: Path, *arguments: str) -> bytes | None:
        with tempfile.TemporaryDirectory(prefix="megtrim-") as scratch:
            answer = Path(scratch, "answer")
            said = ask_git(folder, self._processes, _AS_IT_IS, *arguments, stdout_to=answer)
            return None if said is None else answer.read_bytes()


def _read_batch(stream: BinaryIO) -> Iterator[tuple[str, str, bytes]]:
    """Yield the name of each blob that is there, its sha256, and its bytes if they are few."""
    while header := stream.readline():
        words = header.decode("ascii", "replace").split()
        if len(words) != 3:
            continue  # it is missing, and git says so in other words
        left = int(words[2])
        hasher = hashlib.sha256()
        few = b""
        while left:
            chunk = stream.read(min(left, _CHUNK_BYTES))
            if not chunk:
                return
            hasher.update(chunk)
            if int(words[2]) <= _FEW_BYTES:
                few += chunk
            left -= len(chunk)
        stream.readline()
        yield words[0], hasher.hexdigest(), few


def _name_digests(whole: str, few: bytes, is_link: bool) -> frozenset[str]:
    if is_link:
        return frozenset((hashlib.sha256(b"link:" + few).hexdigest(),))
    pointer = _POINTER.match(few)
    return frozenset((whole, pointer[1].decode("ascii"))) if pointer else frozenset((whole,))
