"""Reports of crashes that are no lines of text: protobuf, and JSON as crash services export it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from support.crash_reports import FieldPlace

BASE = 0x7B00000000
OTHER = "/apex/com.android.runtime/lib64/bionic/libc.so"
OTHER_ID = "0a1b2c3d" * 5
OTHER_BASE = 0x7A00000000

Field = tuple[int, "int | str | bytes | Fields"]
Fields = tuple[Field, ...]


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def encode(fields: Fields) -> bytes:
    """Return a message of protobuf: a field with fields is a message within."""
    return b"".join(_encode_field(number, value) for number, value in fields)


def _encode_field(number: int, value: "int | str | bytes | Fields") -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value
    if isinstance(content, str):
        content = content.encode()
    if isinstance(content, tuple):
        content = encode(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def proto_frame(place: FieldPlace, pc: int) -> Fields:
    base = BASE if place.file != OTHER else OTHER_BASE
    return (
        (1, pc),
        (2, base + pc),
        (3, 0x7FD000),
        (4, "my::run(int)"),
        (5, 24),
        (6, place.file),
        (8, place.build_id),
    )


def proto_tombstone(place: FieldPlace) -> Fields:
    number, name = place.signal
    base = BASE if place.file != OTHER else OTHER_BASE
    registers = ((1, "x0"), (2, 1)), ((1, "lr"), (2, base + place.pc + 64))
    crashed: Fields = (
        (1, 4720),
        (2, "worker"),
        *((3, each) for each in registers),
        (3, ((1, "pc"), (2, base + place.pc))),
        (4, proto_frame(place, place.pc)),
        (4, proto_frame(place, place.pc + 64)),
    )
    other_frame: Fields = ((1, 0xDA4F8), (2, OTHER_BASE + 0xDA4F8), (6, OTHER), (8, OTHER_ID))
    other: Fields = ((1, 4711), (2, "main"), (4, other_frame))
    mapping: Fields = (
        (1, base),
        (2, base + 0x20000),
        (4, 1),
        (6, 1),
        (7, place.file),
        (8, place.build_id),
    )
    return (
        (1, 1),
        (2, "maker/model/board:14/UP1A.000000.000/1:user/release-keys"),
        (4, "2026-03-04 05:06:07+0800"),
        (5, 4711),
        (6, 4720),
        (7, 10234),
        (9, "com.example.camera"),
        (10, ((1, number), (2, name), (3, 1), (4, "TRAP_BRKPT"), (8, 1), (9, base + place.pc))),
        (16, ((1, 4711), (2, other))),
        (16, ((1, 4720), (2, crashed))),
        (17, mapping),
    )


def sentry(place: FieldPlace) -> dict[str, Any]:
    number, name = place.signal
    base = hex(BASE + place.program.first_address)
    frames = [
        {"package": OTHER, "instruction_addr": hex(OTHER_BASE + 0xE7CD8)},
        _sentry_frame(place, place.pc + 64),
        _sentry_frame(place, place.pc),
    ]
    signal = {"number": number, "name": name}
    mechanism = {"type": "signalhandler", "handled": False, "meta": {"signal": signal}}
    thrown = {
        "type": name,
        "value": "Trap",
        "mechanism": mechanism,
        "stacktrace": {"frames": frames, "registers": {"pc": hex(BASE + place.pc)}},
    }
    images = [
        _sentry_image(OTHER, OTHER_ID, hex(OTHER_BASE)) if place.file != OTHER else {"type": "jvm"},
        _sentry_image(place.file, place.build_id, base),
    ]
    return {
        "event_id": "0123456789abcdef0123456789abcdef",
        "platform": "native",
        "exception": {"values": [thrown]},
        "debug_meta": {"images": images},
    }


def sentry_threads(place: FieldPlace) -> dict[str, Any]:
    """Return an event whose stack is that of a thread."""
    event = sentry(place)
    stack = event["exception"]["values"][0].pop("stacktrace")
    other = {"frames": [{"package": OTHER, "instruction_addr": hex(OTHER_BASE + 0xDA4F8)}]}
    event["threads"] = {
        "values": [
            {"id": 1, "crashed": False, "stacktrace": other},
            {"id": 2, "crashed": True, "stacktrace": stack},
        ]
    }
    return event


def _sentry_frame(place: FieldPlace, pc: int) -> dict[str, Any]:
    return {
        "package": place.file,
        "image_addr": hex(BASE + place.program.first_address),
        "instruction_addr": hex(BASE + pc),
        "in_app": True,
    }


def _sentry_image(file: str, build_id: str, start: str) -> dict[str, Any]:
    return {
        "type": "elf",
        "code_id": build_id,
        "code_file": file,
        "image_addr": start,
        "image_size": 0x100000,
        "arch": "arm64",
    }


def bugsnag(place: FieldPlace) -> dict[str, Any]:
    frames: list[dict[str, Any]] = [
        {
            "frameAddress": hex(BASE + pc),
            "loadAddress": hex(BASE + 0x1000),
            "symbolAddress": hex(BASE + pc),
            "lineNumber": pc,
            "file": place.file,
            "method": "my::run(int)",
            "codeIdentifier": place.build_id,
        }
        for pc in (place.pc, place.pc + 64)
    ]
    frames[0]["isPC"] = True
    thrown = {"errorClass": place.signal[1], "message": "", "type": "c", "stacktrace": frames}
    return {"payloadVersion": "4", "exceptions": [thrown], "severity": "error"}


def bugsnag_sent(place: FieldPlace) -> dict[str, Any]:
    return {"apiKey": "0", "notifier": {"name": "Android"}, "events": [bugsnag(place)]}


def crashlytics(place: FieldPlace) -> dict[str, Any]:
    name = place.file.rpartition("/")[2]
    frames = [
        {
            "library": name,
            "offset": str(pc - place.program.first_address),
            "address": str(BASE + pc),
            "line": "0",
        }
        for pc in (place.pc, place.pc + 64)
    ]
    other = [{"library": "libc.so", "offset": "894200", "address": str(OTHER_BASE + 894200)}]
    return {
        "platform": "ANDROID",
        "bundle_identifier": "com.example.camera",
        "issue_id": "0123456789abcdef",
        "error_type": "FATAL",
        "threads": [
            {"crashed": False, "thread_name": "main", "frames": other},
            {"crashed": True, "signal_name": place.signal[1], "frames": frames},
        ],
    }


def backtrace(place: FieldPlace) -> dict[str, Any]:
    stack = [{"address": hex(BASE + pc), "library": place.file} for pc in (place.pc, place.pc + 64)]
    return {
        "uuid": "01234567-89ab-cdef-0123-456789abcdef",
        "lang": "C",
        "classifiers": [place.signal[1]],
        "mainThread": "2",
        "threads": {
            "1": {"name": "main", "fault": False, "stack": [{"address": hex(OTHER_BASE)}]},
            "2": {"name": "worker", "fault": True, "stack": stack},
        },
    }


def minidump(place: FieldPlace) -> dict[str, Any]:
    name = place.file.rpartition("/")[2]
    frames = [
        {
            "frame": number,
            "module": name,
            "module_offset": hex(pc - place.program.first_address),
            "offset": hex(BASE + pc),
            "trust": "scan" if number else "context",
        }
        for number, pc in enumerate((place.pc, place.pc + 64))
    ]
    module = {
        "filename": name,
        "code_id": place.build_id,
        "base_addr": hex(BASE + place.program.first_address),
        "end_addr": hex(BASE + 0x100000),
    }
    return {
        "status": "OK",
        "crash_info": {
            "type": f"{place.signal[1]} / TRAP_BRKPT",
            "address": hex(BASE + place.pc),
            "crashing_thread": 1,
        },
        "crashing_thread": {"threads_index": 1, "frames": frames},
        "modules": [module],
    }


DOCUMENTS = {
    "Sentry": sentry,
    "Sentry's threads": sentry_threads,
    "Bugsnag": bugsnag,
    "Bugsnag, as it is sent": bugsnag_sent,
    "Crashlytics": crashlytics,
    "Backtrace": backtrace,
    "minidump-stackwalk": minidump,
}
CERTAIN = frozenset(
    {"Sentry", "Sentry's threads", "Bugsnag", "Bugsnag, as it is sent", "minidump-stackwalk"}
)
"""They have build ids."""


def mutate_json(document: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield what is left with each key dropped, renamed, or null; reordered, cut, with CRLF."""
    for path in _paths(document, ()):
        where = "/".join(map(str, path))
        yield f"without {where}", _with(document, path, None)
        yield f"{where} renamed", _with(document, path, "renamed")
        yield f"{where} null", _with(document, path, "null")
        yield f"{where} of another file", _with(document, path, "other")
    whole = json.dumps(document)
    yield "reordered", json.dumps(_reorder(document)).encode()
    yield "with CRLF", json.dumps(document, indent=1).replace("\n", "\r\n").encode("utf-8-sig")
    yield "in lines", f"{whole}\n{whole}\n".encode()
    for share in range(1, 24):
        yield f"cut at {share}/24", whole[: len(whole) * share // 24].encode()


def _paths(value: object, at: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    entries: Sequence[tuple[str | int, object]] = ()
    if isinstance(value, dict):
        entries = tuple(value.items())
    elif isinstance(value, list):
        entries = tuple(enumerate(value))
    for key, each in entries:
        if isinstance(key, str):
            yield (*at, key)
        yield from _paths(each, (*at, key))


def _with(document: Mapping[str, Any], path: Sequence[str | int], how: str | None) -> bytes:
    copy = json.loads(json.dumps(document))
    holder = copy
    for key in path[:-1]:
        holder = holder[key]
    value = holder.pop(path[-1])
    if how == "renamed":
        holder[f"{path[-1]}X"] = value
    elif how == "null":
        holder[path[-1]] = None
    elif how == "other":
        holder[path[-1]] = "/system/lib64/libother.so" if isinstance(value, str) else value
    return json.dumps(copy).encode()


def _reorder(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reorder(each) for key, each in reversed(value.items())}
    return [_reorder(each) for each in value] if isinstance(value, list) else value


def mutate_proto(fields: Fields) -> Iterator[tuple[str, bytes]]:
    """Yield what is left with each field dropped, renumbered, or twice; reordered, and cut."""
    for path in _proto_paths(fields, ()):
        where = "/".join(map(str, path))
        yield f"without {where}", encode(_proto_with(fields, path, "drop"))
        yield f"{where} renumbered", encode(_proto_with(fields, path, "renumber"))
        yield f"{where} twice", encode(_proto_with(fields, path, "twice"))
        yield f"{where} of another file", encode(_proto_with(fields, path, "other"))
    whole = encode(fields)
    yield "reordered", encode(_proto_reorder(fields))
    for share in range(1, 24):
        yield f"cut at {share}/24", whole[: len(whole) * share // 24]


def _proto_paths(fields: Fields, at: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for place, (_, value) in enumerate(fields):
        yield (*at, place)
        if isinstance(value, tuple):
            yield from _proto_paths(value, (*at, place))


def _proto_with(fields: Fields, path: Sequence[int], how: str) -> Fields:
    place, *rest = path
    number, value = fields[place]
    changed: Fields
    if rest:
        assert isinstance(value, tuple)
        changed = ((number, _proto_with(value, rest, how)),)
    elif how == "renumber":
        changed = ((number + 40, value),)
    elif how == "twice":
        changed = ((number, value), (number, value))
    elif how == "other":
        changed = ((number, OTHER if isinstance(value, str) else value),)
    else:
        changed = ()
    return (*fields[:place], *changed, *fields[place + 1 :])


def _proto_reorder(fields: Fields) -> Fields:
    """Frames are an order of their own; of other fields none has one."""
    ordered = sorted(fields, key=lambda each: -each[0])
    return tuple(
        (number, _proto_reorder(value) if isinstance(value, tuple) else value)
        for number, value in ordered
    )
