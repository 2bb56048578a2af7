import asyncio
import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.util.errors import InputError
from virtual_phone.faults import relay as module
from virtual_phone.faults.packets import (
    HEAD_BYTES,
    PacketHeader,
    StreamEvent,
    Watcher,
    packet,
    parse_head,
)
from virtual_phone.faults.relay import Relay, RelayReply, refuse
from virtual_phone.faults.request import (
    ABOUT,
    UNDONE_BY,
    Fault,
    FaultRequest,
    FaultTrigger,
    make_request,
)
from virtual_phone.faults.scheduler import FaultScheduler
from virtual_phone.phone import Phone
from virtual_phone.system.sensors import Sensors

SHELL = 1
SYNC = 2
ENDED = [StreamEvent(FaultTrigger.BETWEEN)]


def host(watcher: Watcher, command: bytes, number: int, payload: bytes = b"") -> list[StreamEvent]:
    return list(watcher.from_host(PacketHeader(command, number, 9, len(payload)), payload))


def phone(watcher: Watcher, command: bytes, number: int, payload: bytes = b"") -> list[StreamEvent]:
    return list(watcher.from_phone(PacketHeader(command, 9, number, len(payload)), payload))


def moved(moment: FaultTrigger, size_bytes: int) -> list[StreamEvent]:
    return [StreamEvent(moment, size_bytes, begins=False)]


def test_a_packet_is_read_as_it_was_written() -> None:
    raw = packet(b"WRTE", 3, 4, b"abc")
    assert len(raw) == HEAD_BYTES + 3
    assert parse_head(raw[:HEAD_BYTES]) == PacketHeader(b"WRTE", 3, 4, 3)
    assert raw[16:20] == (ord("a") + ord("b") + ord("c")).to_bytes(4, "little")


@given(st.binary(min_size=HEAD_BYTES, max_size=HEAD_BYTES))
def test_other_bytes_are_no_head(data: bytes) -> None:
    head = parse_head(data)
    magic = int.from_bytes(data[20:24], "little") ^ 0xFFFFFFFF
    assert head is None or magic == int.from_bytes(data[:4], "little")


def test_a_huge_payload_is_refused() -> None:
    """A length that no adb has would only take our memory."""
    raw = bytearray(packet(b"WRTE", 1, 2))
    raw[12:16] = (8 * 1024 * 1024 + 1).to_bytes(4, "little")
    assert parse_head(bytes(raw)) is None
    raw[12:16] = (8 * 1024 * 1024).to_bytes(4, "little")
    assert parse_head(bytes(raw)) is not None


@pytest.mark.parametrize(
    ("word", "moment"),
    [
        (b"enter", FaultTrigger.ENTER),
        (b"put", FaultTrigger.PUT),
        (b"run", FaultTrigger.RUN),
        (b"get", FaultTrigger.GET),
        (b"probe", FaultTrigger.PROBE),
        (b"clean", FaultTrigger.CLEANUP),
    ],
)
def test_a_script_says_what_it_is_for(word: bytes, moment: FaultTrigger) -> None:
    watcher = Watcher()
    text = b"shell,v2,raw:# megtrim:" + word + b"\nls\x00"
    assert host(watcher, b"OPEN", SHELL, text) == [StreamEvent(moment)]


def test_other_scripts_are_no_moment() -> None:
    watcher = Watcher()
    assert host(watcher, b"OPEN", SHELL, b"shell:# megtrim:dance\n") == []
    assert host(watcher, b"OPEN", SHELL, b"shell:echo megtrim:run\n") == []
    assert phone(watcher, b"CLSE", SHELL) == []


@pytest.mark.parametrize("request_word", [b"SEND", b"SND2"])
def test_a_push_is_followed_to_its_end(request_word: bytes) -> None:
    watcher = Watcher()
    assert host(watcher, b"OPEN", SYNC, b"sync:\x00") == []
    assert host(watcher, b"WRTE", SYNC, b"STAT\x01\x00\x00\x00/") == []
    assert phone(watcher, b"WRTE", SYNC, b"STAT") == []
    assert host(watcher, b"WRTE", SYNC, request_word + bytes(6)) == [
        StreamEvent(FaultTrigger.PUSH),
        *moved(FaultTrigger.PUSH, 10),
    ]
    # Data may begin with anything.
    assert host(watcher, b"WRTE", SYNC, b"RECV" + bytes(96)) == moved(FaultTrigger.PUSH, 110)
    assert phone(watcher, b"OKAY", SYNC) == []
    assert phone(watcher, b"WRTE", SYNC, b"OKAY\x00\x00\x00\x00") == ENDED
    assert host(watcher, b"WRTE", SYNC, b"QUIT\x00\x00\x00\x00") == []
    assert host(watcher, b"CLSE", SYNC) == []


