"""A stub, not a phone: it makes every host wait for a person to allow it, and no one does.

Debian's adbd has no authentication, so the state ``unauthorized`` cannot come from it.
"""

from __future__ import annotations

import asyncio

from virtual_phone.faults.packets import HEAD_BYTES, packet, parse_head

_TOKEN = 1
_TOKEN_BYTES = 20


async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer a greeting and every signature with a demand for another one, until the host goes.

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
