"""Settings of ccache for a build, and a test whether its remote storage responds.

A remote storage only saves time. One that does not respond to one test compilation is not used. One
that fails later costs each compilation its timeout. Damaged entries are compiled again (ccache
checks the checksum of every entry).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from megtrim.build.engines.cmake import remote_cache
from megtrim.build.engines.cmake.remote_cache import Storage
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.files import cannot_write
from megtrim.util.process import Command, ProcessRunner

VARIABLE = "CCACHE_REMOTE_STORAGE"
COUNTS = "compiler-cache.log"
"""In a work tree: what ccache counted in its last build, a line each."""
_HITS = {"direct_cache_hit", "preprocessed_cache_hit"}
_QUESTION_TIMEOUT_S = 20.0
_READ = {"remote_storage_read_hit", "remote_storage_read_miss"}
_FAILED = {"remote_storage_error", "remote_storage_timeout"}


def forget_counts(root: Path) -> None:
    """Delete what the cache counted in a work tree, before a build."""
    try:
        (root / COUNTS).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(root / COUNTS, error) from None


def count_hits(root: Path) -> int | None:
    """Return how many compilations of a build the cache answered; None: it did not count.

    ccache before 4.4 does not.
    """
    try:
        counted = (root / COUNTS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return sum(line in _HITS for line in counted.splitlines())


class CompilerCache:
    """ccache's settings for the builds of one run."""

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
        """Return the environment variables of a build; ``folder`` is a scratch folder.

        A remote storage is tested once in a run.
        """
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
            storages = tuple(each.read_only() for each in storages)
        counted = _ask(processes, (ccache, *compiler), remote_cache.render(storages), folder)
        if counted & _FAILED and not counted & _READ:
            self._warn(f"the remote compiler cache {shown} does not answer: built without it")
            return {VARIABLE: ""}
        if counted & _FAILED:
            self._warn(f"the remote compiler cache {shown} cannot be written: it is only read")
            storages = tuple(each.read_only() for each in storages)
        return {VARIABLE: remote_cache.render(storages)}


def _ask(
    processes: ProcessRunner, compiler: tuple[str, ...], remote: str, folder: Path
) -> frozenset[str]:
    """Compile an empty file through the storage; return the counters that ccache increased."""
    scratch = folder / "remote-cache"
    counted = scratch / "counted"
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        (scratch / "empty.cpp").write_text("", encoding="utf-8")
    except OSError as error:
        raise cannot_write(scratch, error) from None
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
