"""Who holds which machine: one locked file for each.

The kernel frees a lock (``flock``) when its holder dies, however it dies. One machine may have
several addresses, and two of them may have one serial.
"""

import errno
import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.limits import clean_line
from megtrim.libs.util.state_folder import VARIABLE
from megtrim.places.devices.device import Machine, MachineId

_LARGEST_BYTES = 65_536
_LONGEST_SLUG = 80
_LONGEST_LOCK_S = 20.0


class StateFile(BaseModel):
    """The contents of a file in this folder: exactly these fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


S = TypeVar("S", bound=StateFile)


def slug(key: str) -> str:
    readable = re.sub(r"[^A-Za-z0-9.-]", "_", key)[:_LONGEST_SLUG].lstrip(".")
    return f"{readable}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"


def open_shared(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        raise make_unusable_error(path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise make_unusable_error(path, OSError(errno.EINVAL, "it is not a plain file"))
    return descriptor


@contextmanager
def lock_file(path: Path) -> Iterator[int]:
    """Lock a file for a few operations, or raise in bounded time."""
    descriptor = open_shared(path)
    try:
        end = time.monotonic() + _LONGEST_LOCK_S
        while not try_lock(descriptor):
            if time.monotonic() > end:
                msg = f"{path} has been locked for {_LONGEST_LOCK_S:.0f} s"
                hint = f"`fuser {path}` shows which process was suspended while it had the lock"
                raise InfrastructureFailure(msg, hint=hint)
            time.sleep(0.005)
        yield descriptor
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_saved(path: Path, kind: type[S]) -> S | None:
    """Return None if there is no file. Raises InputError if it is damaged."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        # A link, or another user's file: only this file is affected.
        raise make_damage_error(path, f"it cannot be read ({error.strerror})") from None
    try:
        return parse_saved(read_descriptor(descriptor), kind, path)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int) -> bytes:
    try:
        return os.pread(descriptor, _LARGEST_BYTES + 1, 0)
    except OSError:
        return b""  # a pipe or a folder, which no document can be read from


def parse_saved(data: bytes, kind: type[S], path: Path) -> S:
    """Raise InputError, which names the file and the mistake."""
    if len(data) > _LARGEST_BYTES:
        raise make_damage_error(path, f"found more than {_LARGEST_BYTES:,} bytes")
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise make_damage_error(
            path, f"{where}: {first['msg']}" if where else first["msg"]
        ) from None


def make_damage_error(path: Path, found: str) -> InputError:
    msg = f"{path}: {found}, expected what megtrim writes there"
    return InputError(msg, hint="move the file away if you do not know what changed it")


def make_unusable_error(path: Path, error: OSError) -> InfrastructureFailure:
    msg = f"{path} cannot be used: {error.strerror}"
    return InfrastructureFailure(msg, hint=f"{VARIABLE} names another folder for the state")


_POLL_S = 0.2
_LONGEST_NAME = 200
_Text = Annotated[str, StringConstraints(max_length=5000)]


class Holder(StateFile):
    version: Literal[2] = 2
    pid: int
    since: AwareDatetime
    name: Annotated[str, StringConstraints(max_length=_LONGEST_NAME)]
    keys: Annotated[tuple[_Text, ...], Field(max_length=100, strict=False)] = ()
    serial: _Text = ""
    boot: _Text = ""
    """Empty while the machine is brought back: it may reboot."""

    def has(self, machine: Machine, identity: MachineId | None) -> bool:
        """Tell whether what it holds is that machine; ``identity`` is None if it was not asked."""
        if not set(self.keys).isdisjoint(machine.keys):
            return True
        if identity is None:
            return False
        own = MachineId(serial=self.serial, boot=self.boot)
        if identity == MachineId():
            # A machine that does not answer may be the one that its holder is rebooting.
            kinds = {key.partition(":")[0] for key in self.keys}
            return machine.kind in kinds and bool(self.serial) and not self.boot
        return own.is_same(identity)

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})" if self.pid else self.name


def name_holder(env: Mapping[str, str]) -> str:
    repository = env.get("GITHUB_REPOSITORY", "")
    run = env.get("GITHUB_RUN_ID", "")
    job = f"{repository} run {run}" if repository and run else env.get("USER", "")
    return clean_line(job)[:_LONGEST_NAME] or f"user {os.getuid()}"


