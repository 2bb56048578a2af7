"""Reads the JSON documents of crash services: each by its own schema, and nothing is guessed.

A document is of a service if it has the keys by which the service's schema is told from others.
Then what says where it crashed is there as the schema has it, or the document is refused. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from megtrim.ship.crashes.build_ids import is_part, plain_id
from megtrim.ship.crashes.frames import CrashFrame, MappedFile, is_clean_path, printable
from megtrim.ship.crashes.report_values import ELSEWHERE, MAX_FRAMES, OUTSIDE, SIGNALS, CrashReport

_HEX = re.compile(r"0x([0-9a-f]{1,16})", re.ASCII | re.IGNORECASE)
_DECIMAL = re.compile(r"[0-9]{1,20}", re.ASCII)
_LARGEST = (1 << 64) - 1
_PAGE_BYTES = 4096
_NO_ID = re.compile(r"[0-]*")
_MOST_ROWS = 100
_NATIVE_MECHANISMS = frozenset({"signalhandler", "minidump", "signal", "tombstone"})

Json = Mapping[str, Any]


class ShapeError(ValueError):
    """A document of a service lacks something of the service's schema, or contradicts itself."""


def read_sentry(event: Json) -> CrashReport:
    """Sentry's event: https://develop.sentry.dev/sdk/data-model/event-payloads/."""
    thrown = _find_thrown(event["exception"])
    stack = thrown.get("stacktrace")
    if stack is None:
        threads = _list(event.get("threads"), "threads")
        stack = _only([e for e in threads if e.get("crashed") is True], "crashed thread")
        stack = stack.get("stacktrace")
    stack = _object(stack, "stacktrace")
    images = _read_sentry_images(event)
    listed = _list(stack.get("frames"), "stacktrace.frames")
    if not listed:
        msg = "stacktrace.frames is empty"
        raise ShapeError(msg)
    frames = [_read_sentry_frame(each, images) for each in reversed(listed[-MAX_FRAMES:])]
    registers = stack.get("registers")
    doubts: tuple[str, ...] = ()
    if isinstance(registers, dict):
        known = [registers[name] for name in ("pc", "rip", "eip") if name in registers]
        if known and _number(known[0], "registers") != frames[0].pc:
            doubts = (ELSEWHERE,)
    return CrashReport(
        signal=_find_sentry_signal(thrown), frames=tuple(frames), mappings=images, doubts=doubts
    )


def _find_thrown(exception: object) -> Json:
    values = exception.get("values") if isinstance(exception, dict) else exception
    thrown = _list(values, "exception.values")
    if len(thrown) > 1:
        thrown = [each for each in thrown if _mechanism(each).get("type") in _NATIVE_MECHANISMS]
    return _only(thrown, "exception of a signal")


def _mechanism(thrown: Json) -> Json:
    found = thrown.get("mechanism")
    return found if isinstance(found, dict) else {}


def _find_sentry_signal(thrown: Json) -> int | None:
    named = SIGNALS.get(str(thrown.get("type", "")).upper())
    meta = _mechanism(thrown).get("meta")
    signal = meta.get("signal") if isinstance(meta, dict) else None
    if not isinstance(signal, dict) or "number" not in signal:
        return named
    number = _number(signal["number"], "mechanism.meta.signal.number")
    if named is not None and named != number:
        msg = f"mechanism.meta.signal.number is {number}, and the type is that of {named}"
        raise ShapeError(msg)
    return number


def _read_sentry_images(event: Json) -> tuple[MappedFile, ...]:
    meta = event.get("debug_meta")
    listed = meta.get("images") if isinstance(meta, dict) else None
    found = []
    for each in _list(listed, "debug_meta.images") if listed is not None else ():
        if each.get("type", "elf") != "elf":
            continue
        start = _number(each.get("image_addr"), "image_addr")
        size = _number(each.get("image_size", 0), "image_size")
        ids = [plain_id(str(each.get(key) or "")) for key in ("code_id", "debug_id")]
        code_id, debug_id = ["" if _NO_ID.fullmatch(id_) else id_ for id_ in ids]
        _expect_hex(code_id or debug_id, "code_id")
        if code_id and debug_id and not is_part(debug_id[:32], code_id):
            msg = f"code_id {code_id} and debug_id {debug_id} belong to two files"
            raise ShapeError(msg)
        found.append(
            MappedFile(
                start=start,
                end=start + size if size else _LARGEST,
                offset=None,
                file=_text(each, "code_file"),
                build_id=code_id or debug_id,
            )
        )
    return tuple(found)


