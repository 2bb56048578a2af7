"""Crashes planted in trimmed programs, at every place where something was left out, and reports.

One trim has crash ids, the other has none and is otherwise equal. What a trap of the second stands
for is known from the first: the same call leads to a trap with a number there.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from megtrim.core.functions.linker_script import STUB, is_stub
from megtrim.core.keep.region import Region
from megtrim.engines.midout.spelling import LEFT_OUT, parse_demangled
from megtrim.libs.elf.layout import AARCH64, ARM
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.elf.symbol_table import Function
from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.finding import CandidateKind, CrashCause, CrashFinding
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.crashes.trimmed_programs import FinishedTrim
from support.made_programs import tombstone

_FIRST_BRK = 0x400
_UD1 = bytes.fromhex("0fb980")
_REGION_TRAP = re.compile(r"void midout::left_out<(.*?) ?>\(\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedCrash:
    """A place where a program would trap, and what it would need there."""

    site: int
    truth: str
    """Linkage name of a function; as text a region; or the function that a region is in."""


def find_program(trim: FinishedTrim, name: str) -> TrimmedProgram:
    return next(each for each in trim.programs if each.name == name)


def report_of(crash: PlantedCrash, program: TrimmedProgram) -> bytes:
    file = f"/data/app/base.apk!lib/{program.name}"
    return tombstone([(crash.site, file)], build_id=program.build_id)


def look_up_in(crash: PlantedCrash, program: TrimmedProgram, trim: FinishedTrim) -> CrashFinding:
    report = parse_report(report_of(crash, program), source="tombstone")
    return look_up(report, trim.programs, trim.nameless)


def holds_truth(crash: PlantedCrash, finding: CrashFinding) -> bool:
    return any(
        crash.truth == (each.name if each.kind is CandidateKind.REGION else each.linkage_name)
        for each in finding.candidates
    )


def find_kept(program: TrimmedProgram) -> int:
    return next(
        each.address
        for each in program.table.functions
        if each.size_bytes > 64 and not program.is_trap(each.address)
    )


def plant_in_numbered(program: TrimmedProgram) -> Iterator[PlantedCrash]:
    found: dict[int, str] = {}
    for each in program.table.functions:
        if is_stub(each.name):
            found[each.address] = _truth_at(each.address, program)
        elif (region := _region_of(each.name)) is not None:
            found[each.address] = region
    for site, truth in sorted(found.items()):
        if program.word(site, 1):  # GNU ld leaves symbols of code that it dropped, without a place
            yield PlantedCrash(site=site, truth=truth)


def plant_in_plain(plain: TrimmedProgram, numbered: TrimmedProgram) -> Iterator[PlantedCrash]:
    """Yield a crash for each call of the shared stub, and for each function with a region."""
    yield from _plant_functions(plain, numbered)
    yield from _plant_regions(plain, numbered)


def other_reports(program: TrimmedProgram, site: int) -> Iterator[tuple[str, bytes]]:
    """Yield reports that must never get a certain name, each with what it is; ``site`` is a trap.

    Some are no fault of trimming, others do not say enough.
    """
    file = f"/data/lib/{program.name}"
    build_id = program.build_id
    kept = find_kept(program)
    place = [(site, file)]
    yield "SIGSEGV", tombstone(place, build_id=build_id, signal=11)
    yield "SIGABRT", tombstone(place, build_id=build_id, signal=6)
    yield "another build", tombstone(place, build_id="ab" * 20)
    yield "a build id cut short", tombstone(place, build_id=build_id[:24])
    yield "no build id", tombstone(place)
    yield "another library", tombstone([(site, "/apex/lib64/libc.so")], build_id="cd" * 20)
    yield "another library without a build id", tombstone([(site, "/apex/lib64/libc.so")])
    yield "code that was kept", tombstone([(kept, file)], build_id=build_id)
    yield "behind a trap", tombstone([(site + 1, file)], build_id=build_id)
    yield "outside of the file", tombstone([(1 << 40, file)], build_id=build_id)
    yield "no file", tombstone([(site, "")])
    fault = f"Fatal signal 5 (SIGTRAP), code 1, fault addr 0x{site + (7 << 30):x}"
    yield "its place in a page", fault.encode()
    yield "a debugger", f"received signal SIGTRAP\n0x{site:016x} in ?? ()\n".encode()
    yield "a lone address", hex(site).encode()


def _plant_functions(plain: TrimmedProgram, numbered: TrimmedProgram) -> Iterator[PlantedCrash]:
    stubs = {each.address for each in plain.table.functions if each.name == STUB}
    if not stubs:
        return
    twins: dict[str, list[Function]] = {}
    for each in numbered.table.functions:
        twins.setdefault(each.name, []).append(each)
    for at in _direct_calls(plain):
        site = _target(at, plain)
        if site not in stubs:
            continue
        for caller in plain.table.at(at):
            for twin in twins.get(caller.name, ()):
                place = _target(twin.address + at - caller.address, numbered)
                if twin.size_bytes == caller.size_bytes and place and numbered.is_trap(place):
                    truth = _truth_at(place, numbered)
                    # Region traps are functions of builds with crash ids alone.
                    if truth in plain.left_out:
                        yield PlantedCrash(site=site, truth=truth)


def _plant_regions(plain: TrimmedProgram, numbered: TrimmedProgram) -> Iterator[PlantedCrash]:
    regions = {e.address for e in numbered.table.functions if _region_of(e.name) is not None}
    holders = {
        caller.name
        for at in _direct_calls(numbered)
        if _target(at, numbered) in regions
        for caller in numbered.table.at(at)
    }
    for each in plain.table.functions:
        if each.name in holders:
            inside = range(each.address, each.address + each.size_bytes)
            yield from (
                PlantedCrash(site=at, truth=each.name) for at in plain.traps if at in inside
            )


def _direct_calls(program: TrimmedProgram) -> Iterator[int]:
    for each in program.code:
        steps = range(
            each.address, each.address + each.size_bytes, 4 if program.machine == AARCH64 else 1
        )
        yield from (at for at in steps if _target(at, program))


def _target(at: int, program: TrimmedProgram) -> int:
    code = program.word(at, 5)
    if program.machine != AARCH64:
        called = code[:1] == b"\xe8" and len(code) == 5
        return at + 5 + struct.unpack("<i", code[1:])[0] if called else 0
    word = int.from_bytes(code[:4], "little")
    if word >> 26 != 0x25:
        return 0
    distance = word & 0x3FFFFFF
    return at + 4 * (distance - (1 << 26) if distance >> 25 else distance)


def _truth_at(address: int, program: TrimmedProgram) -> str:
    code = program.word(address, 7)
    word = int.from_bytes(code[:4], "little")
    if program.machine == AARCH64:
        number = (word >> 5 & 0xFFFF) - _FIRST_BRK
    elif program.machine == ARM and word >> 28 == 0xE:  # udf
        number = (word >> 4 & 0xFFF0 | word & 15) - _FIRST_BRK
    elif program.machine == ARM:  # udf.w: two halves
        number = (word << 12 & 0xF000 | word >> 16 & 0xFFF) - _FIRST_BRK
    else:
        number = int.from_bytes(code[3:], "little") if code[:3] == _UD1 else -1
    names = program.left_out
    name = names[number] if 0 <= number < len(names) else ""
    return _region_of(name) or name


def _region_of(name: str) -> str | None:
    if LEFT_OUT not in name:
        return None
    found = _REGION_TRAP.fullmatch(readable(name))
    return str(Region(*parse_demangled(found[1]))) if found else None


LAYOUTS = Path(__file__).parents[1] / "data/crashes"
_BASE = 0x7B00000000
_LIBC = "/apex/com.android.runtime/lib64/bionic/libc.so"
_LIBC_ID = "0a1b2c3d" * 5
_FIELD = re.compile(r"\{([A-Za-z_0-9]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPlace:
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
    title: str
    whole: bool
    place: FieldPlace
    text: str


def list_places(program: TrimmedProgram, sites: Mapping[str, int], kept: int) -> list[FieldPlace]:
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
        "within": f"{place.pc - program.first_address:x}",
        "within_back": f"{place.pc + 64 - program.first_address:x}",
        "MAP_PC": f"{_BASE + place.pc:x}",
        "MAP_FIRST": f"{_BASE + code.address - skew:x}",
        "MAP_SIZE": "1000",
        "FILE_AT": f"{code.offset + place.pc - code.address:x}",
        "MAP_AT": f"{code.offset - skew:x}",
        "ID": build_id,
        "ID_FIRST": build_id[:32],
        "ID_LAST": build_id[-32:],
        "UUID": re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12})(.*)", r"\1-\2-\3-\4-\5-\6", build_id),
    }
    return _FIELD.sub(lambda field: values.get(field[1], field[0]), layout)
