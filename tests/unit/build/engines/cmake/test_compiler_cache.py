from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.cmake.compiler_cache import (
    VARIABLE,
    CompilerCache,
    count_hits,
    forget_counts,
    parse_storages,
)
from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import Command, CompletedCommand, ProcessRunner

URL = "redis://ci:secret@cache.lan"
HIT, MISS = "remote_storage_read_hit\n", "remote_storage_read_miss\n"
ERROR, TIMEOUT = "remote_storage_error\n", "remote_storage_timeout\n"


class Storage(ProcessRunner):
    def __init__(self, counted: str, *, ccache: bool = True, hangs: bool = False) -> None:
        super().__init__({})
        self.commands: list[Command] = []
        self._counted = counted
        self._ccache = ccache
        self._hangs = hangs

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}" if self._ccache else None

    def run(self, command: Command) -> CompletedCommand:
        self.commands.append(command)
        assert command.cwd is not None
        assert (command.cwd / "empty.cpp").read_bytes() == b""
        Path(command.env["CCACHE_STATSLOG"]).write_text(self._counted, encoding="utf-8")
        return CompletedCommand(
            argv=command.argv, rc=0, stdout="", stderr="", wall_s=0.0, timed_out=self._hangs
        )


class Broken(Storage):
    def run(self, command: Command) -> CompletedCommand:
        msg = "cannot be started"
        raise InfrastructureFailure(msg)


def settings(
    machine: ProcessRunner, folder: Path, *, writes: bool = True
) -> tuple[dict[str, str], list[str]]:
    warnings: list[str] = []
    remote = parse_storages(URL, source="test")
    cache = CompilerCache(remote, writes=writes, passed={"X": "1"}, warn=warnings.append)
    found = cache.variables(machine, ("c++", "-m64"), folder)
    assert cache.variables(machine, ("other",), folder) is found
    assert list(folder.iterdir()) == []
    return dict(found), warnings


@pytest.mark.parametrize("counted", [HIT, MISS, HIT + MISS, ""])
def test_a_storage_that_answers_is_used(tmp_path: Path, counted: str) -> None:
    """It is asked once in a run, through an empty local cache, and nothing is left behind."""
    machine = Storage(counted)
    found, warnings = settings(machine, tmp_path)

    assert found["X"] == "1"
    assert found[VARIABLE].startswith(f"{URL}|")
    assert "read-only" not in found[VARIABLE]
    assert warnings == []
    (command,) = machine.commands
    assert command.argv[:3] == ("/usr/bin/ccache", "c++", "-m64")
    assert command.env["CCACHE_DIR"].startswith(str(tmp_path))
    assert command.env[VARIABLE] == found[VARIABLE]


@pytest.mark.parametrize(
    "machine",
    [Storage(ERROR), Storage(TIMEOUT), Storage(HIT, hangs=True), Broken("")],
    ids=["error", "timeout", "hangs", "broken"],
)
def test_a_storage_that_does_not_answer_is_not_used(tmp_path: Path, machine: Storage) -> None:
    found, (warning,) = settings(machine, tmp_path)

    assert found == {"X": "1", VARIABLE: ""}
    assert warning.endswith("does not answer: built without it")
    assert "cache.lan" in warning
    assert "secret" not in warning


@pytest.mark.parametrize(
    ("counted", "writes", "warned"),
    [(MISS + ERROR, True, [True]), (MISS, False, [])],
)
def test_a_storage_that_takes_nothing_is_only_read(
    tmp_path: Path, counted: str, writes: bool, warned: list[bool]
) -> None:
    machine = Storage(counted)
    found, warnings = settings(machine, tmp_path, writes=writes)

    assert "read-only" in found[VARIABLE]
    assert ("read-only" in machine.commands[0].env[VARIABLE]) is not writes
    assert [each.endswith("cannot be written: it is only read") for each in warnings] == warned


def test_no_ccache_is_a_warning(tmp_path: Path) -> None:
    found, warnings = settings(Storage("", ccache=False), tmp_path)

    assert found == {"X": "1"}
    assert warnings == [f"{VARIABLE} has no effect: there is no ccache on this machine"]


@pytest.mark.parametrize(("writes", "expected"), [(True, {}), (False, {VARIABLE: ""})])
def test_without_a_storage(tmp_path: Path, writes: bool, expected: dict[str, str]) -> None:
    machine = Storage("")
    cache = CompilerCache((), writes=writes, passed={}, warn=pytest.fail)

    assert cache.variables(machine, ("c++",), tmp_path) == expected
    assert machine.commands == []


def test_what_the_cache_answered_is_counted(tmp_path: Path) -> None:
    assert count_hits(tmp_path) is None
    (tmp_path / "compiler-cache.log").write_text(
        "# a.cpp\ndirect_cache_hit\nlocal_storage_hit\n"
        "# b.cpp\ndirect_cache_miss\npreprocessed_cache_hit\nlocal_storage_hit\n"
        "# c.cpp\ncache_miss\ndirect_cache_miss\n",
        encoding="utf-8",
    )
    assert count_hits(tmp_path) == 2
    forget_counts(tmp_path)
    forget_counts(tmp_path)
    assert count_hits(tmp_path) is None


def test_counts_that_cannot_go_stop_the_build(tmp_path: Path) -> None:
    (tmp_path / "compiler-cache.log").mkdir()

    with pytest.raises(InfrastructureFailure, match=r"compiler-cache\.log cannot be written"):
        forget_counts(tmp_path)
