"""Reads tombstones in protobuf, which Android 12 and later write and hand to apps. Pure.

Of the process that crashed: the signal, frames and registers of the thread, and what was mapped.
The numbers of fields are those of AOSP's system/core/debuggerd/proto/tombstone.proto:
https://android.googlesource.com/platform/system/core/+/refs/heads/main/debuggerd/proto/tombstone.proto
"""

from typing import Final

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.build_ids import plain_id
from megtrim.ship.crashes.frames import (
    CrashFrame,
    MappedFile,
    is_clean_path,
    memory_name,
    printable,
)
from megtrim.ship.crashes.protobuf import Message, WireError
from megtrim.ship.crashes.report_values import (
    ELSEWHERE,
    NO_REGISTERS,
    SENT,
    CrashReport,
)

_HINT = (
    "get it again (`adb bugreport`, or ApplicationExitInfo), or give it as text: `pbtombstone FILE`"
)
_TID = 6
_SIGNAL = 10
_THREADS = 16
_MAPPINGS = 17
_ENTRY_KEY = 1
_ENTRY_VALUE = 2
_THREAD_ID = 1
_THREAD_REGISTERS = 3
_THREAD_FRAMES = 4
_THREAD_FIELDS = frozenset(range(1, 10))
_REGISTER_NAME = 1
_REGISTER_VALUE = 2
_REL_PC = 1
_PC = 2
_FILE = 6
_FILE_OFFSET = 7
_FRAME_ID = 8
_FRAME_FIELDS = frozenset(range(1, 9))
_SIGNAL_NUMBER = 1
_SIGNAL_CODE = 3
_FIRST = 1
_END = 2
_OFFSET = 3
_EXECUTE = 6
_NAME = 7
_MAPPING_ID = 8
_MOST_THREADS = 65_536
_MOST_FRAMES = 4096
_MOST_REGISTERS = 1024
_MOST_MAPPINGS = 100_000
_MOST_SHOWN_FRAMES = 256
_PC_NAMES: Final = frozenset({"pc", "rip", "eip"})
_CALLER_NAMES: Final = frozenset({"lr", "x30", "r30"})
_PAGE_BYTES = 4096
_SIGN = 1 << 63


def parse_tombstone(data: bytes, *, source: str) -> CrashReport:
    """Parse a tombstone. Raises InputError for what is none, or has no thread that crashed."""
    try:
        return _read_tombstone(Message(data))
    except WireError as error:
        msg = f"{source}: found neither text nor a tombstone in protobuf: {error}"
        raise InputError(msg, hint=_HINT) from None


def _read_tombstone(tombstone: Message) -> CrashReport:
    thread = _find_thread(tombstone)
    signals = tombstone.messages(_SIGNAL, most=1)
    if not signals:
        msg = f"it has no signal (field {_SIGNAL})"
        raise WireError(msg)
    registers = _read_registers(thread)
    pc = _find_register(registers, _PC_NAMES)
    frames = _read_frames(thread)
    sent = signals[0].number(_SIGNAL_CODE) >= _SIGN
    doubts = []
    if sent and signals[0].number(_SIGNAL_NUMBER) in (4, 5):
        doubts.append(SENT)
    if pc is None:
        doubts.append(NO_REGISTERS)
    elif pc != frames[0].address:
        doubts.append(ELSEWHERE)
    mappings = tombstone.messages(_MAPPINGS, most=_MOST_MAPPINGS)
    return CrashReport(
        signal=signals[0].number(_SIGNAL_NUMBER) or None,
        frames=frames,
        mappings=tuple(_read_mapping(each) for each in mappings),
        doubts=tuple(doubts),
        caller=_find_register(registers, _CALLER_NAMES),
    )


def _find_thread(tombstone: Message) -> Message:
    tid = tombstone.number(_TID)
    for entry in tombstone.messages(_THREADS, most=_MOST_THREADS):
        if entry.number(_ENTRY_KEY) != tid:
            continue
        threads = entry.messages(_ENTRY_VALUE, most=1)
        if threads and threads[0].number(_THREAD_ID) in (0, tid):
            _expect_known(threads[0], _THREAD_FIELDS, "the thread that crashed")
            return threads[0]
    msg = f"the thread that crashed, {tid} (field {_TID}), is not among its threads"
    raise WireError(msg)


def _expect_known(message: Message, known: frozenset[int], what: str) -> None:
    """Refuse fields that the schema does not have: what they say of the place is not known."""
    unknown = message.numbers() - known
    if unknown:
        msg = f"{what} has the field {min(unknown)}, which is not known here"
        raise WireError(msg)


def _read_registers(thread: Message) -> dict[str, int]:
    registers = thread.messages(_THREAD_REGISTERS, most=_MOST_REGISTERS)
    return {each.text(_REGISTER_NAME): each.number(_REGISTER_VALUE) for each in registers}


def _find_register(registers: dict[str, int], names: frozenset[str]) -> int | None:
    return next((value for name, value in registers.items() if name in names), None)


def _read_frames(thread: Message) -> tuple[CrashFrame, ...]:
    messages = thread.messages(_THREAD_FRAMES, most=_MOST_FRAMES)[:_MOST_SHOWN_FRAMES]
    if not messages:
        msg = f"the thread that crashed has no frames (field {_THREAD_FRAMES})"
        raise WireError(msg)
    frames = tuple(_read_frame(number, each) for number, each in enumerate(messages))
    first = frames[0]
    if first.file and ((first.address or 0) - first.pc) % _PAGE_BYTES:
        msg = f"the pc of its first frame (field {_PC}) and rel_pc (field {_REL_PC}) do not agree"
        raise WireError(msg)
    return frames


def _read_frame(number: int, frame: Message) -> CrashFrame:
    _expect_known(frame, _FRAME_FIELDS, f"frame {number}")
    name = printable(frame.text(_FILE))
    address = frame.number(_PC)
    if not address:
        msg = f"frame {number} has no pc (field {_PC})"
        raise WireError(msg)
    memory = memory_name(name) if name else "<anonymous>"
    return CrashFrame(
        pc=address if memory else frame.number(_REL_PC),
        file="" if memory else name,
        build_id=plain_id(frame.text(_FRAME_ID)),
        offset=frame.number(_FILE_OFFSET),
        absolute=bool(memory),
        number=number,
        text=name,
        whole=bool(memory) or is_clean_path(name),
        address=address,
        memory=memory,
    )


def _read_mapping(mapping: Message) -> MappedFile:
    return MappedFile(
        start=mapping.number(_FIRST),
        end=mapping.number(_END),
        offset=mapping.number(_OFFSET),
        file=printable(mapping.text(_NAME)),
        build_id=plain_id(mapping.text(_MAPPING_ID)),
        executable=bool(mapping.number(_EXECUTE)),
    )
