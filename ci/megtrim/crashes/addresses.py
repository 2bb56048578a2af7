"""Where in a program a crash was: the addresses of its file that a report can mean.

A report names an address of the file, or one of the process, with or without the mappings. Where it
cannot be known which one is meant, all of them are returned. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from megtrim.crashes.frames import CrashFrame, MappedFile
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import CrashReport

_PAGE_BYTES = 4096
"""The smallest page: a loader moves a program by whole ones."""
_PAGES_BYTES = (_PAGE_BYTES, 4 * _PAGE_BYTES, 16 * _PAGE_BYTES)
"""All that kernels use, for files whose segments are aligned to them: a mapping begins with one."""
_APK = (".apk", "!")


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashSite:
    """Where in a program's file a crash was."""

    addresses: tuple[int, ...]
    """Sorted; more than one if the report does not decide between them."""
    why_several: str = ""
    """Why it may be another one."""


def find_site(frame: CrashFrame, report: CrashReport, program: TrimmedProgram) -> CrashSite:
    """Return where in ``program`` a frame is."""
    if not frame.absolute:
        return _in_file(frame, program)
    mapping = _mapping_at(frame, report)
    if mapping is not None:
        return _locate(frame.pc, mapping, program)
    why = "the report does not say where the program was loaded: these have the place in a page"
    if program.is_fixed or program.word(frame.pc, 1):
        sure = program.is_fixed or not frame.file
        return CrashSite(addresses=(frame.pc,), why_several="" if sure else why)
    same = tuple(each for each in program.traps if not (each - frame.pc) % _PAGE_BYTES)
    return CrashSite(addresses=same, why_several=why)


def _in_file(frame: CrashFrame, program: TrimmedProgram) -> CrashSite:
    if not frame.offset or frame.build_id:
        return CrashSite(addresses=(frame.pc,))
    # Older reports count from the mapping, newer ones from the beginning of the ELF file.
    other = program.address_of(frame.pc + frame.offset)
    why = "an older report may count from the mapping, or from the file"
    return _several((frame.pc, *(() if other is None else (other,))), why)


def locate_file(frame: CrashFrame, report: CrashReport) -> tuple[str, frozenset[str]]:
    """Return file and build ids at a frame: what it says itself, or else lists of the report."""
    mapping = _mapping_at(frame, report) if frame.absolute else None
    file = frame.file or (mapping.file if mapping else "")
    if frame.build_id or not file:
        return file, frozenset({frame.build_id} - {""})
    named = [each for each in report.mappings if each.build_id]
    bare = [e for e in named if "/" not in file or "/" not in e.file]  # others are other files
    found = (
        {mapping.build_id} - {""} if mapping else None,
        {each.build_id for each in named if each.file == file},
        {each.build_id for each in bare if file_name(each.file) == file_name(file)},
    )
    return file, frozenset(next(filter(None, found), ()))


def file_name(path: str) -> str:
    """Return the name of a file, also of one in an APK."""
    return re.split(r"[/!]", path)[-1]


def _mapping_at(frame: CrashFrame, report: CrashReport) -> MappedFile | None:
    """Return what is mapped at a frame: of files whose end is not known, the nearest one."""
    found = [
        each
        for each in report.mappings
        if each.executable
        and each.start <= frame.pc < each.end
        and (each.offset is not None or file_name(frame.file) in ("", file_name(each.file)))
    ]
    return max(found, key=lambda each: (each.offset is not None, each.start), default=None)


def _locate(pc: int, mapping: MappedFile, program: TrimmedProgram) -> CrashSite:
    """Return the file's addresses of what a mapping has at ``pc``."""
    within = pc - mapping.start
    if mapping.offset is None:
        return CrashSite(addresses=(within + program.first_address,))
    if any(mark in mapping.file for mark in _APK):
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
