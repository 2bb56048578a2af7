"""Reads protobuf's wire format: the fields of one message, with their numbers. Pure.

https://protobuf.dev/programming-guides/encoding/. A message within another is bytes, which the
caller reads in turn if its schema says so: nothing here goes deeper by itself, and every length
stays within the message that has it.
"""

from collections.abc import Iterator, Mapping

_MOST_VARINT_BYTES = 10
_MOST_FIELDS = 200_000
_VARINT = 0
_FIXED64 = 1
_BYTES = 2
_FIXED32 = 5
_FIXED_BYTES: Mapping[int, int] = {_FIXED64: 8, _FIXED32: 4}
_LARGEST = (1 << 64) - 1


class WireError(ValueError):
    """The bytes are no protobuf message, or not one of the expected schema."""


class Message:
    """The fields of a message by their numbers; each accessor refuses a field of another type."""

    def __init__(self, data: bytes) -> None:
        self._fields: dict[int, list[int | bytes]] = {}
        for number, value in _read_fields(data):
            self._fields.setdefault(number, []).append(value)

    def numbers(self) -> frozenset[int]:
        return frozenset(self._fields)

    def number(self, field: int) -> int:
        """Return 0 for one that is not there, as protobuf does."""
        value = self._last(field, 0)
        if not isinstance(value, int):
            msg = f"field {field} is not a number"
            raise WireError(msg)
        return value

    def text(self, field: int) -> str:
        value = self._last(field, b"")
        if not isinstance(value, bytes):
            msg = f"field {field} is not text"
            raise WireError(msg)
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            msg = f"field {field} is not UTF-8"
            raise WireError(msg) from None

    def messages(self, field: int, *, most: int) -> tuple["Message", ...]:
        values = self._fields.get(field, [])
        if len(values) > most:
            msg = f"field {field} occurs {len(values)} times, expected at most {most}"
            raise WireError(msg)
        return tuple(Message(_expect_bytes(each, field)) for each in values)

    def _last(self, field: int, otherwise: int | bytes) -> int | bytes:
        values = self._fields.get(field, [otherwise])
        if len(values) > 1:
            msg = f"field {field} occurs twice"
            raise WireError(msg)
        return values[0]


def _expect_bytes(value: int | bytes, field: int) -> bytes:
    if not isinstance(value, bytes):
        msg = f"field {field} is not a message"
        raise WireError(msg)
    return value


def _read_fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    count = 0
    while at < len(data):
        count += 1
        if count > _MOST_FIELDS:
            msg = f"more than {_MOST_FIELDS} fields"
            raise WireError(msg)
        key, at = _read_varint(data, at)
        number = key >> 3
        kind = key & 7
        if not number:
            msg = "a field of number 0"
            raise WireError(msg)
        if kind == _VARINT:
            value, at = _read_varint(data, at)
            yield number, value
            continue
        if kind == _BYTES:
            size, at = _read_varint(data, at)
        elif kind in _FIXED_BYTES:
            size = _FIXED_BYTES[kind]
        else:
            msg = f"field {number} has the wire type {kind}"
            raise WireError(msg)
        end = at + size
        if end > len(data):
            msg = f"field {number} ends after the end of its message"
            raise WireError(msg)
        content = data[at:end]
        yield number, content if kind == _BYTES else int.from_bytes(content, "little")
        at = end


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for count in range(_MOST_VARINT_BYTES):
        if at + count >= len(data):
            msg = "a number is cut short"
            raise WireError(msg)
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            if value > _LARGEST:
                break
            return value, at + count + 1
    msg = "a number has more than 64 bits"
    raise WireError(msg)