def _read_sentry_frame(frame: Json, images: Sequence[MappedFile]) -> CrashFrame:
    if frame.get("addr_mode") not in (None, "", "abs"):
        msg = f"addr_mode is {str(frame['addr_mode'])[:40]!r}, expected an absolute address"
        raise ShapeError(msg)
    pc = _number(frame.get("instruction_addr"), "instruction_addr")
    holding = [each for each in images if each.start <= pc < each.end]
    image = max(holding, key=lambda each: each.start, default=None)
    start = frame.get("image_addr")
    if start is not None and image is not None and image.start != _number(start, "image_addr"):
        msg = "image_addr of a frame is not that of the image in which it is"
        raise ShapeError(msg)
    file = _text(frame, "package")
    if image is not None:
        if file and _base(file) != _base(image.file):
            msg = f"package of a frame is {_base(file)[:80]!r}, and it is in {image.file[:80]!r}"
            raise ShapeError(msg)
        file = image.file or file
    return _absolute(pc, file)


def read_bugsnag(event: Json) -> CrashReport:
    """Bugsnag's event of the NDK: https://bugsnagerrorreportingapi.docs.apiary.io."""
    events = event.get("events")
    if events is not None:
        event = _only(_list(events, "events"), "event")
    thrown = _only(_list(event.get("exceptions"), "exceptions"), "exception")
    listed = _list(thrown.get("stacktrace"), "stacktrace")[:MAX_FRAMES]
    frames = [_read_bugsnag_frame(number, each) for number, each in enumerate(listed)]
    if not frames or listed[0].get("isPC") is not True:
        msg = "the first frame of stacktrace is not said to be that of the crash (isPC)"
        raise ShapeError(msg)
    signal = SIGNALS.get(str(thrown.get("errorClass", "")).upper())
    return CrashReport(signal=signal, frames=tuple(frames))


def _read_bugsnag_frame(number: int, frame: Json) -> CrashFrame:
    """``lineNumber`` is the address in the file, for there is no line of a source."""
    address = _number(frame.get("frameAddress"), "frameAddress")
    pc = _number(frame.get("lineNumber"), "lineNumber")
    file = _text(frame, "file")
    if not number and (address - pc) % _PAGE_BYTES:
        msg = "frameAddress and lineNumber of a frame belong to different places"
        raise ShapeError(msg)
    build_id = plain_id(str(frame.get("codeIdentifier") or ""))
    _expect_hex(build_id, "codeIdentifier")
    if not file:
        return _absolute(address, "")
    return CrashFrame(
        pc=pc,
        file=file,
        build_id=build_id,
        number=number,
        text=file,
        whole=is_clean_path(file),
        address=address,
    )


def read_crashlytics(row: Json) -> CrashReport:
    """A row of Crashlytics: https://firebase.google.com/docs/crashlytics/bigquery-dataset-schema."""
    threads = _list(row.get("threads"), "threads")
    thread = _only([each for each in threads if each.get("crashed") is True], "crashed thread")
    listed = _list(thread.get("frames"), "threads.frames")[:MAX_FRAMES]
    if not listed:
        msg = "the thread that crashed has no frames"
        raise ShapeError(msg)
    frames = []
    for number, each in enumerate(listed):
        file = _text(each, "library")
        pc = _number(each.get("offset"), "offset", decimal=True)
        address = _number(each.get("address"), "address", decimal=True)
        if not number and (address - pc) % _PAGE_BYTES:
            msg = "offset and address of a frame belong to different places"
            raise ShapeError(msg)
        frames.append(
            CrashFrame(
                pc=pc,
                file=file,
                number=number,
                text=file,
                whole=is_clean_path(file),
                within=True,
            )
        )
    signal = SIGNALS.get(str(thread.get("signal_name") or "").upper())
    return CrashReport(signal=signal, frames=tuple(frames))


def read_backtrace(report: Json) -> CrashReport:
    """Backtrace's report: https://api.backtrace.io, Submit Crash."""
    threads = _object(report["threads"], "threads")
    main = str(report["mainThread"])
    at_fault = [key for key, each in threads.items() if _object(each, key).get("fault") is True]
    if len(at_fault) != 1 or at_fault[0] != main:
        msg = f"the thread at fault is not mainThread, {main[:40]!r}"
        raise ShapeError(msg)
    listed = _list(threads[main].get("stack"), "stack")[:MAX_FRAMES]
    if not listed:
        msg = f"the stack of thread {main[:40]} is empty"
        raise ShapeError(msg)
    frames = [
        _absolute(_number(each.get("address"), "address"), _text(each, "library"))
        for each in listed
    ]
    named = _strings(report.get("classifiers"))
    signals = {SIGNALS[each.upper()] for each in named if each.upper() in SIGNALS}
    signal = signals.pop() if len(signals) == 1 else None
    return CrashReport(signal=signal, frames=tuple(frames))


