"""Reports of crashes as a dozen reporters write them: layouts, filled with places of a program.

`tests/data/crashes/REPORTER.txt` has the layouts. One that is ``whole`` has a build id and all of
its first frame; the others lack something, so nothing about them is certain but a signal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.crashes.lookup import CrashCause, look_up
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import parse_report
from megtrim.util.errors import InputError

LAYOUTS = Path(__file__).parents[1] / "data/crashes"
_BASE = 0x7B00000000
_LIBC, _LIBC_ID = "/apex/com.android.runtime/lib64/bionic/libc.so", "0a1b2c3d" * 5
_FIELD = re.compile(r"\{([A-Za-z_0-9]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlace:
    """Where and how a crash was, and what that means."""

    what: str
    pc: int
    name: str
    """Of the function or region that was left out; empty: it is no fault of trimming."""
    file: str
    build_id: str
    program: TrimmedProgram
    signal: tuple[int, str] = (5, "SIGTRAP")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldReport:
    """A filled layout."""

    title: str
    whole: bool
    place: FieldPlace
    text: str


def list_places(program: TrimmedProgram, sites: Mapping[str, int], kept: int) -> list[FieldPlace]:
    """Return places of a program: ``sites`` are traps by the name of what was left out there."""
    file = f"/data/app/~~Ab1==/com.example.camera-Cd2==/lib/arm64/{program.name}"
    stays = FieldPlace(
        what="kept code", pc=kept, name="", file=file, build_id=program.build_id, program=program
    )
    lost = [
        replace(stays, what=f"{name} was left out", pc=pc, name=name) for name, pc in sites.items()
    ]
    other = replace(lost[0], what="a library", name="", file=_LIBC, build_id=_LIBC_ID)
    return [*lost, stays, other, replace(stays, what="another signal", signal=(11, "SIGSEGV"))]


def fill_layouts(places: list[FieldPlace]) -> Iterator[FieldReport]:
    for path in sorted(LAYOUTS.glob("*.txt")):
        for part in path.read_text(encoding="utf-8").split("%% ")[1:]:
            title, _, layout = part.partition("\n")
            for place in places:
                if place.signal == (5, "SIGTRAP") or "{NAME}" in layout:
                    yield FieldReport(
                        title=f"{path.stem}: {title}: {place.what}",
                        whole=title.startswith("whole"),
                        place=place,
                        text=_fill(layout, place),
                    )


DAMAGES: Mapping[str, Callable[[str], bytes]] = {
    "of Windows": lambda text: text.replace("\n", "\r\n").encode("utf-8-sig"),
    "coloured": lambda text: text.replace("#0", "\x1b[1;31m#0\x1b[0m").encode(),
    "cut in its frames": lambda text: text[: text.rfind(".so") + 3].encode(),
    "with a tail": lambda text: re.sub(r"(\.so)\b(?=[\s(\[])", r"\1{{more}}", text).encode(),
}


def judge(place: FieldPlace, data: bytes, programs: Sequence[TrimmedProgram]) -> tuple[bool, bool]:
    """Return whether the answer to a report is certain, and whether it is wrong then."""
    try:
        finding = look_up(parse_report(data, source="r"), programs)
    except InputError:
        return False, False
    sure = (CrashCause.LEFT_OUT, CrashCause.NOT_TRIMMING)
    certain = finding.cause in sure and not finding.why_several
    names = [each.name for each in finding.candidates]
    right = names == [place.name] if place.name else finding.cause is CrashCause.NOT_TRIMMING
    return certain, certain and not right


def _fill(layout: str, place: FieldPlace) -> str:
    number, name = place.signal
    build_id = place.build_id
    program = place.program
    code = next(e for e in program.code if 0 <= place.pc - e.address < e.size_bytes)
    skew = code.address % 4096
    values = {
        "SIG": str(number),
        "NAME": name,
        "FILE": place.file,
        "BARE": place.file.rpartition("/")[2],
        "PC": f"{place.pc:016x}",
        "pc": f"{place.pc:x}",
        "BACK": f"{place.pc + 64:016x}",
        "back": f"{place.pc + 64:x}",
        "ABS": f"0x{_BASE + place.pc:016x}",
        "ABS16": f"{_BASE + place.pc:016x}",
        "CALLER": f"{_BASE + place.pc + 64:016x}",
        "BASE": f"0x{_BASE + program.first_address:016x}",
        "MAP_FROM": f"{_BASE + code.address - skew:016x}",
        "MAP_TO": f"{(_BASE + code.address + code.size_bytes) | 0xFFF:016x}",
        "MAP_AT": f"{code.offset - skew:x}",
        "ID": build_id,
        "ID_FIRST": build_id[:32],
        "ID_LAST": build_id[-32:],
        "UUID": re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})(.*)", r"\1-\2-\3-\4-\5-\6", build_id),
    }
    return _FIELD.sub(lambda field: values.get(field[1], field[0]), layout)
