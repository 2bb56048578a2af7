"""Reads the line that Linux writes when a signal ends a program on x86, with its mapping. Pure.

`traps: app[4711] trap int3 ip:55d0c0de1234 sp:7ffc0 error:0 in app[55d0c0de0000+2000]`; newer ones
have the place in the file first: `in app[1234,55d0c0de0000+2000]` (print_vma_addr in mm/memory.c).
"""

import re
from collections.abc import Mapping

from megtrim.libs.util.value import Value
from megtrim.ship.crashes.frames import CrashFrame, MappedFile

_HEX = r"[0-9a-f]{1,16}"
_LINE = re.compile(
    r"(?:.*[:\]] )?(?:traps: )?(?P<name>\S[^\[\]]{0,15})\[\d{1,10}\]:? "
    rf"(?:trap (?P<trap>[a-z0-9 ]{{1,40}}) ip:(?P<ip>{_HEX}) sp:{_HEX} error:{_HEX}"
    rf"|(?P<fault>segfault|general protection(?: fault)?)(?: at {_HEX})? "
    rf"ip[ :](?P<ip2>{_HEX}) sp[ :]{_HEX} error[ :]{_HEX})"
    rf"(?: in (?P<file>[^\s\[\]]+)\[(?:(?P<at>{_HEX}),)?(?P<start>{_HEX})\+(?P<size>{_HEX})\])?"
    r"(?: likely on CPU .*)?",
    re.ASCII,
)
_SIGNALS: Mapping[str, int] = {
    "int3": 5,
    "invalid opcode": 4,
    "divide error": 8,
    "stack segment": 7,
    "general protection": 11,
}


class KernelLine(Value):
    signal: int | None
    frame: CrashFrame
    mapping: MappedFile | None


def read_kernel_line(line: str) -> KernelLine | None:
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    pc = int(found["ip"] or found["ip2"], 16)
    signal = 11 if found["fault"] else _SIGNALS.get(found["trap"])
    file = found["file"] or ""
    frame = CrashFrame(pc=pc, file=file, absolute=True, number=0, text=file)
    if not file:
        return KernelLine(signal=signal, frame=frame, mapping=None)
    start = int(found["start"], 16)
    end = start + int(found["size"], 16)
    if not start <= pc < end:
        return None
    # The place of ip in the file says where the mapping begins there.
    offset = int(found["at"], 16) - (pc - start) if found["at"] else None
    mapping = MappedFile(start=start, end=end, offset=offset, file=file, of_code=offset is None)
    return KernelLine(signal=signal, frame=frame, mapping=mapping)
