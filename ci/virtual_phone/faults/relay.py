"""Passes adb's packets between the host and the phone's adbd, and reports moments for faults."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

from virtual_phone.faults.packets import (
    HEAD_BYTES,
    PacketHeader,
    StreamEvent,
    Watcher,
    packet,
    parse_head,
)
from virtual_phone.faults.request import FaultTrigger
from virtual_phone.system.boot import ADBD_PORT

_BUFFER_BYTES = 256 * 1024
"""Small, or a slow link would seem fast until our own buffers are full."""
_LIMIT_BYTES = 4 * 1024 * 1024
_TOKEN = 1
_TOKEN_BYTES = 20


class RelayReply(Enum):
    PHONE = "phone"
    NONE = "none"
    STUB = "stub"


@dataclass(slots=True, kw_only=True)
class Relay:
    """``on_seen`` is awaited at each moment; ``on_reboot`` when the host asks adbd for one."""

    on_seen: Callable[[StreamEvent], Awaitable[None]]
    on_reboot: Callable[[], Awaitable[None]]
    answer: RelayReply = RelayReply.PHONE
    _links: set[asyncio.Task[None]] = field(default_factory=set)

    async def serve(self, listening: socket.socket) -> asyncio.Server:
        return await asyncio.start_server(self._accept, sock=listening, limit=_LIMIT_BYTES)

    def cut(self) -> None:
        for link in self._links:
            link.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        try:
            match self.answer:
                case RelayReply.PHONE:
                    await self._pass_on(reader, writer)
                case RelayReply.STUB:
                    await refuse(reader, writer)
                case RelayReply.NONE:
                    pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # either side may leave at any time, and cut() ends it from here
        finally:
            self._links.discard(link)
            writer.transport.abort()

    async def _pass_on(self, host: asyncio.StreamReader, to_host: asyncio.StreamWriter) -> None:
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        # Waiting for more to send, or for an acknowledgement, takes 40 ms a call each.
        for end in (door, to_host.get_extra_info("socket")):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        door.setblocking(False)
        to_phone: asyncio.StreamWriter | None = None
        try:
            loop = asyncio.get_running_loop()
            await loop.sock_connect(door, ("127.0.0.1", ADBD_PORT))
            phone, to_phone = await asyncio.open_connection(sock=door, limit=_LIMIT_BYTES)
            watcher = Watcher()
            await _first_to_end(
                self._pump(host, to_phone, partial(watcher.from_host)),
                self._pump(phone, to_host, partial(watcher.from_phone)),
            )
        finally:
            if to_phone is not None:
                to_phone.transport.abort()
            door.close()

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        watch: Callable[[PacketHeader, bytes], object],
    ) -> None:
        while True:
            raw = await reader.readexactly(HEAD_BYTES)
            head = parse_head(raw)
            if head is None:
                return
            payload = await reader.readexactly(head.length) if head.length else b""
            if head.command == b"OPEN" and payload.startswith(b"reboot:"):
                await self.on_reboot()
                return
            seen: list[StreamEvent] = list(watch(head, payload))  # type: ignore[call-overload]
            for event in seen:
                if event.moment is not FaultTrigger.BETWEEN:
                    await self.on_seen(event)
            writer.write(raw + payload)
            await writer.drain()
            for event in seen:
                if event.moment is FaultTrigger.BETWEEN:
                    await self.on_seen(event)


async def _first_to_end(*works: Awaitable[None]) -> None:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a greeting and every signature with a demand for another one, until the host goes.

    Debian's adbd has no authentication, so the state ``unauthorized`` cannot come from it.
    A host that has no signature left sends its public key and waits for a person: so do we.
    """
    while True:
        head = parse_head(await reader.readexactly(HEAD_BYTES))
        if head is None:
            return
        await reader.readexactly(head.length)
        public_key = head.command == b"AUTH" and head.first != 2
        if head.command in (b"CNXN", b"AUTH") and not public_key:
            writer.write(packet(b"AUTH", _TOKEN, 0, bytes(range(_TOKEN_BYTES))))
            await writer.drain()
