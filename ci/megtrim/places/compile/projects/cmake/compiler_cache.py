"""ccache's settings for a build.

A remote storage that does not respond to a test compilation is not used. ccache checks its entries.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import guard_write
from megtrim.libs.util.process import Command, ProcessRunner
from megtrim.libs.util.value import Value

CONNECT_TIMEOUT_MS = 250
OPERATION_TIMEOUT_MS = 1000
"""Time that a hanging storage costs each compilation, unless the URL has its own limits."""

READ_ONLY = "read-only"
_LONGEST = 2000
_EVERY = frozenset({READ_ONLY, "shards"})
_TIMEOUTS = frozenset({"connect-timeout", "operation-timeout"})
_TOKENS = frozenset({"bearer-token", "header"})
_ATTRIBUTES = {
    "file": _EVERY | {"layout", "umask", "update-mtime"},
    "http": _EVERY | _TIMEOUTS | _TOKENS | {"keep-alive", "layout"},
    "redis": _EVERY | _TIMEOUTS,
    "redis+unix": _EVERY | _TIMEOUTS,
}
"""The attributes of each kind in ccache 4.7 (Debian 12) to 4.10, by their manuals."""

_ENCRYPTED = {"https": "http", "rediss": "redis"}
_ATTRIBUTE = re.compile(r"[a-z-]{1,40}(?:=[^|\s]*)?")
_WORDS = re.compile(r"[!-~]+(?: [!-~]+)*")
_HINT = "such as redis://HOST[:PORT] or http://HOST[:PORT]/PATH: see ccache's manual"
VARIABLE = "CCACHE_REMOTE_STORAGE"
_QUESTION_TIMEOUT_S = 20.0
_READ = {"remote_storage_read_hit", "remote_storage_read_miss"}
_FAILED = {"remote_storage_error", "remote_storage_timeout"}


class Storage(Value):
    url: str
    attributes: tuple[str, ...] = ()

    @property
    def secret(self) -> bool:
        return "@" in urlsplit(self.url).netloc or bool(_TOKENS & self._names())

    def redact_url(self) -> str:
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=host, query="", fragment="").geturl()

    def add_timeouts(self) -> Storage:
        if not _ATTRIBUTES[urlsplit(self.url).scheme].issuperset(_TIMEOUTS):
            return self
        limits = {"connect-timeout": CONNECT_TIMEOUT_MS, "operation-timeout": OPERATION_TIMEOUT_MS}
        missing = (f"{name}={ms}" for name, ms in limits.items() if name not in self._names())
        return replace(self, attributes=(*self.attributes, *missing))

    def read_only(self) -> Storage:
        kept = [each for each in self.attributes if each.partition("=")[0] != READ_ONLY]
        return replace(self, attributes=(*kept, f"{READ_ONLY}=true"))

    def _names(self) -> set[str]:
        return {attribute.partition("=")[0] for attribute in self.attributes}


def parse_storages(text: str, *, source: str) -> tuple[Storage, ...]:
    """Raises InputError for what ccache could not use; its message never contains the text itself.

    ccache fails every compilation over a URL that it cannot parse, and ignores an unknown attribute
    (``readonly`` would write).
    """
    text = text.strip()
    if not text:
        return ()
    if len(text) > _LONGEST or not _WORDS.fullmatch(text):
        msg = f"{source}: expected URLs of a remote storage, separated by one space each"
        raise InputError(msg, hint=_HINT)
    return tuple(_storage(part, source) for part in text.split(" "))


def render_storages(storages: Sequence[Storage]) -> str:
    return " ".join("|".join((storage.url, *storage.attributes)) for storage in storages)


def _storage(text: str, source: str) -> Storage:
    url, *attributes = text.split("|")
    parts = _split(url, source)
    known = _ATTRIBUTES[parts.scheme]
    for attribute in attributes:
        name = attribute.partition("=")[0]
        if not _ATTRIBUTE.fullmatch(attribute) or name not in known:
            # Do not print what was found: a misplaced | may have made it part of a password.
            msg = f"{source}: found an attribute that ccache does not know for {parts.scheme}://"
            raise InputError(msg, hint=f"expected one of {', '.join(sorted(known))}")
        if name in _TIMEOUTS and not re.fullmatch(r"[a-z-]+=[1-9][0-9]{0,5}", attribute):
            msg = f"{source}: {name}: found something other than milliseconds"
            raise InputError(msg, hint=f"such as {name}=500")
        if name == READ_ONLY and attribute.partition("=")[2] not in ("", "true", "false"):
            msg = f"{source}: {name}: found something other than true or false"
            raise InputError(msg)
    return Storage(url=url, attributes=tuple(attributes))


def _split(url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        msg = f"{source}: found a URL with a broken host or port"
        raise InputError(msg, hint=_HINT) from None
    if parts.scheme in _ENCRYPTED:
        msg = f"{source}: found {parts.scheme}://, which ccache does not support"
        hint = f"{_ENCRYPTED[parts.scheme]}:// in a closed network, or through your own tunnel"
        raise InputError(msg, hint=hint)
    if parts.scheme not in _ATTRIBUTES:
        msg = f"{source}: found no URL of a storage that ccache knows"
        raise InputError(msg, hint=_HINT)
    local = parts.scheme in ("file", "redis+unix")
    if not (parts.path.startswith("/") if local else parts.hostname) or port == 0:
        msg = f"{source}: found a URL that names no {'path' if local else 'host'}"
        raise InputError(msg, hint=_HINT)
    return parts


class CompilerCache:
    def __init__(
        self,
        remote: Sequence[Storage],
        *,
        writes: bool,
        passed: Mapping[str, str],
        warn: Callable[[str], None],
    ) -> None:
        self._remote = tuple(remote)
        self._writes = writes
        self._passed = dict(passed)
        self._warn = warn
        self._variables: dict[str, str] | None = None

    def variables(
        self, processes: ProcessRunner, compiler: tuple[str, ...], folder: Path
    ) -> Mapping[str, str]:
        """A remote storage is tested once in a run."""
        if self._variables is None:
            remote = self._remote_variable(processes, compiler, folder)
            self._variables = {**self._passed, **remote}
        return self._variables

    def _remote_variable(
        self, processes: ProcessRunner, compiler: tuple[str, ...], folder: Path
    ) -> dict[str, str]:
        if not self._remote:
            # Set to empty: a run that may not write must not do so by a user's ccache.conf.
            return {} if self._writes else {VARIABLE: ""}
        shown = ", ".join(each.redact_url() for each in self._remote)
        ccache = processes.which("ccache")
        if ccache is None:
            self._warn(f"{VARIABLE} has no effect: there is no ccache on {processes.where}")
            return {}
        storages = tuple(each.add_timeouts() for each in self._remote)
        if not self._writes:
            storages = tuple(storage.read_only() for storage in storages)
        counted = _ask(processes, (ccache, *compiler), render_storages(storages), folder)
        if counted & _FAILED and not counted & _READ:
            self._warn(f"the remote compiler cache {shown} does not answer: built without it")
            return {VARIABLE: ""}
        if counted & _FAILED:
            self._warn(f"the remote compiler cache {shown} cannot be written: it is only read")
            storages = tuple(storage.read_only() for storage in storages)
        return {VARIABLE: render_storages(storages)}


def _ask(
    processes: ProcessRunner, compiler: tuple[str, ...], remote: str, folder: Path
) -> frozenset[str]:
    """Compile an empty file through the storage; return the counters that ccache increased."""
    scratch = folder / "remote-cache"
    counted = scratch / "counted"
    with guard_write(scratch):
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        (scratch / "empty.cpp").write_text("", encoding="utf-8")
    # An empty local cache, so that ccache asks the storage.
    env = {"CCACHE_DIR": str(scratch / "local"), "CCACHE_STATSLOG": str(counted), VARIABLE: remote}
    argv = (*compiler, "-c", "empty.cpp", "-o", "empty.o")
    try:
        outcome = processes.run(
            Command(argv=argv, cwd=scratch, env=env, timeout_s=_QUESTION_TIMEOUT_S)
        )
        if outcome.timed_out:  # for example a DNS resolver that hangs: ccache has no limit for it
            return frozenset(_FAILED)
        data = processes.read(counted) or b""
    except InfrastructureFailure:
        return frozenset(_FAILED)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return frozenset(data.decode("utf-8", "replace").split())
