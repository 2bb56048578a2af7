"""A history on a branch of its own, which many jobs may append to at once.

Git is asked for objects alone: no file of the branch is checked out, and no hook runs.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path

from megtrim.libs.history.entries import Entry, EntryKind, History, HistoryEntry, UnreadableFile
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.libs.util.strict_json import dump
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST

_TIMEOUT_S = 300.0
_MOST_TRIES = 20
_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 8.0
_LARGEST_READ_BYTES = 512 * 1024 * 1024
_FILE_MODE = "100644"
_LONGEST_REASON = 600
_REJECTED = re.compile(r"\[(?:remote )?(?:rejected|failure)\] \((.*)\)$", re.MULTILINE)
"""What ``git push --porcelain`` prints of a ref that was refused."""
_BRANCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
_OVERTAKEN = ("fetch first", "non-fast-forward", "failed to update ref", "cannot lock ref", "stale")
"""What git and its servers answer to a push if the branch moved meanwhile."""
_SETTINGS = ("-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
_HEADER_VARIABLE = "MEGTRIM_GIT_HEADER"
_AUTHOR = {
    **{f"GIT_{who}_NAME": "megtrim" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "megtrim@invalid" for who in ("AUTHOR", "COMMITTER")},
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class DataBranch:
    """A branch that holds a history and nothing else.

    ``repository`` is a checkout whose ``remote`` has the branch, and whose credentials are used;
    ``header`` is one of HTTP to send with every request instead, which git gets by its
    environment: others on this machine can read command lines. ``sleep`` waits so many seconds.
    """

    def __init__(
        self,
        processes: ProcessRunner,
        repository: Path,
        branch: str,
        *,
        remote: str = "origin",
        header: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not is_branch_name(branch):
            msg = f"branch: found {branch[:80]!r}, expected a name such as perf-history"
            raise InputError(msg)
        if remote.startswith("-") or not remote.isprintable() or not remote:
            msg = f"remote: found {remote[:80]!r}, expected a name such as origin"
            raise InputError(msg)
        self._processes = processes
        secret = (f"--config-env=http.extraHeader={_HEADER_VARIABLE}",) if header else ()
        self._git = ("git", "-C", str(repository), *_SETTINGS, *secret)
        self._ref = f"refs/heads/{branch}"
        self._remote = remote
        self._header = {_HEADER_VARIABLE: header} if header else {}
        self._sleep = sleep

    def append(self, entries: Sequence[HistoryEntry]) -> str:
        """Raises InfrastructureFailure if the remote refuses, or is always faster than we are."""
        if not entries:
            msg = "found nothing, expected an entry to append"
            raise InputError(msg)
        for attempt in range(_MOST_TRIES):
            tip = self._fetch()
            commit = self._commit(entries, tip)
            if commit == tip or self._push(commit):
                return commit
            # Longer each time, and different for each writer: by the digest of its entry.
            share = int(_name_of(entries[0])[-8:], 16) / 0xFFFFFFFF
            self._sleep(min(_LONGEST_PAUSE_S, _PAUSE_S * 2.0**attempt) * (0.5 + share))
        msg = f"{self._ref} moved during each of {_MOST_TRIES} pushes"
        raise InfrastructureFailure(msg, hint="run it again; nothing was written")

    def read(self, kind: EntryKind[Entry], since: date | None = None) -> History[Entry]:
        """A broken file costs itself alone. Raises InputError if there is no such branch."""
        tip = self._fetch()
        if not tip:
            msg = f"{self._remote} has no branch {self._ref.removeprefix('refs/heads/')}"
            raise InputError(msg, hint="the first append makes it")
        listed = self._list(tip)
        chosen = {path: listed[path] for path in kind.select(listed, since)}
        flaws = {path: _find_flaw(blob, kind.largest_bytes) for path, blob in chosen.items()}
        blobs = {path: chosen[path].object for path, flaw in flaws.items() if not flaw}
        return kind.collect(self._contents(blobs)).add(
            UnreadableFile(path=path, message=f"{path}: {flaw}")
            for path, flaw in flaws.items()
            if flaw
        )

    def _fetch(self) -> str:
        answer = self._ask("ls-remote", "--", self._remote, self._ref)
        # git also lists refs that merely end so.
        lines = [line.split("\t") for line in answer.splitlines()]
        sha = next((line[0] for line in lines if line[1:] == [self._ref]), "")
        if not sha:
            return ""
        if COMMIT_DIGEST.fullmatch(sha) is None:
            msg = f"{self._remote} answered {sha[:80]!r}, expected a commit"
            raise InfrastructureFailure(msg)
        # Without a ref and without FETCH_HEAD, so two of us in one checkout do not collide.
        quiet = ("--no-tags", "--no-write-fetch-head", "--refmap=", "--no-recurse-submodules")
        self._ask("fetch", "--quiet", *quiet, "--", self._remote, self._ref)
        return sha

    def _commit(self, entries: Sequence[HistoryEntry], tip: str) -> str:
        with tempfile.TemporaryDirectory(prefix="megtrim-history-") as scratch:
            env = {"GIT_INDEX_FILE": str(Path(scratch, "index"))}
            self._ask("read-tree", tip or "--empty", env=env)
            before = self._ask("write-tree", env=env).strip()
            for entry in entries:
                content = Path(scratch, "entry.json")
                content.write_text(dump(entry), encoding="utf-8")
                blob = self._ask("hash-object", "-w", "--no-filters", "--", str(content)).strip()
                info = f"{_FILE_MODE},{blob},{entry.path}"
                self._ask("update-index", "--add", "--cacheinfo", info, env=env)
            tree = self._ask("write-tree", env=env).strip()
        if tip and tree == before:
            return tip
        parents = ("-p", tip) if tip else ()
        message = f"Add {_name_of(entries[0])}"
        if len(entries) > 1:
            message += f" and {len(entries) - 1} more"
        return self._ask("commit-tree", tree, *parents, "-m", message).strip()

    def _push(self, commit: str) -> bool:
        refs = ("--", self._remote, f"{commit}:{self._ref}")
        outcome = self._run("push", "--quiet", "--no-verify", "--porcelain", *refs)
        if outcome.ok:
            return True
        said = f"{outcome.stdout}\n{outcome.stderr}"
        if not outcome.timed_out and any(each in said for each in _OVERTAKEN):
            return False
        raise self._make_failure(outcome)

    def _list(self, tip: str) -> dict[str, _Blob]:
        output = self._ask("ls-tree", "-r", "-z", "-l", tip)
        found: dict[str, _Blob] = {}
        for line in output.split("\0"):
            facts, _, path = line.partition("\t")
            parts = facts.split()
            if len(parts) == 4:  # mode, type, object, size
                found[path] = _Blob(mode=parts[0], object=parts[2], size=parts[3])
        return found

    def _contents(self, blobs: Mapping[str, str]) -> list[tuple[str, bytes]]:
        if not blobs:
            return []
        with tempfile.TemporaryDirectory(prefix="megtrim-history-") as scratch:
            asked = Path(scratch, "asked")
            answered = Path(scratch, "answered")
            asked.write_text("".join(f"{blob}\n" for blob in blobs.values()), encoding="ascii")
            outcome = self._run("cat-file", "--batch", stdin=asked, stdout_to=answered)
            if not outcome.ok:
                raise self._make_failure(outcome)
            expected = "what git printed"
            data = read_bytes(answered, most_bytes=_LARGEST_READ_BYTES, expected=expected)
        return list(zip(blobs, _split_batch(data, len(blobs)), strict=True))

    def _ask(self, *arguments: str, env: Mapping[str, str] | None = None) -> str:
        outcome = self._run(*arguments, env=env)
        if not outcome.ok:
            raise self._make_failure(outcome)
        return outcome.stdout

    def _run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdin: Path | None = None,
        stdout_to: Path | None = None,
    ) -> CompletedCommand:
        argv = (*self._git, *arguments)
        return self._processes.run(
            Command(
                argv=argv,
                timeout_s=_TIMEOUT_S,
                env={**_AUTHOR, **self._header, **(env or {})},
                stdin=stdin,
                stdout_to=stdout_to,
            )
        )

    def _make_failure(self, outcome: CompletedCommand) -> InfrastructureFailure:
        verb = outcome.argv[len(self._git)]
        reason = "no answer in time" if outcome.timed_out else _find_reason(outcome)
        msg = f"git {verb} failed for {self._ref} of {self._remote}: {reason[:_LONGEST_REASON]}"
        return InfrastructureFailure(msg, hint="may this job read and write the branch?")


class _Blob(Value):
    mode: str
    object: str
    size: str


def is_branch_name(text: str) -> bool:
    parts = text.split("/")
    odd = ".." in text or any(part.endswith((".", ".lock")) for part in parts)
    return _BRANCH.fullmatch(text) is not None and not odd and text != "HEAD"


def _find_flaw(blob: _Blob, largest_bytes: int) -> str:
    if blob.mode != _FILE_MODE:
        return f"found an entry of mode {blob.mode}, expected a plain file"
    if not blob.size.isdecimal() or int(blob.size) > largest_bytes:
        return f"found {blob.size} bytes, expected at most {largest_bytes:,}"
    return ""


def _split_batch(data: bytes, count: int) -> list[bytes]:
    """Split what ``git cat-file --batch`` prints: ``OBJECT blob SIZE``, the bytes, a newline."""
    contents: list[bytes] = []
    place = 0
    for _ in range(count):
        end = data.find(b"\n", place)
        header = data[place:end].split()
        if end < 0 or len(header) != 3 or not header[2].isdigit():
            msg = "git cat-file printed no object where one was asked for"
            raise InfrastructureFailure(msg)
        start = end + 1
        size = int(header[2])
        contents.append(data[start : start + size])
        place = start + size + 1
    return contents


def _name_of(entry: HistoryEntry) -> str:
    return entry.path.rpartition("/")[2].removesuffix(".json")


def _find_reason(outcome: CompletedCommand) -> str:
    lines = f"{outcome.stderr}\n{outcome.stdout}".splitlines()
    found = [line.removeprefix("remote:") for line in lines if line.startswith("remote:")]
    found += _REJECTED.findall(outcome.stdout)
    last = (outcome.stderr or outcome.stdout).strip().splitlines()[-1:]
    words = (" ".join(each.split()) for each in found or last)
    text = "; ".join(dict.fromkeys(filter(None, words))) or "no message"
    return "".join(each if each.isprintable() else " " for each in text)
