"""What a build tells ccache, and whether a storage beyond this machine answers at all.

A remote storage only ever saves time: one that is dead is left out of the build after one
question, one that dies meanwhile costs each compilation its timeout, and damaged entries are
compiled anew (ccache checks every entry's sum).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from megtrim.engines.cmake import remote_cache
from megtrim.engines.cmake.remote_cache import Storage
from megtrim.errors import InfrastructureFailure
from megtrim.process import Command, ProcessRunner
from megtrim.store import cannot_write

VARIABLE = "CCACHE_REMOTE_STORAGE"
PASSED_ON = (
    *("CCACHE_DISABLE", "CCACHE_MAXSIZE", "CCACHE_NAMESPACE", "CCACHE_READONLY"),
    *("CCACHE_RECACHE", "CCACHE_REMOTE_ONLY", "CCACHE_RESHARE"),
)
"""ccache's own variables that a build in an image is told as well."""
_QUESTION_TIMEOUT_S = 20.0
_READ = {"remote_storage_read_hit", "remote_storage_read_miss"}
_FAILED = {"remote_storage_error", "remote_storage_timeout"}


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
        self._told: dict[str, str] | None = None

    def variables(
        self, processes: ProcessRunner, compiler: tuple[str, ...], folder: Path
    ) -> Mapping[str, str]:
        """Return the variables of a build; ``folder`` takes what is needed to ask the storage.

        A storage is asked once in a run.
        """
        if self._told is None:
            self._told = {**self._passed, **self._remote_variable(processes, compiler, folder)}
        return self._told

    def _remote_variable(
        self, processes: ProcessRunner, compiler: tuple[str, ...], folder: Path
    ) -> dict[str, str]:
        if not self._remote:
            # Said, though empty: a run that may not write must not by somebody's ccache.conf.
            return {} if self._writes else {VARIABLE: ""}
        shown = ", ".join(each.redact_url() for each in self._remote)
        ccache = processes.which("ccache")
        if ccache is None:
            self._warn(f"{VARIABLE} is of no use: there is no ccache on {processes.where}")
            return {}
        storages = tuple(each.add_timeouts() for each in self._remote)
        if not self._writes:
            storages = tuple(each.read_only() for each in storages)
        said = _ask(processes, (ccache, *compiler), remote_cache.render(storages), folder)
        if said & _FAILED and not said & _READ:
            self._warn(f"the remote compiler cache {shown} does not answer: built without it")
            return {VARIABLE: ""}
        if said & _FAILED:
            self._warn(f"the remote compiler cache {shown} takes nothing: it is only read")
            storages = tuple(each.read_only() for each in storages)
        return {VARIABLE: remote_cache.render(storages)}


def _ask(
    processes: ProcessRunner, compiler: tuple[str, ...], remote: str, folder: Path
) -> frozenset[str]:
    """Compile an empty file by way of the storage; return what ccache counted meanwhile."""
    scratch = folder / "remote-cache"
    counted = scratch / "counted"
    try:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        (scratch / "empty.cpp").write_text("", encoding="utf-8")
    except OSError as error:
        raise cannot_write(scratch, error) from None
    # A local cache of its own, and an empty one: only then the storage is asked.
    env = {"CCACHE_DIR": str(scratch / "local"), "CCACHE_STATSLOG": str(counted), VARIABLE: remote}
    argv = (*compiler, "-c", "empty.cpp", "-o", "empty.o")
    try:
        outcome = processes.run(
            Command(argv=argv, cwd=scratch, env=env, timeout_s=_QUESTION_TIMEOUT_S)
        )
        if outcome.timed_out:  # a resolver that hangs, say, which no timeout of ccache's bounds
            return frozenset(_FAILED)
        data = processes.read(counted) or b""
    except InfrastructureFailure:
        return frozenset(_FAILED)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return frozenset(data.decode("utf-8", "replace").split())
