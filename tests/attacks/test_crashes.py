"""Attempts on the reader of crash reports: by bytes of protobuf, by JSON, by lines of text."""

import json
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.finding import CrashCause
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.report import MAX_REPORT_BYTES, parse_report
from support.crash_documents import BASE, Fields, encode, proto_frame, sentry, varint
from support.crash_reports import FieldPlace, list_places
from support.made_programs import STAYS, STUB_AT
from unit.ship.crashes.made_programs import numbered

PROGRAM = replace(numbered(), name="libengine.so")
PLACE: FieldPlace = list_places(PROGRAM, {"first()": STUB_AT}, STAYS + 4)[0]
TID = 4720
_SECONDS = 20


def tombstone(*frames: Fields, more: Fields = ()) -> Fields:
    thread: Fields = (
        (1, TID),
        (3, ((1, "pc"), (2, BASE + PLACE.pc))),
        *((4, each) for each in frames),
        *more,
    )
    return ((6, TID), (10, ((1, 5), (2, "SIGTRAP"), (3, 1))), (16, ((1, TID), (2, thread))))


FRAME = proto_frame(PLACE, PLACE.pc)
WHOLE = b"\x08\x01" + encode(tombstone(FRAME))


def expect_refused(data: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(InputError) as refused:
        parse_report(data, source="r")
    assert time.monotonic() - started < _SECONDS
    assert refused.value.message.startswith("r: ")


def test_a_number_that_does_not_end() -> None:
    assert parse_report(WHOLE, source="r").frames[0].pc == PLACE.pc
    for number in (b"\xff" * 10, b"\xff" * 9 + b"\x02", b"\xff" * 1000, b"\x80"):
        for key in (b"", b"\x30"):
            expect_refused(b"\x08\x01" + key + number)
            if len(number) > 1:
                expect_refused(b"\x08\x01" + key + number + WHOLE)


def test_a_length_beyond_the_message() -> None:
    for size in (len(WHOLE) + 1, 1 << 31, 1 << 63, (1 << 64) - 1):
        expect_refused(b"\x08\x01\x12" + varint(size) + WHOLE)
        expect_refused(WHOLE + b"\x12" + varint(size) + b"maker")
    thread = b"\x10" + varint(TID)
    expect_refused(b"\x08\x01\x82\x01" + varint(len(thread) + 1) + thread)


def test_a_million_fields() -> None:
    for field in (b"\x08\x01", b"\x82\x01\x00", b"\x8a\x01\x00", b"\x12\x00"):
        expect_refused(b"\x08\x01" + field * (MAX_REPORT_BYTES // len(field) - 2))
    frames = b"\x22\x00" * (MAX_REPORT_BYTES // 4)
    thread = b"\x08" + varint(TID) + frames
    entry = b"\x08" + varint(TID) + b"\x12" + varint(len(thread)) + thread
    expect_refused(b"\x08\x01\x30" + varint(TID) + b"\x82\x01" + varint(len(entry)) + entry)


def test_a_message_in_a_message_in_a_message() -> None:
    for number in (4, 12, 16, 17):
        nested = b""
        for _ in range(2000):
            nested = varint(number << 3 | 2) + varint(len(nested)) + nested
        expect_refused(b"\x08\x01" + nested)
    deep = b"\x82\x01\xff\xff\x7f" * 200_000
    expect_refused(b"\x08\x01" + deep)


@pytest.mark.parametrize("kind", [0, 1, 2, 3, 4, 5, 6, 7])
def test_a_field_of_another_type(kind: int) -> None:
    """Of those that are read each has one type."""
    content = {0: b"\x01", 1: bytes(8), 2: b"\x01a", 5: bytes(4)}.get(kind, b"\x01")
    for number, right in ((6, 0), (10, 2), (16, 2), (17, 2)):
        if kind != right and not (right == 0 and kind in (1, 5)):
            field = varint(number << 3 | kind) + content
            without = [each for each in tombstone(FRAME) if each[0] != number]
            expect_refused(b"\x08\x01" + encode(tuple(without)) + field)
    for number, right in ((1, 0), (2, 0), (6, 2), (8, 2)):
        if kind != right and not (right == 0 and kind in (1, 5)):
            kept = tuple(each for each in FRAME if each[0] != number)
            frame = encode(kept) + varint(number << 3 | kind) + content
            thread = encode(((1, TID),)) + b"\x22" + varint(len(frame)) + frame
            entry: Fields = ((1, TID), (2, thread))
            signal: Fields = ((1, 5),)
            expect_refused(b"\x08\x01" + encode(((6, TID), (10, signal), (16, entry))))


def test_a_field_that_is_not_known() -> None:
    caller = proto_frame(PLACE, PLACE.pc + 64)
    for number in (10, 40, 1000):
        expect_refused(b"\x08\x01" + encode(tombstone(caller, more=((number, FRAME),))))
        expect_refused(b"\x08\x01" + encode(tombstone((*FRAME, (number + 50, 1)))))


def test_a_field_twice() -> None:
    for again in ((1, STAYS), (2, BASE + STAYS), (6, "/lib/libc.so"), (8, "ab" * 20)):
        expect_refused(b"\x08\x01" + encode(tombstone((*FRAME, again))))


def test_text_that_is_no_utf_8() -> None:
    for name in (b"\xff\xfe/lib", b"/lib/\xc3\x28.so", b"/lib/\xed\xa0\x80.so"):
        kept = tuple(each for each in FRAME if each[0] != 6)
        expect_refused(b"\x08\x01" + encode(tombstone((*kept, (6, name)))))
    event = sentry(PLACE)
    event["exception"]["values"][0]["stacktrace"]["frames"][-1]["package"] = "/lib/\ud800.so"
    expect_refused(json.dumps(event).encode())
    expect_refused(json.dumps(sentry(PLACE)).encode().replace(b"libengine", b"lib\xffengine", 1))


def test_json_that_is_nested_deep() -> None:
    for depth in (2000, 100_000):
        deep = "[" * depth + "]" * depth
        expect_refused(f'{{"event_id": "0", "exception": {{"values": {deep}}}}}'.encode())
        objects = '{"values": ' * depth + "1" + "}" * depth
        expect_refused(f'{{"event_id": "0", "exception": {objects}}}'.encode())


def test_json_with_a_key_twice() -> None:
    text = json.dumps(sentry(PLACE))
    address = f'"instruction_addr": "{BASE + PLACE.pc:#x}"'
    assert address in text
    expect_refused(
        text.replace(address, f'"instruction_addr": "{BASE + STAYS:#x}", {address}').encode()
    )


@pytest.mark.parametrize(
    "value",
    ["-1", "true", "1.5", "NaN", "18446744073709551616", f"1{'0' * 400}", "[1]", "null", '"0x"'],
)
def test_numbers_of_json_that_are_none(value: str) -> None:
    text = json.dumps(sentry(PLACE))
    address = f'"instruction_addr": "{BASE + PLACE.pc:#x}"'
    expect_refused(text.replace(address, f'"instruction_addr": {value}').encode())


def test_a_report_of_two_services() -> None:
    stack = [{"address": hex(BASE + STAYS + 4), "library": PLACE.file}]
    other = {"mainThread": "1", "threads": {"1": {"fault": True, "stack": stack}}}
    expect_refused(json.dumps(sentry(PLACE) | other).encode())


def test_a_name_in_a_report_that_a_terminal_obeys() -> None:
    name = "/lib/\x1b[2Jx\u202ey\u200b\n::error::pwned.so"
    event: dict[str, Any] = sentry(PLACE)
    event["debug_meta"]["images"] = []
    for frame in event["exception"]["values"][0]["stacktrace"]["frames"]:
        frame["package"] = name
    kept = tuple(each for each in FRAME if each[0] != 6)
    reports = (json.dumps(event).encode(), b"\x08\x01" + encode(tombstone((*kept, (6, name)))))
    for data in reports:
        finding = look_up(parse_report(data, source="r"), [PROGRAM])
        assert finding.cause is CrashCause.UNKNOWN
        assert finding.text.isprintable()
    event["exception"]["values"][0]["stacktrace"]["frames"][-1]["instruction_addr"] = name
    with pytest.raises(InputError) as refused:
        parse_report(json.dumps(event).encode(), source="r")
    assert refused.value.message.isprintable()


@pytest.mark.parametrize(
    "part",
    ["#0 0x1 in a ", "(", "a(", "[12] ", " in ", "pc 1 ", "/a", "Module a ", "x[1]: trap a ip:1 "],
)
def test_a_line_of_a_frame_that_takes_long(part: str) -> None:
    line = part * (2000 // len(part))
    started = time.monotonic()
    text = "\n".join([f"#00 pc 1 {line}", line, f"#0  0x1 in {line}", f"x[1]: trap {line}"] * 20)
    with suppress(InputError):
        parse_report(text.encode(), source="r")
    assert time.monotonic() - started < _SECONDS