@pytest.mark.parametrize("request_word", [b"RECV", b"RCV2"])
def test_a_pull_counts_what_the_phone_sends(request_word: bytes) -> None:
    watcher = Watcher()
    host(watcher, b"OPEN", SYNC, b"sync:\x00")
    assert host(watcher, b"WRTE", SYNC, request_word + bytes(5)) == [StreamEvent(FaultTrigger.PULL)]
    assert phone(watcher, b"WRTE", SYNC, b"DATA" + bytes(60)) == moved(FaultTrigger.PULL, 64)
    assert phone(watcher, b"WRTE", SYNC, bytes(36)) == moved(FaultTrigger.PULL, 100)
    assert host(watcher, b"CLSE", SYNC) == ENDED
    assert phone(watcher, b"CLSE", SYNC) == []


def test_a_run_ends_with_its_stream() -> None:
    watcher = Watcher()
    host(watcher, b"OPEN", SHELL, b"shell:# megtrim:run\n./a")
    assert phone(watcher, b"WRTE", SHELL, b"OKAY, it says") == []
    assert phone(watcher, b"CLSE", SHELL) == ENDED
    host(watcher, b"OPEN", SHELL, b"shell:# megtrim:probe\necho")
    assert phone(watcher, b"CLSE", SHELL) == []


def test_streams_are_distinguished() -> None:
    watcher = Watcher()
    host(watcher, b"OPEN", SHELL, b"shell:# megtrim:run\n./a")
    host(watcher, b"OPEN", SYNC, b"sync:\x00")
    host(watcher, b"WRTE", SYNC, b"SEND")
    assert host(watcher, b"WRTE", SHELL, b"SEND input for the program") == []
    assert host(watcher, b"WRTE", SYNC, b"DATA") == moved(FaultTrigger.PUSH, 8)


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


Act = Callable[[World, StreamReader, StreamWriter], Awaitable[None]]


def connected(
    monkeypatch: pytest.MonkeyPatch, act: Act, reply: RelayReply = RelayReply.PHONE
) -> None:
    world = World()
    world.relay.answer = reply

    async def echo(reader: StreamReader, writer: StreamWriter) -> None:
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


async def at_end(reader: StreamReader) -> bool:
    try:
        return await reader.read(1) == b""
    except ConnectionError:
        return True


