import pytest
from hypothesis import given
from hypothesis import strategies as st

from virtual_phone.faults.packets import (
    HEAD_BYTES,
    PacketHeader,
    StreamEvent,
    Watcher,
    packet,
    parse_head,
)
from virtual_phone.faults.request import FaultTrigger

SHELL, SYNC = 1, 2
ENDED = [StreamEvent(FaultTrigger.BETWEEN)]


def host(watcher: Watcher, command: bytes, number: int, payload: bytes = b"") -> list[StreamEvent]:
    return list(watcher.from_host(PacketHeader(command, number, 9, len(payload)), payload))


def phone(watcher: Watcher, command: bytes, number: int, payload: bytes = b"") -> list[StreamEvent]:
    return list(watcher.from_phone(PacketHeader(command, 9, number, len(payload)), payload))


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
        StreamEvent(FaultTrigger.PUSH, 10, begins=False),
    ]
    # Data may begin with anything.
    assert host(watcher, b"WRTE", SYNC, b"RECV" + bytes(96)) == [
        StreamEvent(FaultTrigger.PUSH, 110, begins=False)
    ]
    assert phone(watcher, b"OKAY", SYNC) == []
    assert phone(watcher, b"WRTE", SYNC, b"OKAY\x00\x00\x00\x00") == ENDED
    assert host(watcher, b"WRTE", SYNC, b"QUIT\x00\x00\x00\x00") == []
    assert host(watcher, b"CLSE", SYNC) == []


@pytest.mark.parametrize("request_word", [b"RECV", b"RCV2"])
def test_a_pull_counts_what_the_phone_sends(request_word: bytes) -> None:
    watcher = Watcher()
    host(watcher, b"OPEN", SYNC, b"sync:\x00")
    assert host(watcher, b"WRTE", SYNC, request_word + bytes(5)) == [StreamEvent(FaultTrigger.PULL)]
    assert phone(watcher, b"WRTE", SYNC, b"DATA" + bytes(60)) == [
        StreamEvent(FaultTrigger.PULL, 64, begins=False)
    ]
    assert phone(watcher, b"WRTE", SYNC, bytes(36)) == [
        StreamEvent(FaultTrigger.PULL, 100, begins=False)
    ]
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
    assert host(watcher, b"WRTE", SYNC, b"DATA") == [
        StreamEvent(FaultTrigger.PUSH, 8, begins=False)
    ]
