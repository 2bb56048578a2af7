"""A program: one virtual phone. It makes the namespaces, boots, relays, and serves its socket."""

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from megtrim.libs.util.errors import MegtrimError
from megtrim.libs.util.process import ProcessRunner
from virtual_phone.faults.request import make_request
from virtual_phone.faults.scheduler import FaultScheduler
from virtual_phone.owned_dirs import hold, remove
from virtual_phone.phone import Phone
from virtual_phone.spec import READY, SOCKET, PhoneSpec
from virtual_phone.system import kernel


def main() -> None:
    spec = PhoneSpec(**json.loads(sys.argv[1]))
    folder = Path(spec.folder)
    hold(folder)
    # Sockets stay in the network in which they were made: these are the doors to the outside.
    door = socket.create_server((spec.host, spec.port), backlog=16)
    control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        control.bind(str(folder / SOCKET))
        control.listen()
        enter_namespaces()
        asyncio.run(_Supervisor(spec).run(door, control))
    except (OSError, MegtrimError) as error:
        # Whoever started us sees us end, reads it, and removes the folder.
        print(f"{error}", file=sys.stderr)  # noqa: T201 - this is the program's log
        return
    remove(folder)


def enter_namespaces() -> None:
    uid = os.getuid()
    gid = os.getgid()
    kernel.unshare(
        kernel.CLONE_NEWUSER
        | kernel.CLONE_NEWNS
        | kernel.CLONE_NEWNET
        | kernel.CLONE_NEWUTS
        | kernel.CLONE_NEWIPC
    )
    kernel.become(0, 0, outer_uid=uid, outer_gid=gid)
    kernel.die_with_parent(signal.SIGTERM)
    kernel.keep_mounts_private()
    kernel.set_loopback(up=True)
    socket.sethostname("localhost")


class _Supervisor:
    def __init__(self, spec: PhoneSpec) -> None:
        self._spec = spec
        self._phone = Phone(spec, ProcessRunner({"PATH": spec.path}))
        self._faults = FaultScheduler(self._phone, boot_s=spec.boot_s)

    async def run(self, door: socket.socket, control: socket.socket) -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        with self._phone.on():
            port = door.getsockname()[1]
            self._faults.listen()
            await self._phone.answering()
            relay = await self._faults.relay.serve(door)
            commands = await asyncio.start_unix_server(self._answer, sock=control)
            self._report_ready(port)
            await stop.wait()
            relay.close()
            commands.close()
            self._faults.relay.cut()

    def _report_ready(self, port: int) -> None:
        ready = Path(self._spec.folder) / READY
        address = {"name": self._spec.name, "pid": os.getpid(), "port": port, "cpu": self._spec.cpu}
        new = ready.with_suffix(".new")
        new.write_text(json.dumps(address), encoding="utf-8")
        new.rename(ready)

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = json.loads(await reader.readline())
            answer = await self._do(request)
        except MegtrimError as error:
            answer = {"error": str(error)}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        writer.write(json.dumps(answer).encode() + b"\n")
        try:
            await writer.drain()
        except OSError:
            return
        finally:
            writer.close()

    async def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "status":
                return self._faults.status()
            case "fault":
                await self._faults.take(make_request(**request["request"]))
            case "properties":
                self._phone.set_properties(request["values"])
            case "log":
                self._phone.log_lines(request["text"])
            case other:
                return {"error": f"no such request: {other!r}"}
        return {}