def test_packets_pass_unchanged_and_a_moment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(world: World, reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(RUN)
        assert await reader.readexactly(len(RUN)) == RUN
        assert world.seen[0] == (FaultTrigger.RUN, 0)
        assert bytes(world.received) == RUN

    connected(monkeypatch, act)


def test_a_reboot_does_not_reach_the_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(world: World, reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(packet(b"OPEN", 1, 0, b"reboot:\0"))
        assert await at_end(reader)
        assert (world.reboots, bytes(world.received)) == (1, b"")

    connected(monkeypatch, act)


def test_a_cut_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def cut(world: World, reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(RUN)
        await reader.readexactly(len(RUN))
        world.relay.cut()
        assert await at_end(reader)

    async def noise(world: World, reader: StreamReader, writer: StreamWriter) -> None:
        writer.write(bytes(HEAD_BYTES - 1) + b"x")
        assert await at_end(reader)
        assert bytes(world.received) == b""

    connected(monkeypatch, cut)
    connected(monkeypatch, noise)


def test_the_other_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(world: World, reader: StreamReader, writer: StreamWriter) -> None:
        assert await at_end(reader)

    async def stub(world: World, reader: StreamReader, writer: StreamWriter) -> None:
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


@pytest.mark.parametrize(
    ("fault", "more", "moment", "after_bytes"),
    [
        ("kill", {}, "now", 0),
        ("kill", {"moment": "push", "nth": 3, "delay_s": 0.5, "for_s": 2}, "push", 0),
        ("kill", {"moment": "push", "after_bytes": 500}, "push", 500),
        ("vanish", {}, "push", 65536),
        ("vanish", {"moment": "pull"}, "pull", 65536),
        ("vanish", {"moment": "run"}, "run", 0),
        ("vanish", {"moment": "now"}, "now", 0),
        ("vanish", {"after_bytes": 9}, "push", 9),
    ],
)
def test_most_faults_happen_now_and_vanish_in_the_midst_of_a_push(
    fault: str, more: dict[str, Any], moment: str, after_bytes: int
) -> None:
    usual = {**more, "moment": FaultTrigger(moment), "after_bytes": after_bytes}
    assert make_request(fault, **more) == FaultRequest(fault=Fault(fault), **usual)


@pytest.mark.parametrize(
    ("fault", "value", "expected"),
    [
        ("hot", None, 90.0),
        ("hot", 50.0, 50.0),
        ("disk-full", None, 0.0),
        ("disk-full", 4096.0, 4096.0),
        ("battery", 0.0, 0.0),
        ("slow", 8000.0, 8000.0),
        ("cool", None, None),
    ],
)
def test_values(fault: str, value: float | None, expected: float | None) -> None:
    assert make_request(fault, value=value).value == expected


@pytest.mark.parametrize(
    ("fault", "more", "message"),
    [
        ("explode", {}, "there is no fault 'explode'"),
        ("kill", {"moment": "noon"}, "there is no moment 'noon'"),
        ("kill", {"value": 1.0}, "fault kill: it takes no value"),
        ("battery", {}, "fault battery: found none as its value, expected 0 to 100"),
        ("battery", {"value": 101.0}, "fault battery: found 101 as its value, expected 0 to 100"),
        ("hot", {"value": float("nan")}, "fault hot: found nan as its value, expected -40 to 150"),
        ("slow", {"value": 7999.0}, None),
        ("kill", {"moment": "run", "after_bytes": 1}, None),
        ("reboot", {"for_s": 1.0}, "fault reboot: it cannot be undone after a time"),
        ("kill", {"nth": 0}, None),
        ("kill", {"moment": "push", "after_bytes": -1}, None),
        ("kill", {"delay_s": -0.1}, None),
        ("kill", {"delay_s": 3600.1}, None),
        ("kill", {"for_s": 3601.0}, None),
    ],
)
def test_what_cannot_be_is_refused(fault: str, more: dict[str, Any], message: str | None) -> None:
    with pytest.raises(InputError) as caught:
        make_request(fault, **more)
    assert message is None or caught.value.message == message
    assert caught.value.hint


def test_every_fault_is_explained() -> None:
    """And what undoes one is no fault that must be undone itself."""
    assert set(ABOUT) == set(Fault)
    assert not set(UNDONE_BY.values()) & set(UNDONE_BY)


class Body:
    def __init__(self) -> None:
        self.alive = True
        self.frozen = False
        self.body = Sensors()
        self.done: list[str] = []

    def show(self, body: Sensors) -> None:
        self.body = body

    def freeze(self, *, thaw: bool = False) -> None:
        self.frozen = not thaw

    def end(self) -> None:
        self.alive = False

    def boot(self) -> None:
        self.alive = True

    async def answering(self) -> None:
        self.done.append("answering")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *values: self.done.append(f"{name}{values}")


def scene(act: Callable[[FaultScheduler, Body], Awaitable[None]]) -> None:
    phone = Body()

    async def run() -> None:
        await act(FaultScheduler(cast("Phone", phone), boot_s=0.0), phone)

    asyncio.run(run())


async def see(
    faults: FaultScheduler, moment: FaultTrigger, moved: int = 0, *, begins: bool = True
) -> None:
    event = StreamEvent(moment, moved, begins)
    await faults.relay.on_seen(event)


def happened(faults: FaultScheduler) -> Any:
    return faults.status()["happened"]


def test_a_fault_for_now_has_happened() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("freeze"))
        await faults.take(make_request("hot", value=80.0))
        await faults.take(make_request("slow", value=9000.0))

        status = faults.status()
        assert (status["state"], status["temperature_c"]) == ("frozen", 80.0)
        assert status["happened"] == ["freeze at now", "hot at now", "slow at now"]
        assert phone.done == ["slow(9000,)"]

    scene(act)


def test_a_fault_waits_for_its_moment() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("kill", moment="push", nth=2, after_bytes=100))
        await see(faults, FaultTrigger.PUSH, 500)
        await see(faults, FaultTrigger.PULL, 500)
        await see(faults, FaultTrigger.PUSH, 99)
        assert faults.status()["waiting"] == ["kill at push"]
        assert phone.alive

        await see(faults, FaultTrigger.PUSH, 100, begins=False)
        assert faults.status()["waiting"] == []
        assert faults.status()["state"] == "dead"

        phone.boot()
        await see(faults, FaultTrigger.PUSH, 500)
        assert phone.alive
        assert happened(faults) == ["kill at push"]

    scene(act)


def test_a_fault_is_undone_after_its_time() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("unplug", for_s=0.01))
        assert faults.status()["answers"] == "none"
        while len(happened(faults)) < 2:
            await asyncio.sleep(0.005)
        assert faults.relay.answer is RelayReply.PHONE
        assert happened(faults) == ["unplug at now", "replug at now"]

    scene(act)


def test_a_reboot_ends_and_boots_once() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.relay.on_reboot()
        await faults.relay.on_reboot()
        while not phone.done:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        assert phone.alive
        assert phone.done == ["answering"]

    scene(act)


def test_a_reset_undoes_and_forgets_all() -> None:
    async def act(faults: FaultScheduler, phone: Body) -> None:
        await faults.take(make_request("hot"))
        await faults.take(make_request("vanish", moment="now"))
        await faults.take(make_request("kill", moment="run"))
        await faults.take(make_request("freeze", delay_s=0.01))
        await faults.take(make_request("reset"))
        await asyncio.sleep(0.03)

        status = faults.status()
        assert (status["state"], status["answers"]) == ("running", "phone")
        assert (status["waiting"], status["happened"]) == ([], [])
        assert phone.body == Sensors()
        assert "unfill()" in phone.done

    scene(act)
