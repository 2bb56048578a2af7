"""``local``: programs run on this machine, each job in a folder of its own."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from megtrim.errors import InfrastructureFailure
from megtrim.loadrun.outcome import ProgramRun
from megtrim.process import Command, Processes


class Local:
    """This machine."""

    kind = "local"

    def __init__(
        self, name: str, processes: Processes, scratch: Path, *, launcher: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self._processes = processes
        self._scratch = scratch
        self._launcher = launcher

    def identity(self) -> dict[str, str]:
        return {"kind": self.kind, "machine": platform.machine()}

    def facts(self) -> dict[str, str]:
        return {"machine": platform.machine(), "system": platform.system()}

    @contextmanager
    def open(self) -> Iterator[Folder]:
        try:
            self._scratch.mkdir(parents=True, exist_ok=True)
            _remove_abandoned(self._scratch)
            with tempfile.TemporaryDirectory(
                dir=self._scratch, prefix=f"run-{os.getpid()}-"
            ) as folder:
                yield Folder(Path(folder), self._processes, self._launcher)
        except OSError as error:
            msg = f"{self._scratch} cannot be used for runs: {error.strerror}"
            raise InfrastructureFailure(msg) from None


def _remove_abandoned(scratch: Path) -> None:
    """Remove run directories whose holder was killed and could not clean up."""
    for folder in scratch.glob("run-*-*"):
        holder = folder.name.split("-")[1]
        if holder.isdigit() and not _alive(int(holder)):
            shutil.rmtree(folder, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class Folder:
    """A run directory on this machine; ``launcher`` stands in front of every program."""

    def __init__(self, path: Path, processes: Processes, launcher: tuple[str, ...]) -> None:
        self._path = path
        self._processes = processes
        self._launcher = launcher

    def put(self, source: Path, name: str) -> None:
        target = self._path / name
        shutil.copyfile(source, target)
        target.chmod(0o755)

    def make(self, name: str) -> None:
        (self._path / name).mkdir()

    def run(
        self, argv: Sequence[str], *, timeout_s: float, env: Mapping[str, str] | None = None
    ) -> ProgramRun:
        program = str(self._path / argv[0])
        command = Command(
            argv=(*self._launcher, program, *argv[1:]),
            cwd=self._path,
            env=env or {},
            timeout_s=timeout_s,
        )
        outcome = self._processes.run(command)
        return ProgramRun(
            argv=tuple(argv),
            rc=outcome.rc,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            wall_s=outcome.wall_s,
            timed_out=outcome.timed_out,
        )

    def get(self, name: str) -> bytes | None:
        path = self._own(name)
        return path.read_bytes() if path is not None and path.is_file() else None

    def names(self, folder: str) -> tuple[str, ...]:
        path = self._own(folder)
        if path is None or not path.is_dir():
            return ()
        return tuple(sorted(file.name for file in path.iterdir()))

    def _own(self, name: str) -> Path | None:
        """Return the path of what a program wrote, None where a link leads elsewhere."""
        # The program is under test: its link could point at anything on this machine.
        path = self._path.resolve() / name
        return path if path.resolve() == path else None