def read_minidump(report: Json) -> CrashReport:
    """What `minidump-stackwalk --json` of rust-minidump writes, and Socorro keeps."""
    crash = _object(report["crash_info"], "crash_info")
    thread = _object(report["crashing_thread"], "crashing_thread")
    modules = tuple(_read_module(each) for each in _list(report["modules"], "modules"))
    listed = _list(thread.get("frames"), "crashing_thread.frames")[:MAX_FRAMES]
    if not listed or listed[0].get("trust") != "context" or listed[0].get("frame") != 0:
        msg = "the first frame of crashing_thread is not that of the crash (frame 0 by its context)"
        raise ShapeError(msg)
    frames = []
    for each in listed:
        pc = _number(each.get("offset"), "offset")
        file = _text(each, "module")
        if file:
            offset = _number(each.get("module_offset"), "module_offset")
            bases = {module.start for module in modules if _base(module.file) == _base(file)}
            if pc - offset not in bases:
                msg = f"module_offset of a frame is not that of {file[:80]!r}"
                raise ShapeError(msg)
        frames.append(_absolute(pc, file))
    signal = SIGNALS.get(str(crash.get("type", "")).partition(" ")[0].upper())
    return CrashReport(signal=signal, frames=tuple(frames), mappings=modules)


def _read_module(module: Json) -> MappedFile:
    build_id = plain_id(str(module.get("code_id") or module.get("debug_id") or ""))
    _expect_hex(build_id, "code_id")
    return MappedFile(
        start=_number(module.get("base_addr"), "base_addr"),
        end=_number(module.get("end_addr"), "end_addr"),
        offset=None,
        file=_text(module, "filename"),
        build_id=build_id,
    )


SERVICES: Final[Mapping[str, tuple[frozenset[str], Callable[[Json], CrashReport]]]] = {
    "Sentry": (frozenset({"exception", "event_id"}), read_sentry),
    "Sentry, without an id": (frozenset({"exception", "debug_meta"}), read_sentry),
    "Bugsnag": (frozenset({"exceptions", "severity"}), read_bugsnag),
    "Bugsnag, as it is sent": (frozenset({"events", "notifier"}), read_bugsnag),
    "Crashlytics": (frozenset({"threads", "issue_id"}), read_crashlytics),
    "Backtrace": (frozenset({"threads", "mainThread"}), read_backtrace),
    "minidump-stackwalk": (frozenset({"crash_info", "crashing_thread", "modules"}), read_minidump),
}
"""By its name: the keys by which a document of the service is known, and what reads it."""


def read_service(document: object) -> CrashReport | None:
    """Return None for a document of no service known here. Raises ShapeError."""
    rows = document if isinstance(document, list) else [document]
    found = [report for row in rows[:_MOST_ROWS] if (report := _read_one(row)) is not None]
    if not found:
        return None
    if len(found) < len(rows):
        msg = f"of its {len(rows)} rows {len(found)} are of a service known here"
        raise ShapeError(msg)
    first, *later = found
    return CrashReport(
        signal=first.signal,
        frames=first.frames,
        mappings=first.mappings,
        doubts=first.doubts,
        later=tuple(later),
    )


def _read_one(document: object) -> CrashReport | None:
    if not isinstance(document, dict):
        return None
    fitting = [name for name, (keys, _) in SERVICES.items() if keys <= document.keys()]
    if not fitting:
        return None
    services = sorted({name.partition(",")[0] for name in fitting})
    if len(services) > 1:
        msg = f"it has the keys of {' and '.join(services)}"
        raise ShapeError(msg)
    _, read = SERVICES[fitting[0]]
    try:
        return read(document)
    except ShapeError as error:
        msg = f"a report of {services[0]}: {error}"
        raise ShapeError(msg) from None


def _absolute(pc: int, file: str) -> CrashFrame:
    return CrashFrame(
        pc=pc,
        file=file,
        absolute=True,
        text=file,
        whole=not file or is_clean_path(file),
        address=pc,
        memory="" if file else OUTSIDE,
    )


def _text(value: Json, key: str) -> str:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        msg = f"{key} is not text"
        raise ShapeError(msg)
    return printable(found or "")


def _base(file: str) -> str:
    return re.split(r"[/!]", file)[-1]


def _number(value: object, what: str, *, decimal: bool = False) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST:
        return value
    if isinstance(value, str):
        found = _HEX.fullmatch(value)
        if found is not None:
            return int(found[1], 16)
        if decimal and _DECIMAL.fullmatch(value):
            return int(value)
    msg = f"{what} is {str(value)[:40]!r}, expected an address"
    raise ShapeError(msg)


def _expect_hex(build_id: str, what: str) -> None:
    if re.fullmatch(r"[0-9a-f]{0,128}", build_id) is None:
        msg = f"{what} is {build_id[:40]!r}, expected a build id"
        raise ShapeError(msg)


def _list(value: object, what: str) -> list[Json]:
    if isinstance(value, dict) and isinstance(value.get("values"), list):
        value = value["values"]
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        msg = f"{what} is not there as a list of objects"
        raise ShapeError(msg)
    return value


def _object(value: object, what: str) -> Json:
    if not isinstance(value, dict):
        msg = f"{what[:40]} is not there as an object"
        raise ShapeError(msg)
    return value


def _only(found: Sequence[Json], what: str) -> Json:
    if len(found) != 1:
        msg = f"it has {len(found)} of what should be there once: {what}"
        raise ShapeError(msg)
    return found[0]


def _strings(value: object) -> Iterable[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
