"""The stub that no one allows: whatever a host signs, it is asked again."""

from __future__ import annotations

import asyncio
import socket

import pytest

from virtual_phone.faults.packets import HEAD_BYTES, packet, parse_head
from virtual_phone.faults.unauthorized_stub import refuse

GREETING = packet(b"CNXN", 1, 4096, b"host::")
SIGNATURE = packet(b"AUTH", 2, 0, b"s" * 256)
PUBLIC_KEY = packet(b"AUTH", 3, 0, b"key")
OTHER = packet(b"OPEN", 1, 0, b"shell:")


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
