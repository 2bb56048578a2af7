"""Where in a program a crash was: the addresses of its file that a report can mean.

A report names an address of the file, or one of the process, with or without the mappings. Where it
cannot be known which one is meant, all of them are returned. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import CrashFrame, CrashReport, MappedFile

_PAGE_BYTES = 4096
"""The smallest page: a loader moves a program by whole ones."""
_APK = (".apk", "!")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashSite:
    """Where in a program's file a crash was."""

    addresses: tuple[int, ...]
    """Sorted; more than one if the report does not decide between them."""
    why_several: str = ""


def find_site(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> CrashSite:
    """Return where in ``program`` a frame is."""
    if not frame.absolute:
        return _in_file(frame, program)
    mapping = _mapping_at(frame.pc, report)
    if mapping is not None:
        return CrashSite(addresses=_locate(frame.pc, mapping, program))
    if program.is_fixed or program.word(frame.pc, 1):
        return CrashSite(addresses=(frame.pc,))
    same = tuple(each for each in program.traps if not (each - frame.pc) % _PAGE_BYTES)
    why = "the report does not say where the program was loaded: these have the place in a page"
    return CrashSite(addresses=same, why_several=why)


def find_caller(report: CrashReport, site: int, program: TrimmedProgram) -> tuple[int, ...]:
    """Return the addresses that the crashed function may have been going to return to."""
    first, *others = report.frames
    found: set[int] = set()
    if report.caller is not None:
        pc = report.pc if report.pc is not None else first.pc if first.absolute else None
        if pc is not None:
            found.add(report.caller - pc + site)
    for each in others[:1]:
        if each.absolute and first.absolute:
            found.add(each.pc - first.pc + site)
        elif not each.absolute and each.file == first.file:
            found.add(each.pc)
    return tuple(sorted(at for at in found if program.word(at, 1)))


def _in_file(frame: CrashFrame, program: TrimmedProgram) -> CrashSite:
    if not frame.offset or frame.build_id:
        return CrashSite(addresses=(frame.pc,))
    # Older reports count from the mapping, newer ones from the beginning of the ELF file.
    other = program.address_of(frame.pc + frame.offset)
    both = sorted({frame.pc, *(() if other is None else (other,))})
    why = "an older report may count from the mapping, or from the file"
    return CrashSite(addresses=tuple(both), why_several=why if len(both) > 1 else "")


def mapped_file(frame: CrashFrame, report: CrashReport) -> tuple[str, str]:
    """Return file and build id at a frame, by the mappings if the frame does not name them."""
    mapping = _mapping_at(frame.pc, report) if frame.absolute else None
    if mapping is None:
        return frame.file, frame.build_id
    return frame.file or mapping.file, frame.build_id or mapping.build_id


def _mapping_at(address: int, report: CrashReport) -> MappedFile | None:
    return next((each for each in report.mappings if each.start <= address < each.end), None)


def _locate(pc: int, mapping: MappedFile, program: TrimmedProgram) -> tuple[int, ...]:
    """Return the file's addresses of what a mapping has at ``pc``."""
    within = pc - mapping.start
    if mapping.offset is None or any(mark in mapping.file for mark in _APK):
        # The file begins somewhere in the APK: a mapping begins with the page of a segment.
        starts = (each.address - each.offset % _PAGE_BYTES for each in program.code)
        return tuple(sorted({start + within for start in starts}))
    address = program.address_of(mapping.offset + within)
    return () if address is None else (address,)