class Leases:
    def __init__(self, state: Path, name: str, now: Callable[[], datetime]) -> None:
        self._folder = state / "leases"
        self._guard = self._folder / "guard.lock"
        self._name = name
        self._now = now
        self._held: dict[str, int] = {}
        """By the machine's key."""
        self._identities: dict[str, MachineId] = {}
        """What machines said when they were last asked, by key."""

    @contextmanager
    def acquire(
        self,
        wants: Callable[[], Sequence[Machine]],
        waiting: Callable[[Sequence[Holder]], None] = lambda _holders: None,
    ) -> Iterator[Machine]:
        """Wait until we hold one of the wanted machines.

        ``wants`` is called for each attempt, ``waiting`` with the holders after each in vain; an
        exception from either ends the wait.
        """
        while True:
            holders = []
            for machine in wants():
                descriptor, holder = self._take(machine)
                if descriptor >= 0:
                    break
                holders += [holder] if holder else []
            else:
                waiting(holders)
                time.sleep(_POLL_S)
                continue
            break
        self._held[machine.key] = descriptor
        try:
            yield machine
        finally:
            del self._held[machine.key]
            _release(descriptor)

    def holder(self, machine: Machine) -> Holder | None:
        with lock_file(self._guard):
            return self._holder(machine, self._identities.get(machine.key, machine.identity))

    @contextmanager
    def while_recovering(self, machine: Machine) -> Iterator[None]:
        descriptor = self._held[machine.key]
        before = self._identities.get(machine.key, MachineId())
        self._write(descriptor, machine, MachineId(serial=before.serial))
        yield
        with suppress(InfrastructureFailure):
            self._identities[machine.key] = machine.identify()
            self._write(descriptor, machine, self._identities[machine.key])

    def _take(self, machine: Machine) -> tuple[int, Holder | None]:
        """Return the locked file of a machine, or -1 and who holds the machine, if that is known.

        Its addresses are locked first: a machine that others hold is not disturbed by a question.
        """
        known = self._identities.get(machine.key, machine.identity)
        with ExitStack() as undo:
            with lock_file(self._guard):
                if holder := self._holder(machine, known):
                    return -1, holder
                descriptor = open_shared(self._path(machine.key))
                undo.callback(_release, descriptor)
                try_lock(descriptor)
                self._write(descriptor, machine, MachineId())
            identity = MachineId()
            with suppress(InfrastructureFailure):
                identity = machine.identify()
            self._identities[machine.key] = identity
            with lock_file(self._guard):
                if holder := self._holder(machine, identity, own=self._path(machine.key)):
                    return -1, holder
                self._write(descriptor, machine, identity)
            undo.pop_all()
            return descriptor, None

    def _write(self, descriptor: int, machine: Machine, identity: MachineId) -> None:
        holder = Holder(
            pid=os.getpid(),
            since=self._now(),
            name=self._name,
            keys=machine.keys,
            serial=identity.serial,
            boot=identity.boot,
        )
        data = holder.model_dump_json().encode()
        path = self._path(machine.key)
        try:
            # In place: a new file under this name would be a new lock.
            os.pwrite(descriptor, data, 0)
            os.ftruncate(descriptor, len(data))
        except OSError as error:
            raise make_unusable_error(path, error) from None

    def _holder(
        self, machine: Machine, identity: MachineId | None, own: Path | None = None
    ) -> Holder | None:
        paths = {self._path(key) for key in machine.keys}
        for path in sorted({*self._folder.glob("*.lock")} - {self._guard, own}):
            holder = self._read(path)
            if holder and (path in paths or holder.has(machine, identity)):
                return holder
        return None

    def _read(self, path: Path) -> Holder | None:
        descriptor = open_shared(path)
        try:
            if try_lock(descriptor):
                return None
            try:
                return parse_saved(read_descriptor(descriptor), Holder, path)
            except InputError:
                # Only the lock counts: damaged text must not stop anyone.
                return Holder(pid=0, since=self._now(), name="an unknown process")
        finally:
            _release(descriptor)

    def _path(self, key: str) -> Path:
        return self._folder / f"{slug(key)}.lock"


def _release(descriptor: int) -> None:
    # Closing alone would leave the lock with a child process that was forked just now.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
