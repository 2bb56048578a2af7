import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest

from virtual_phone.faults import relay as module
from virtual_phone.faults.packets import HEAD_BYTES, StreamEvent, packet, parse_head
from virtual_phone.faults.relay import Relay, RelayReply, refuse
from virtual_phone.faults.request import FaultTrigger

GREETING = packet(b"CNXN", 1, 4096, b"host::")
SIGNATURE = packet(b"AUTH", 2, 0, b"s" * 256)
PUBLIC_KEY = packet(b"AUTH", 3, 0, b"key")
OTHER = packet(b"OPEN", 1, 0, b"shell:")
RUN = packet(b"OPEN", 1, 0, b"shell,v2,raw:# megtrim:run\n\0")


class World:
    """A relay, what it reported, and what reached the phone."""

    def __init__(self) -> None:
        self.seen: list[tuple[FaultTrigger, int]] = []
        self.received = bytearray()
        self.reboots = 0
        self.relay = Relay(on_seen=self._see, on_reboot=self._reboot)

    async def _see(self, event: StreamEvent) -> None:
        self.seen.append((event.moment, len(self.received)))

    async def _reboot(self) -> None:
        self.reboots += 1


Act = Callable[[World, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def connected(
    monkeypatch: pytest.MonkeyPatch, act: Act, reply: RelayReply = RelayReply.PHONE
) -> None:
    world = World()
    world.relay.answer = reply

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            world.received += data
            writer.write(data)
        writer.close()

    async def run() -> None:
        phone = await asyncio.start_server(echo, "127.0.0.1", 0)
        monkeypatch.setattr(module, "ADBD_PORT", phone.sockets[0].getsockname()[1])
        door = socket.create_server(("127.0.0.1", 0))
        server = await world.relay.serve(door)
        reader, writer = await asyncio.open_connection(*door.getsockname())
        try:
            await asyncio.wait_for(act(world, reader, writer), 10)
        finally:
            writer.transport.abort()
            server.close()
            phone.close()
            await asyncio.sleep(0.02)

    asyncio.run(run())


async def at_end(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


def test_packets_pass_unchanged_and_a_moment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(RUN)
        assert await reader.readexactly(len(RUN)) == RUN
        assert world.seen[0] == (FaultTrigger.RUN, 0)
        assert bytes(world.received) == RUN

    connected(monkeypatch, act)


def test_a_reboot_does_not_reach_the_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(packet(b"OPEN", 1, 0, b"reboot:\0"))
        assert await at_end(reader)
        assert (world.reboots, bytes(world.received)) == (1, b"")

    connected(monkeypatch, act)


def test_a_cut_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut(world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(RUN)
        await reader.readexactly(len(RUN))
        world.relay.cut()
        assert await at_end(reader)

    async def noise(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(bytes(HEAD_BYTES - 1) + b"x")
        assert await at_end(reader)
        assert bytes(world.received) == b""

    connected(monkeypatch, cut)
    connected(monkeypatch, noise)


def test_the_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        assert await at_end(reader)

    async def stub(
        world: World, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        for greeting in (packet(b"CNXN", 1, 4096, b"host::\0"), packet(b"AUTH", 2, 0, b"sign")):
            writer.write(greeting)
            head = parse_head(await reader.readexactly(HEAD_BYTES))
            assert head is not None
            assert (head.command, head.first) == (b"AUTH", 1)
            await reader.readexactly(head.length)
        assert bytes(world.received) == b""

    connected(monkeypatch, none, RelayReply.NONE)
    connected(monkeypatch, stub, RelayReply.STUB)


def answers(*packets: bytes) -> int:
    """Return how often the host is asked to sign, until it goes."""
    ours, theirs = socket.socketpair()

    async def serve() -> None:
        reader, writer = await asyncio.open_connection(sock=ours)
        with pytest.raises(asyncio.IncompleteReadError):
            await refuse(reader, writer)
        writer.close()
        await writer.wait_closed()

    with theirs:
        theirs.sendall(b"".join(packets))
        theirs.shutdown(socket.SHUT_WR)
        asyncio.run(serve())
        rest = theirs.makefile("rb").read()
    count = 0
    while rest:
        head = parse_head(rest[:HEAD_BYTES])
        assert head is not None
        assert (head.command, head.first, head.length) == (b"AUTH", 1, 20)
        rest = rest[HEAD_BYTES + head.length :]
        count += 1
    return count


@pytest.mark.parametrize(
    ("packets", "count"),
    [
        ((), 0),
        ((GREETING,), 1),
        ((GREETING, SIGNATURE, SIGNATURE), 3),
        ((GREETING, SIGNATURE, PUBLIC_KEY), 2),
        ((GREETING, OTHER), 1),
    ],
)
def test_every_signature_is_refused(packets: tuple[bytes, ...], count: int) -> None:
    assert answers(*packets) == count
