"""adb's packets, as far as telling what the link is being used for goes. Pure.

A packet is a head of six little-endian words (command, two arguments, length, checksum, magic)
and its bytes. Transfers of ``sync:`` are a request of four letters, data, a status.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from virtual_phone.faults.request import FaultTrigger

HEAD_BYTES = 24
LARGEST_PAYLOAD = 8 * 1024 * 1024
_HEAD = struct.Struct("<4s5I")
_WORD = re.compile(rb"# megtrim:([a-z]+)")
_WORDS = {
    b"enter": FaultTrigger.ENTER,
    b"put": FaultTrigger.PUT,
    b"run": FaultTrigger.RUN,
    b"get": FaultTrigger.GET,
    b"probe": FaultTrigger.PROBE,
    b"clean": FaultTrigger.CLEANUP,
}
_SENDS = (b"SEND", b"SND2")
_RECEIVES = (b"RECV", b"RCV2")
_STATUS = (b"OKAY", b"FAIL")


@dataclass(frozen=True, slots=True)
class PacketHeader:
    command: bytes
    first: int
    second: int
    length: int


def parse_head(data: bytes) -> PacketHeader | None:
    """Return None for bytes that are no head."""
    command, first, second, length, _checksum, magic = _HEAD.unpack(data)
    if magic != int.from_bytes(command, "little") ^ 0xFFFFFFFF or length > LARGEST_PAYLOAD:
        return None
    return PacketHeader(command, first, second, length)


def packet(command: bytes, first: int, second: int, payload: bytes = b"") -> bytes:
    magic = int.from_bytes(command, "little") ^ 0xFFFFFFFF
    head = _HEAD.pack(command, first, second, len(payload), sum(payload) & 0xFFFFFFFF, magic)
    return head + payload


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """A moment of one stream.

    The packet that shows it begins it, and is still held back; what comes between two steps begins
    after the packet that ended the first.
    """

    moment: FaultTrigger
    bytes_moved: int = 0
    """By a transfer, so far."""
    begins: bool = True


@dataclass(slots=True)
class _Stream:
    moment: FaultTrigger | None
    """None for nothing we care for."""
    transfers: bool
    moved: int = 0


@dataclass(slots=True)
class Watcher:
    _streams: dict[int, _Stream] = field(default_factory=dict)

    def from_host(self, head: PacketHeader, payload: bytes) -> Iterator[StreamEvent]:
        stream = self._streams.get(head.first)
        if head.command == b"OPEN":
            yield from self._open_stream(head.first, payload)
        elif head.command == b"CLSE":
            yield from self._close_stream(head.first)
        elif head.command == b"WRTE" and stream is not None and stream.transfers:
            yield from self._track_transfer(stream, payload)

    def from_phone(self, head: PacketHeader, payload: bytes) -> Iterator[StreamEvent]:
        stream = self._streams.get(head.second)
        if head.command == b"CLSE":
            yield from self._close_stream(head.second)
        elif head.command == b"WRTE" and stream is not None and stream.transfers:
            if stream.moment is FaultTrigger.PUSH and payload[:4] in _STATUS:
                stream.moment = None
                yield StreamEvent(FaultTrigger.BETWEEN)
            elif stream.moment is FaultTrigger.PULL:
                stream.moved += len(payload)
                yield StreamEvent(FaultTrigger.PULL, stream.moved, begins=False)

    def _open_stream(self, number: int, payload: bytes) -> Iterator[StreamEvent]:
        word = _WORD.search(payload)
        moment = _WORDS.get(word[1]) if word else None
        self._streams[number] = _Stream(moment, payload.startswith(b"sync:"))
        if moment is not None:
            yield StreamEvent(moment)

    def _close_stream(self, number: int) -> Iterator[StreamEvent]:
        stream = self._streams.pop(number, None)
        if stream is not None and stream.moment in (FaultTrigger.RUN, FaultTrigger.PULL):
            yield StreamEvent(FaultTrigger.BETWEEN)

    def _track_transfer(self, stream: _Stream, payload: bytes) -> Iterator[StreamEvent]:
        request = payload[:4]
        if stream.moment is not FaultTrigger.PUSH and request in (*_SENDS, *_RECEIVES):
            stream.moment = FaultTrigger.PUSH if request in _SENDS else FaultTrigger.PULL
            stream.moved = 0
            yield StreamEvent(stream.moment)
        if stream.moment is FaultTrigger.PUSH:
            stream.moved += len(payload)
            yield StreamEvent(FaultTrigger.PUSH, stream.moved, begins=False)
