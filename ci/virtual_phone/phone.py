"""The phone itself, inside its namespaces: its power, its link, its storage, its state."""

import asyncio
import os
import shutil
import signal
import socket
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.libs.util.process import Background, Command, CompletedCommand, ProcessRunner
from virtual_phone.spec import LOG, PhoneSpec, own_program
from virtual_phone.system import kernel
from virtual_phone.system import sensors as say
from virtual_phone.system.boot import ADBD_PORT
from virtual_phone.system.mounts import MountTree, register_emulator
from virtual_phone.system.sensors import Sensors

_ANSWER_S = 15.0
_LOOK_S = 0.01
_CALL_S = 20.0
_QUEUE_BYTES = 4 * 1024 * 1024
_BURST_BYTES = 131072
"""More than the largest packet of ``lo``, or that packet would never pass."""


class Phone:
    def __init__(self, spec: PhoneSpec, processes: ProcessRunner) -> None:
        self._spec = spec
        self._log = Path(spec.folder) / LOG
        self._processes = processes
        self._cpus = os.cpu_count() or 1
        cpuinfo = say.cpuinfo(spec.cpu, self._cpus)
        if not spec.emulator:
            cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")  # what programs run on
        self._tree = MountTree(
            Path(spec.root),
            cpuinfo=cpuinfo,
            rooted=spec.rooted,
            cpus=self._cpus,
            android=Path(spec.android) if spec.android else None,
        )
        self._properties = dict(spec.properties)
        self._power = ExitStack()
        self._boot: Background | None = None
        self.frozen = False
        self.body = Sensors()

    @contextmanager
    def on(self) -> Iterator[None]:
        if self._spec.emulator:
            register_emulator(Path(self._spec.emulator))
        applets = self._in_root("/usr/bin/toybox").stdout.split()
        self._tree.make(applets, self._spec.data_bytes)
        self.show(self.body)
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
        return self._tree.own / "requests"

    def boot(self) -> None:
        if self.alive:
            return
        self._tree.write(self._tree.own / "boot_id", f"{uuid.uuid4()}\n")
        self.report_booted(False)
        rooted = "rooted" if self._spec.rooted else ""
        argv = own_program("virtual_phone.system.boot", str(self._tree.top), self._spec.cpu, rooted)
        command = Command(argv=argv, timeout_s=_CALL_S, log=self._log)
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
        msg = f"virtual phone {self._spec.name}: its adbd did not start; see {self._log}"
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
        kernel.resize(self._tree.data, self._spec.data_bytes)

    def mute(self, silent: bool) -> None:
        kernel.set_loopback(up=not silent)

    def slow(self, bits_per_s: int) -> None:
        rate = ("rate", f"{bits_per_s}bit", "burst", str(_BURST_BYTES), "limit", str(_QUEUE_BYTES))
        self._tc("qdisc", "replace", "dev", "lo", "root", "tbf", *rate)

    def unslow(self) -> None:
        # A queue without a rate; deleting one that is not there would be an error.
        self._tc("qdisc", "replace", "dev", "lo", "root", "pfifo")

    def show(self, body: Sensors) -> None:
        self.body = body
        self._tree.show(body)

    def report_booted(self, booted: bool) -> None:
        spec = self._spec
        values = say.properties(
            name=spec.name, cpu=spec.cpu, rooted=spec.rooted, more=self._properties, booted=booted
        )
        self._tree.set_properties(values)

    def set_properties(self, values: Mapping[str, str]) -> None:
        self._properties |= values
        self.report_booted(True)

    def log_lines(self, text: str) -> None:
        with (self._tree.own / "logcat").open("a", encoding="utf-8") as log:
            log.write(text.rstrip("\n") + "\n")

    def _tc(self, *words: str) -> None:
        outcome = self._in_root("/usr/sbin/tc", *words)
        if not outcome.ok:
            msg = f"virtual phone {self._spec.name}: tc: {outcome.stderr.strip()[-200:]}"
            raise InfrastructureFailure(msg)

    def _in_root(self, *words: str) -> CompletedCommand:
        tool = shutil.which("chroot") or "/usr/sbin/chroot"
        argv = (tool, self._spec.root, *words)
        return self._processes.run(Command(argv=argv, timeout_s=_CALL_S))

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
