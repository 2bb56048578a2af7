"""Where in a program a crash was: the addresses of its file that a report can mean.

A report names an address of the file, or one of the process, with or without the mappings. Where it
cannot be known which one is meant, all of them are returned. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import CrashFrame, CrashReport, MappedFile

_PAGE_BYTES = 4096
"""The smallest page: a loader moves a program by whole ones."""
_PAGES_BYTES = (_PAGE_BYTES, 4 * _PAGE_BYTES, 16 * _PAGE_BYTES)
"""All that kernels use, for files whose segments are aligned to them: a mapping begins with one."""
_ARM_CALL_BYTES, _X86_CALL_BYTES = 4, 5
"""Of a direct call: how far before the address that it returns to it is."""
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
        return _locate(frame.pc, mapping, program)
    if program.is_fixed or program.word(frame.pc, 1):
        return CrashSite(addresses=(frame.pc,))
    same = tuple(each for each in program.traps if not (each - frame.pc) % _PAGE_BYTES)
    why = "the report does not say where the program was loaded: these have the place in a page"
    return CrashSite(addresses=same, why_several=why)


def find_calls(report: CrashReport, site: int, program: TrimmedProgram) -> tuple[int, ...]:
    """Return where the direct call may be that led to the crash at ``site``; empty: not known.

    The register is exact. So is a debugger, which shows addresses that calls return to; what
    unwinds on a phone shows those of calls, or just before their ends, or the same as a debugger.
    """
    first, *others = report.frames
    length = _ARM_CALL_BYTES if program.is_aarch64 else _X86_CALL_BYTES
    pc = report.pc if report.pc is not None else first.pc if first.absolute else None
    found: tuple[int, ...] = ()
    if report.caller and pc:
        found = (report.caller - pc + site - length,)
    elif others and others[0].absolute and first.absolute:
        found = (others[0].pc - first.pc + site - length,)
    elif others and not others[0].absolute and others[0].file == first.file:
        shown = others[0].pc
        found = (shown - length, shown if program.is_aarch64 else shown - length + 1)
    return tuple(at for at in found if program.word(at, 1))


def _in_file(frame: CrashFrame, program: TrimmedProgram) -> CrashSite:
    if not frame.offset or frame.build_id:
        return CrashSite(addresses=(frame.pc,))
    # Older reports count from the mapping, newer ones from the beginning of the ELF file.
    other = program.address_of(frame.pc + frame.offset)
    why = "an older report may count from the mapping, or from the file"
    return _several((frame.pc, *(() if other is None else (other,))), why)


def mapped_file(frame: CrashFrame, report: CrashReport) -> tuple[str, str]:
    """Return file and build id at a frame, by the mappings if the frame does not name them."""
    mapping = _mapping_at(frame.pc, report) if frame.absolute else None
    if mapping is None:
        return frame.file, frame.build_id
    return frame.file or mapping.file, frame.build_id or mapping.build_id


def _mapping_at(address: int, report: CrashReport) -> MappedFile | None:
    return next((each for each in report.mappings if each.start <= address < each.end), None)


def _locate(pc: int, mapping: MappedFile, program: TrimmedProgram) -> CrashSite:
    """Return the file's addresses of what a mapping has at ``pc``."""
    within = pc - mapping.start
    if mapping.offset is None or any(mark in mapping.file for mark in _APK):
        # The file begins somewhere in the APK: a mapping begins with the page of a segment.
        starts = {
            each.address - each.address % page
            for each in program.code
            for page in _PAGES_BYTES[: None if program.is_aarch64 else 1]
            if page <= max(each.alignment, _PAGE_BYTES)
        }
        why = "the report does not say which part of the file the mapping has"
        return _several((start + within for start in starts), why)
    address = program.address_of(mapping.offset + within)
    return CrashSite(addresses=() if address is None else (address,))


def _several(addresses: Iterable[int], why: str) -> CrashSite:
    found = tuple(sorted({*addresses}))
    return CrashSite(addresses=found, why_several=why if len(found) > 1 else "")
