"""What `minidump_stackwalk -m` prints: fields between bars, one record to a line. Pure.

`Crash|REASON|ADDRESS|THREAD`, `Module|NAME|VERSION|DEBUG FILE|DEBUG ID|FIRST|LAST|MAIN`, and the
frames `THREAD|FRAME|MODULE|FUNCTION|FILE|LINE|OFFSET`, whose offset is that of the module only if
no function is named.
"""

import re

from megtrim.ship.crashes.build_ids import plain_id
from megtrim.ship.crashes.frames import CrashFrame, MappedFile, is_clean_path
from megtrim.ship.crashes.report_values import MAX_FRAMES, SIGNALS, CrashReport

_HEX = r"[0-9a-f]{1,16}"
_FLAGS = re.ASCII | re.IGNORECASE
_CRASH = re.compile(rf"Crash\|(?P<reason>[^|]*)\|(?:0x{_HEX})?\|(?P<thread>\d{{1,6}})", _FLAGS)
_MODULE = re.compile(
    r"Module\|(?P<name>[^|]+)\|[^|]*\|[^|]*\|(?P<id>[0-9a-f-]*)"
    rf"\|0x(?P<start>{_HEX})\|0x(?P<end>{_HEX})\|[01]",
    _FLAGS,
)
_FRAME = re.compile(
    r"(?P<thread>\d{1,6})\|(?P<number>\d{1,4})\|(?P<module>[^|]*)\|(?P<function>[^|]*)"
    rf"\|[^|]*\|\d*\|0x(?P<offset>{_HEX})",
    _FLAGS,
)
_ANY_FRAME = re.compile(r"(?P<thread>\d{1,6})\|\d{1,4}\|")
_MOST_MODULES = 20_000


def is_machine_text(lines: list[str]) -> bool:
    return any(line.startswith("Crash|") for line in lines)


def parse_machine_text(lines: list[str]) -> CrashReport | str:
    """Return the report, or what in it was not understood."""
    crashes = [line for line in lines if line.startswith("Crash|")]
    crash = _CRASH.fullmatch(crashes[0])
    if crash is None or len(crashes) > 1:
        return crashes[-1]
    frames: list[CrashFrame] = []
    modules: list[MappedFile] = []
    for line in lines:
        if line.startswith("Module|"):
            module = _read_module(line)
            if module is None:
                return line
            modules.append(module)
            continue
        like = _ANY_FRAME.match(line)
        if like is None or like["thread"] != crash["thread"]:
            continue
        frame = _read_frame(line)
        if frame is None or (frame.number or 0) != len(frames):
            return line
        frames.append(frame)
    if not frames or not frames[0].whole:
        return f"no frame 0 of thread {crash['thread']} with its module and offset"
    return CrashReport(
        signal=SIGNALS.get(crash["reason"].partition(" ")[0].upper()),
        frames=tuple(frames[:MAX_FRAMES]),
        mappings=tuple(modules[:_MOST_MODULES]),
    )


def _read_module(line: str) -> MappedFile | None:
    found = _MODULE.fullmatch(line)
    if found is None:
        return None
    return MappedFile(
        start=int(found["start"], 16),
        end=int(found["end"], 16) + 1,
        offset=None,
        file=found["name"],
        build_id=plain_id(found["id"]),
    )


def _read_frame(line: str) -> CrashFrame | None:
    found = _FRAME.fullmatch(line)
    if found is None:
        return None
    of_module = found["module"] != "" and not found["function"]
    return CrashFrame(
        pc=int(found["offset"], 16),
        file=found["module"],
        number=int(found["number"]),
        text=line,
        whole=of_module and is_clean_path(found["module"]),
        within=True,
    )
