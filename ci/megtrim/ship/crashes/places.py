"""Where in a program a frame is, and of which file: by itself, or by what the report has mapped.

Deferred functions are in memory of no file until their own file is there. An address in it is one
of the program once it is known where the program was loaded. Pure.
"""

import re
from collections.abc import Iterable, Iterator

from megtrim.libs.elf.layout import X86_64
from megtrim.libs.util.value import Value
from megtrim.ship.crashes.build_ids import is_part
from megtrim.ship.crashes.frames import CrashFrame, MappedFile, memory_name
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report_values import CrashReport

NO_NAME = "memory without a name"
PAGE_BYTES = 4096
"""The smallest page: a loader moves a program by whole ones."""
_PAGES_BYTES = (PAGE_BYTES, 4 * PAGE_BYTES, 16 * PAGE_BYTES)
"""All that kernels use, for files whose segments are aligned to them: a mapping begins with one."""
_APK = (".apk", "!")
_CALL_BYTES = (0, 1, 2, 4)
"""By how much unwinders put a caller's address before the one to which its call returns."""


class CrashSite(Value):
    addresses: tuple[int, ...]
    """Sorted; more than one if the report does not decide between them."""
    why_several: str = ""


def find_site(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> CrashSite:
    if frame.memory:
        return CrashSite(addresses=())
    if frame.within:
        return CrashSite(addresses=(frame.pc + program.first_address,))
    if not frame.absolute:
        return _find_in_file(frame, program)
    mapping = _mapping_at(frame, report)
    if mapping is not None:
        return _locate(frame.pc, mapping, program)
    why = "the report does not say where the program was loaded: these have the place in a page"
    if program.is_fixed or program.word(frame.pc, 1) or program.table.at(frame.pc):
        sure = program.is_fixed or not frame.file
        return CrashSite(addresses=(frame.pc,), why_several="" if sure else why)
    same = tuple(trap for trap in program.traps if not (trap - frame.pc) % PAGE_BYTES)
    return CrashSite(addresses=same, why_several=why)


def locate_file(frame: CrashFrame, report: CrashReport) -> tuple[str, frozenset[str]]:
    """Return file and build ids at a frame: what it says itself, or else lists of the report."""
    mapping = _mapping_at(frame, report) if frame.absolute else None
    file = frame.file
    if not file and mapping is not None:
        file = mapping.file
    if frame.build_id:
        return file, frozenset({frame.build_id})
    if not file:
        return file, frozenset()
    if mapping is not None and mapping.build_id:
        return file, frozenset({mapping.build_id})
    named = [each for each in report.mappings if each.build_id]
    same_path = {each.build_id for each in named if each.file == file}
    if same_path:
        return file, frozenset(same_path)
    # Where both are paths, they are two files.
    bare = [each for each in named if "/" not in file or "/" not in each.file]
    same_name = {each.build_id for each in bare if file_name(each.file) == file_name(file)}
    return file, frozenset(same_name)


def file_name(path: str) -> str:
    return re.split(r"[/!]", path)[-1]


def find_memory(frame: CrashFrame, report: CrashReport) -> str:
    """Return what the memory is called if a frame is in memory of no file; otherwise nothing."""
    if frame.memory:
        return frame.memory
    if not frame.absolute or frame.file:
        return ""
    for mapping in report.mappings:
        if mapping.offset is not None and mapping.start <= frame.pc < mapping.end:
            if not mapping.file:
                return NO_NAME
            return memory_name(mapping.file)
    return ""


def find_loads(report: CrashReport, program: TrimmedProgram) -> dict[int, bool]:
    """Return where the program was loaded, by what the report says, and whether a build id says so.

    That is what an address of the process has more than the one of the program. More than one: the
    report contradicts itself.
    """
    found: dict[int, bool] = {}
    for load, sure in (*_loads_of_mappings(report, program), *_loads_of_frames(report, program)):
        found[load] = found.get(load, False) or sure
    surest = [load for load, sure in found.items() if sure]
    return dict.fromkeys(surest, True) if surest else found


def is_program_of(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> bool | None:
    """Return whether a frame is in a program; None: perhaps, by its name alone."""
    file, ids = locate_file(frame, report)
    if ids:
        return any(is_part(each, program.build_id) for each in ids)
    return None if file_name(file) == program.name else False


def _loads_of_mappings(report: CrashReport, program: TrimmedProgram) -> Iterator[tuple[int, bool]]:
    packed: list[MappedFile] = []
    for mapping in report.mappings:
        if not mapping.end or memory_name(mapping.file):
            continue
        sure = is_part(mapping.build_id, program.build_id) if mapping.build_id else False
        named = not mapping.build_id and file_name(mapping.file) == program.name
        if not sure and not named:
            continue
        if mapping.offset is None and not mapping.of_code:
            yield mapping.start - program.first_address, sure
        elif any(mark in mapping.file for mark in _APK):
            packed.append(mapping)
        elif mapping.executable and mapping.offset is not None:
            size = mapping.end - mapping.start
            for each in program.code:
                if mapping.offset <= each.offset < mapping.offset + size:
                    moved = each.offset - mapping.offset
                    yield mapping.start + moved - each.address, sure
    # The first of several mappings of one file in an APK is that of its beginning.
    if len(packed) > 1 and not any(each.executable for each in packed[:1]):
        first = min(packed, key=lambda each: each.start)
        yield first.start - program.first_address, bool(first.build_id)


def _loads_of_frames(report: CrashReport, program: TrimmedProgram) -> Iterator[tuple[int, bool]]:
    for number, frame in enumerate(report.frames):
        if frame.memory or frame.absolute or not frame.file:
            continue
        its = is_program_of(frame, report, program)
        if its is False:
            continue
        pc = find_site(frame, report, program).addresses[0]
        if frame.address is not None:
            if not (frame.address - pc) % PAGE_BYTES:
                yield frame.address - pc, bool(its)
        elif number == 1 and report.caller is not None:
            # In Thumb code, one bit says so.
            moved = [(report.caller & ~1) - before - pc for before in _CALL_BYTES]
            loads = [each for each in moved if each > 0 and not each % PAGE_BYTES]
            yield from ((each, bool(its)) for each in loads)


def _find_in_file(frame: CrashFrame, program: TrimmedProgram) -> CrashSite:
    if not frame.offset or frame.build_id:
        return CrashSite(addresses=(frame.pc,))
    # Older reports count from the mapping, newer ones from the beginning of the ELF file.
    other = program.address_of(frame.pc + frame.offset)
    why = "an older report may count from the mapping, or from the file"
    return _several([frame.pc] if other is None else [frame.pc, other], why)


def _mapping_at(frame: CrashFrame, report: CrashReport) -> MappedFile | None:
    """Return what is mapped at a frame: of files whose end is not known, the nearest one."""
    found = [
        mapping
        for mapping in report.mappings
        if mapping.executable
        and mapping.start <= frame.pc < mapping.end
        and (mapping.offset is not None or file_name(frame.file) in ("", file_name(mapping.file)))
    ]
    return max(found, key=lambda each: (each.offset is not None, each.start), default=None)


def _locate(pc: int, mapping: MappedFile, program: TrimmedProgram) -> CrashSite:
    within = pc - mapping.start
    if mapping.of_code:
        return _locate_in_code(within, program)
    if mapping.offset is None:
        return CrashSite(addresses=(within + program.first_address,))
    if any(mark in mapping.file for mark in _APK):
        return _locate_in_code(within, program)
    address = program.address_of(mapping.offset + within)
    return CrashSite(addresses=() if address is None else (address,))


def _locate_in_code(within: int, program: TrimmedProgram) -> CrashSite:
    """The file begins somewhere in the APK: a mapping begins with the page of a segment."""
    pages = _PAGES_BYTES[:1] if program.machine == X86_64 else _PAGES_BYTES
    starts = {
        each.address - each.address % page
        for each in program.code
        for page in pages
        if page <= max(each.alignment, PAGE_BYTES)
    }
    why = "the report does not say which part of the file the mapping has"
    return _several((start + within for start in starts), why)


def _several(addresses: Iterable[int], why: str) -> CrashSite:
    found = tuple(sorted({*addresses}))
    return CrashSite(addresses=found, why_several=why if len(found) > 1 else "")
