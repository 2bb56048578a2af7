"""The build id of a linked file: a digest of its content that linkers write into a note.

Crash reports name it, so that a crash can be matched with the exact program. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from megtrim.elf.segments import segments
from megtrim.errors import InputError

WANTED = "-Wl,--build-id=sha1"
"""The compiler's flag for a build id that depends on nothing but the content."""
NONE = "-Wl,--build-id=none"

_NOTES = 4
"""Kind of a segment of notes."""
_HEAD = struct.Struct("<3I")
_OWNER, _BUILD_ID = b"GNU\0", 3
_MAX_BYTES = 64


def parse_build_id(data: bytes) -> str:
    """Return the build id as hexadecimal digits; empty if the file has none, or is damaged."""
    try:
        pieces = [each for each in segments(data, source="") if each.kind == _NOTES]
    except InputError:
        return ""
    for piece in pieces:
        for owner, kind, content in _notes(data[piece.offset : piece.offset + piece.size_bytes]):
            if (owner, kind) == (_OWNER, _BUILD_ID) and 0 < len(content) <= _MAX_BYTES:
                return content.hex()
    return ""


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield owner, kind and content of each note; what is cut off ends them."""
    at = 0
    while at + _HEAD.size <= len(data):
        owner_bytes, content_bytes, kind = _HEAD.unpack_from(data, at)
        owner = at + _HEAD.size
        content = owner + owner_bytes + -owner_bytes % 4
        at = content + content_bytes + -content_bytes % 4
        if content + content_bytes > len(data):
            return
        yield data[owner : owner + owner_bytes], kind, data[content : content + content_bytes]
