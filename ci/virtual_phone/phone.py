"""The phone itself, inside its namespaces: its power, its link, its storage, its state.

Every method is a plain change that has happened when it returns; what goes wrong when is up
to ``faults.scheduler``.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from megtrim.util.errors import InfrastructureFailure
from megtrim.util.process import Background, Command, ProcessRunner
from virtual_phone.system import emulation, kernel
from virtual_phone.system import sensors as say
from virtual_phone.system.boot import ADBD_PORT, InitProcess
from virtual_phone.system.mounts import MountTree
from virtual_phone.system.sensors import Sensors

_ANSWER_S = 15.0
_LOOK_S = 0.01
_CALL_S = 20.0
_QUEUE_BYTES = 4 * 1024 * 1024
_BURST_BYTES = 131072
"""More than the largest packet of ``lo``, or that packet would never pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhoneModel:
    name: str
    root: Path
    emulator: str
    cpu: str
    rooted: bool
    data_bytes: int
    properties: Mapping[str, str]
    log: Path
    android: Path | None = None


class Phone:
    def __init__(self, model: PhoneModel, processes: ProcessRunner) -> None:
        self._model = model
        self._processes = processes
        self._cpus = os.cpu_count() or 1
        cpuinfo = say.cpuinfo(model.cpu, self._cpus)
        if not model.emulator:
            cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")  # what programs run on
        self._tree = MountTree(
            model.root,
            cpuinfo=cpuinfo,
            rooted=model.rooted,
            cpus=self._cpus,
            android=model.android,
        )
        self._properties = dict(model.properties)
        self._power = ExitStack()
        self._boot: Background | None = None
        self.frozen = False
        self._body = Sensors()

    @contextmanager
    def on(self) -> Iterator[None]:
        if self._model.emulator:
            emulation.ensure(Path(self._model.emulator))
        self._tree.make(self._applets(), self._model.data_bytes)
        self.show(self._body)
        try:
            self.boot()
            yield
        finally:
            self.end()

    @property
    def alive(self) -> bool:
        return self._boot is not None and self._boot.alive()

    @property
    def requests(self) -> Path:
        """A pipe into which programs of the phone write requests to its supervisor."""
        return self._tree.own / "requests"

    def boot(self) -> None:
        """It answers a little later."""
        if self.alive:
            return
        self._tree.write(self._tree.own / "boot_id", f"{uuid.uuid4()}\n")
        self.report_booted(False)
        spec = InitProcess(top=str(self._tree.top), cpu=self._model.cpu, rooted=self._model.rooted)
        command = Command(argv=spec.argv(), timeout_s=_CALL_S, log=self._model.log)
        self._boot = self._power.enter_context(self._processes.background(command))
        self.frozen = False

    def end(self) -> None:
        self._power.close()
        self._boot = None

    async def answering(self) -> None:
        """Wait until its adbd takes connections, and report that it has booted."""
        deadline = asyncio.get_running_loop().time() + _ANSWER_S
        while asyncio.get_running_loop().time() < deadline and self.alive:
            with suppress(OSError), socket.create_connection(("127.0.0.1", ADBD_PORT), 1.0):
                self.report_booted(True)
                return
            await asyncio.sleep(_LOOK_S)
        msg = f"virtual phone {self._model.name}: its adbd did not start; see {self._model.log}"
        raise InfrastructureFailure(msg)

    def freeze(self, *, thaw: bool = False) -> None:
        number = signal.SIGCONT if thaw else signal.SIGSTOP
        signalled: set[int] = set()
        # Stopped processes start no others: a round that finds no new one is the last.
        while new := self._inhabitants() - signalled:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            signalled |= new
        self.frozen = not thaw

    def fill(self, left_bytes: int) -> None:
        place = os.statvfs(self._tree.data)
        used = (place.f_blocks - place.f_bfree) * place.f_frsize
        # A size of 0 would mean: no bound at all.
        kernel.resize(self._tree.data, max(used + left_bytes, place.f_frsize))

    def unfill(self) -> None:
        kernel.resize(self._tree.data, self._model.data_bytes)

    def mute(self, silent: bool) -> None:
        """Cut its network without closing connections, or join it again."""
        kernel.set_loopback(up=not silent)

    def slow(self, bits_per_s: int) -> None:
        rate = ("rate", f"{bits_per_s}bit", "burst", str(_BURST_BYTES), "limit", str(_QUEUE_BYTES))
        self._tc("qdisc", "replace", "dev", "lo", "root", "tbf", *rate)

    def unslow(self) -> None:
        # A queue without a rate; deleting one that is not there would be an error.
        self._tc("qdisc", "replace", "dev", "lo", "root", "pfifo")

    def show(self, body: Sensors) -> None:
        self._body = body
        self._tree.show(body)

    @property
    def body(self) -> Sensors:
        return self._body

    def report_booted(self, booted: bool) -> None:
        model = self._model
        values = say.properties(
            name=model.name,
            cpu=model.cpu,
            rooted=model.rooted,
            more=self._properties,
            booted=booted,
        )
        self._tree.set_properties(values)

    def set_properties(self, values: Mapping[str, str]) -> None:
        self._properties |= values
        self.report_booted(True)

    def log_lines(self, text: str) -> None:
        with (self._tree.own / "logcat").open("a", encoding="utf-8") as log:
            log.write(text.rstrip("\n") + "\n")

    def _tc(self, *words: str) -> None:
        tool = shutil.which("chroot") or "/usr/sbin/chroot"
        argv = (tool, str(self._model.root), "/usr/sbin/tc", *words)
        outcome = self._processes.run(Command(argv=argv, timeout_s=_CALL_S))
        if not outcome.ok:
            msg = f"virtual phone {self._model.name}: tc: {outcome.stderr.strip()[-200:]}"
            raise InfrastructureFailure(msg)

    def _applets(self) -> tuple[str, ...]:
        tool = shutil.which("chroot") or "/usr/sbin/chroot"
        argv = (tool, str(self._model.root), "/usr/bin/toybox")
        return tuple(self._processes.run(Command(argv=argv, timeout_s=_CALL_S)).stdout.split())

    def _inhabitants(self) -> set[int]:
        if self._boot is None:
            return set()
        try:
            home = Path(f"/proc/{self._boot.pid}/ns/pid_for_children").readlink()
        except OSError:
            return set()
        found = set()
        for entry in Path("/proc").iterdir():
            with suppress(OSError):
                if entry.name.isdigit() and (entry / "ns" / "pid").readlink() == home:
                    found.add(int(entry.name))
        return found
