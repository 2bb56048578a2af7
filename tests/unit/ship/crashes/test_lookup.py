import struct
from collections.abc import Iterable
from dataclasses import replace

import pytest

from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.region import Region
from megtrim.libs.elf.symbol_table import Function
from megtrim.ship.crashes.finding import CandidateKind, CrashCandidate, CrashCause, CrashFinding
from megtrim.ship.crashes.frames import CrashFrame, MappedFile
from megtrim.ship.crashes.lookup import keep_lines, look_up, nearest_scenario, scenario_lines
from megtrim.ship.crashes.places import CrashSite, find_site, locate_file
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_address, parse_report
from megtrim.ship.crashes.report_values import CrashReport
from support.made_programs import ID, STAYS, STUB_AT, folded, tombstone
from unit.core.keep.test_keepset import scenario
from unit.ship.crashes.made_programs import numbered, program

SHARED = ["first()", "second(int)", "unused()"]
DEBUG_ID = "0302010005040706" + ID[16:32]
"""As Breakpad writes it."""


def found(
    made: TrimmedProgram, *frames: int, file: str = "/data/lib/app", **said: object
) -> CrashFinding:
    """Look up a tombstone with these frames; by default it has the right build id."""
    data = tombstone([(at, file) for at in frames], **({"build_id": ID} | said))  # type: ignore[arg-type]
    return look_up(parse_report(data, source="t"), [made])


def replace_table(made: TrimmedProgram, functions: Iterable[Function]) -> TrimmedProgram:
    ordered = sorted(functions, key=lambda each: (each.address, each.name))
    return replace(made, table=replace(made.table, functions=tuple(ordered)))


def names(finding: CrashFinding) -> list[str]:
    return [each.name for each in finding.candidates]


@pytest.mark.parametrize(
    ("at", "kind", "name"),
    [
        (STUB_AT, CandidateKind.FUNCTION, "first()"),
        (STUB_AT + 4, CandidateKind.FUNCTION, "second(int)"),
        (STUB_AT + 8, CandidateKind.REGION, "kern<3>"),
    ],
)
def test_crash_ids_make_it_certain(at: int, kind: CandidateKind, name: str) -> None:
    finding = found(numbered(), at)

    assert (finding.cause, finding.program) == (CrashCause.LEFT_OUT, "app")
    assert [(each.kind, each.name) for each in finding.candidates] == [(kind, name)]
    assert finding.why_several == ()
    unsure = found(numbered(), at, build_id="")
    assert (unsure.cause, names(unsure)) == (CrashCause.CANDIDATES, [name])
    assert unsure.why_several == ("the report has no build id: it may be of another build",)


@pytest.mark.usefixtures("nothing_is_handed")
def test_a_copy_of_megtrim_without_regions_looks_functions_up() -> None:
    finding = found(numbered(), STUB_AT)

    assert (finding.cause, names(finding)) == (CrashCause.LEFT_OUT, ["first()"])
    assert found(program(), STUB_AT).cause is CrashCause.CANDIDATES


def test_a_shared_stub() -> None:
    """The stack is of functions that stay."""
    finding = found(program(), STUB_AT, STAYS + 4, STAYS + 20)

    assert (finding.cause, names(finding)) == (CrashCause.CANDIDATES, SHARED)
    assert "share one instruction" in finding.why_several[0]
    assert finding.stack == ("_Z5staysv", "_Z5otherv")


@pytest.mark.parametrize(
    ("caller", "cause", "said"),
    [
        (STAYS + 4, CrashCause.CANDIDATES, SHARED),
        (STAYS + 24, CrashCause.LEFT_OUT, ["second(int)"]),
    ],
)
def test_a_call_that_passed_no_guard(caller: int, cause: CrashCause, said: list[str]) -> None:
    """It traps in the runtime, which the stub of the function had called."""
    made = program()
    ended = [each for each in made.table.functions if each.address != STUB_AT]
    trap = Function(name="megtrim_missed", address=STUB_AT, size_bytes=4)
    stub = Function(name="_Z6secondi", address=STAYS + 20, size_bytes=12)

    finding = found(replace_table(made, [*ended, trap, stub]), STUB_AT, caller)

    assert (finding.cause, names(finding)) == (cause, said)
    assert all("pass no guard" in each for each in finding.why_several)


def test_a_trap_within_a_function_that_stays() -> None:
    """A region of it, unless no region is trimmed, or each has a trap of its own."""
    finding = found(program(trims_regions=True), STAYS + 8)

    assert finding.cause is CrashCause.CANDIDATES
    assert [(e.kind, e.name) for e in finding.candidates] == [
        (CandidateKind.REGION_WITHIN, "stays()")
    ]
    for made in (program(), numbered()):
        other = found(made, STAYS + 8)
        assert (other.cause, other.candidates) == (CrashCause.NOT_TRIMMING, ())
        assert other.text.startswith("it crashed in stays(), which was kept: the program's own")


@pytest.mark.parametrize(
    ("at", "said", "text"),
    [
        (STAYS + 4, {"signal": 11}, "signal 11 (SIGSEGV); what is left out ends with a trap"),
        (STAYS + 4, {"signal": 6}, "signal 6 (SIGABRT)"),
        (STAYS + 4, {}, "it crashed in stays(), which was kept"),
        (STUB_AT, {"file": "/lib/libc.so", "build_id": "ff" * 20}, "it crashed in libc.so, but"),
    ],
)
def test_other_crashes(at: int, said: dict[str, object], text: str) -> None:
    finding = found(numbered(), at, **said)  # type: ignore[arg-type]

    assert (finding.cause, finding.candidates) == (CrashCause.NOT_TRIMMING, ())
    assert text in finding.text
    assert finding.why_several == ()


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("/data/lib/app", "another build of app"),
        ("/data/base.apk", "another file or build"),
        ("", "another file or build"),
    ],
)
def test_another_build_cannot_be_judged(file: str, what: str) -> None:
    """What was left out of it is not known: it may well be the fault of trimming."""
    line = f"signal 5 (SIGTRAP)\n#00 pc {STUB_AT:x} {file} (BuildId: {'ff' * 20})"
    finding = look_up(parse_report(line.encode(), source="t"), [numbered()])

    assert (finding.cause, finding.candidates) == (CrashCause.UNKNOWN, ())
    assert finding.text == f"{what} crashed: its build id is {'ff' * 20}, here {ID}"


@pytest.mark.parametrize("build_id", ["", ID])
def test_an_address_that_is_nowhere_says_nothing(build_id: str) -> None:
    finding = found(numbered(), 0x99990, build_id=build_id)

    assert finding.cause is CrashCause.UNKNOWN
    assert finding.text == "the address 0x99990 is nowhere in the code of app"


@pytest.mark.parametrize(
    ("rest", "cause", "doubt"),
    [
        ("/data/lib/app [what::0123]", "unknown", ""),
        ("/data/lib/app.1", "candidates", "no build id"),
        ("/data/lib/app : Routine f in /src/f.c:3", "unknown", ""),
        (f"/data/lib/app (BuildXd: {ID})", "unknown", ""),
        ("n/a", "unknown", ""),
        ("/data/lib/ap", "unknown", ""),
        ("/data/lib/bare.so.0", "unknown", ""),
        (f"/data/lib/app (BuildId: {ID}", "unknown", ""),
        (f"/data/lib/app (BuildId: {ID[:16]})", "candidates", "a part of the build id"),
        (f"/data/lib/app (BuildId: {ID[-20:]})", "candidates", "a part of the build id"),
        (f"/data/lib/app (BuildId: {'ff' * 8})", "unknown", ""),
        (f"/data/lib/other.so {{more}} (BuildId: {'ff' * 20})", "unknown", ""),
        ("/data/lib/brand.so", "not trimming", "may have another name"),
        ("/lib/libc.so", "not trimming", "may have another name"),
        (f"/data/app/x/lib/libc.so (BuildId: {'ff' * 20})", "not trimming", ""),
        (f"/data/lib/brand.so (BuildId: {ID[:32]})", "left out", ""),
        (f"/data/lib/brand.so [arm64-v8a::{ID[-32:]}]", "left out", ""),
        (f"/data/lib/brand.so\n{DEBUG_ID}0 brand.so", "left out", ""),
        ("\u00a0/data/lib/app", "candidates", "no build id"),
    ],
)
def test_what_a_line_has_behind_its_address(rest: str, cause: str, doubt: str) -> None:
    report = parse_report(f"signal 5 (SIGTRAP)\n#00 pc {STUB_AT:x} {rest}".encode(), source="t")
    finding = look_up(report, [numbered()], ["bare.so"])

    assert finding.cause == cause
    assert doubt in " ".join(finding.why_several)
    assert bool(doubt) == bool(finding.why_several)


HANDLER = f"#00 pc 8 /lib/libc.so (BuildId: {'ff' * 20})\n"
AT_TRAP = f"pc {STUB_AT:x} /data/lib/app (BuildId: {ID})"


@pytest.mark.parametrize(
    "text",
    [
        f"signal 11 (SIGSEGV) handler was installed\n#00 {AT_TRAP}",
        f"signal 6 (SIGABRT), code -6 (SI_TKILL)\n{HANDLER}#01 {AT_TRAP}",
        f"signal 6 (SIGABRT)\n#00 pc 8 libc.so\n#01 pc 9 [vdso]\n#02 {AT_TRAP}",
        f"SIGTRAP\n{HANDLER}#01 pc 9 x.so\n#02 {AT_TRAP}",
    ],
)
def test_a_trap_below_what_a_report_shows_first(text: str) -> None:
    """A handler may have ended the process: nothing is cleared for sure."""
    finding = look_up(parse_report(text.encode(), source="t"), [numbered()])
    assert finding.cause is CrashCause.NOT_TRIMMING
    assert finding.why_several != ()


@pytest.mark.parametrize(
    "text",
    [
        f"SIGTRAP\n{HANDLER}#00 pc 0?3 /data/lib/app (BuildId: {ID})",
        f"SIGTRAP\npc 1?\u00a0/data/lib/app (BuildId: {ID})\n{HANDLER[4:]}",
        f"SIGTRAP\n#01 {AT_TRAP}",
        f"SIGTRAP\n#00 pc {STAYS + 4:x} /data/lib/app (BuildId: {ID}) {{more}}",
    ],
)
def test_a_line_that_was_not_understood_neither_blames_nor_clears(text: str) -> None:
    finding = look_up(parse_report(text.encode(), source="t"), [numbered()])
    assert (finding.cause, finding.candidates) == (CrashCause.UNKNOWN, ())
    assert finding.text.startswith("the line of the crash was not understood whole: ")


def test_of_several_crashes_what_was_left_out_counts() -> None:
    texts = [
        tombstone([(0x1234, "/lib/libc.so")], build_id="ff" * 20, signal=6),
        tombstone([(STUB_AT, "/data/lib/app")], build_id=ID),
    ]
    for number, ordered in ((2, texts), (1, texts[::-1])):
        finding = look_up(parse_report(b"".join(ordered), source="t"), [numbered()])
        assert finding.cause is CrashCause.LEFT_OUT
        why = "no scenario ran it, and no pattern in trim.keep keeps it"
        assert finding.text == f"crash {number} of 2 in this report: {why}"


@pytest.mark.parametrize("step", [-1, 1])
def test_next_to_a_trap_nothing_is_certain(step: int) -> None:
    finding = found(numbered(), STUB_AT + step)
    assert finding.cause is CrashCause.NOT_TRIMMING
    assert "a trap is next to the address" in finding.why_several[0]


def test_of_too_many_crashes_the_last_one_is_not_certain() -> None:
    """Those between are not read, so that a log of any length has an answer."""
    data = tombstone([(STAYS + 4, "/data/lib/app")], build_id=ID) * 150
    finding = look_up(parse_report(data, source="t"), [numbered()])
    assert finding.cause is CrashCause.NOT_TRIMMING
    assert finding.why_several == ("the report has more than 100 crashes",)


def test_two_programs_of_one_name() -> None:
    other = program(shipped=numbered().shipped.replace(bytes.fromhex(ID), bytes(20)))
    for programs in ([numbered(), other], [other, numbered()]):
        for build_id, count in ((ID, 1), ("", 2)):
            data = tombstone([(STUB_AT, "/data/lib/app")], build_id=build_id)
            finding = look_up(parse_report(data, source="t"), programs)
            assert len(finding.program.split(", ")) == count
            assert (finding.cause is CrashCause.LEFT_OUT) == bool(build_id)


def test_a_program_without_symbols_cannot_be_judged() -> None:
    """It was trimmed as well; where the file is not known, it may be that one."""
    said = parse_report(tombstone([(STUB_AT, "/lib/libbare.so")]), source="t")
    finding = look_up(said, [numbered()], ["libbare.so"])
    assert (finding.cause, finding.candidates) == (CrashCause.UNKNOWN, ())
    assert finding.text.startswith("libbare.so was trimmed, and no readable symbols")
    assert "strip while it links" in finding.hint

    finding = look_up(parse_address(hex(STAYS)), [numbered()], ["libbare.so"])
    assert finding.cause is CrashCause.NOT_TRIMMING
    assert "it may be of libbare.so" in finding.why_several[1]


def test_code_that_was_kept_in_a_build_that_may_be_another() -> None:
    for at in (STAYS + 4, STAYS + 8):
        finding = found(numbered(), at, build_id="")
        assert finding.cause is CrashCause.NOT_TRIMMING
        assert finding.why_several == ("the report has no build id: it may be of another build",)


def test_code_that_was_kept_may_be_the_same_instruction() -> None:
    """A linker folds a function that only traps with a trap for what was left out."""
    table = numbered().table
    alike = replace(table.functions[-1], name="_Z5abortv")
    for at in range(3):
        functions = (*table.functions, replace(alike, address=STUB_AT + 4 * at))
        finding = found(replace_table(numbered(), functions), STUB_AT + 4 * at)

        assert (finding.cause, len(finding.candidates)) == (CrashCause.CANDIDATES, 1)
        assert finding.why_several == (
            "code that was kept is the same instruction, and may have trapped by itself",
        )


def test_a_region_and_a_function_at_one_place_are_both_candidates() -> None:
    table = numbered().table
    region = replace(table.functions[-1], address=STUB_AT)
    finding = found(replace_table(numbered(), (*table.functions[:-1], region)), STUB_AT)

    assert (finding.cause, names(finding)) == (CrashCause.CANDIDATES, ["first()", "kern<3>"])
    assert "a linker folds equal code" in finding.why_several[0]


def test_an_address_may_be_of_any_program() -> None:
    programs = [numbered(), program(name="libapp.so")]
    trapped, other = (look_up(parse_address(hex(at)), programs) for at in (STUB_AT, STAYS))

    assert (trapped.cause, names(trapped)) == (CrashCause.CANDIDATES, SHARED)
    kept = "it crashed in stays(), which was kept"
    assert (other.cause, other.text) == ("not trimming", f"app: {kept}; libapp.so: {kept}")
    for finding in (trapped, other):
        assert finding.program == "app, libapp.so"
        assert "does not name its file" in finding.why_several[0]


BASE = 0x7B00000000


def mapping(*, offset: int | None = 0x1000, file: str = "/lib/app") -> MappedFile:
    start = BASE + STAYS
    return MappedFile(start=start, end=start + 0x1000, offset=offset, file=file, build_id="ab")


def report(*frames: CrashFrame, **changes: object) -> CrashReport:
    return CrashReport(signal=5, frames=frames, **changes)  # type: ignore[arg-type]


def absolute(pc: int) -> CrashFrame:
    return CrashFrame(pc=pc, file="", absolute=True)


@pytest.mark.parametrize(("offset", "file"), [(0x1000, "/lib/app"), (0x5B000, "/data/base.apk")])
def test_an_address_in_memory_with_mappings(offset: int | None, file: str) -> None:
    said = report(absolute(BASE + STUB_AT), mappings=(mapping(offset=offset, file=file),))

    assert find_site(said.frames[0], said, program()) == CrashSite(addresses=(STUB_AT,))
    assert locate_file(said.frames[0], said) == (file, frozenset({"ab"}))


def test_of_several_mappings_the_one_that_holds_it() -> None:
    others = (
        MappedFile(start=BASE, end=BASE + 0x1000, offset=0, file="/lib/app", executable=False),
        mapping(),
        MappedFile(start=BASE + 0x90000, end=BASE + 0x91000, offset=0x1000, file="/lib/other"),
    )
    said = report(absolute(BASE + 0x90010), mappings=others)

    assert locate_file(said.frames[0], said) == ("/lib/other", frozenset())
    said = report(absolute(BASE + STUB_AT), mappings=others)
    assert find_site(said.frames[0], said, program()).addresses == (STUB_AT,)


def test_an_address_in_memory_without_mappings() -> None:
    """A loader moves a program by whole pages: its last three digits stay."""
    said = report(absolute(0x5555555540000 + STUB_AT))

    site = find_site(said.frames[0], said, program())
    assert site.addresses == (STUB_AT,)
    assert "where the program was loaded" in site.why_several
    assert find_site(said.frames[0], said, program(fixed=True)).addresses == (said.frames[0].pc,)


def test_an_address_of_the_file() -> None:
    for frame in (CrashFrame(pc=STUB_AT, file="app"), absolute(STUB_AT)):
        assert find_site(frame, report(frame), program()) == CrashSite(addresses=(STUB_AT,))
    old = CrashFrame(pc=0x20, file="app", offset=0x1000)
    assert find_site(old, report(old), program()).addresses == (0x20, STUB_AT)
    new = CrashFrame(pc=STUB_AT, file="base.apk!app", offset=0x5A000, build_id="ab")
    assert find_site(new, report(new), program()) == CrashSite(addresses=(STUB_AT,))


def test_a_mapping_begins_with_a_page_of_any_size() -> None:
    """In an APK, of a file whose segments are aligned to larger pages than the smallest."""
    data = bytearray(folded())
    struct.pack_into("<2Q", data, 64 + 16, STAYS + 0x1000, STAYS + 0x1000)
    struct.pack_into("<Q", data, 64 + 48, 0x4000)
    made = program(shipped=bytes(data))
    said = report(absolute(BASE + 0x1020), mappings=(MappedFile(
        start=BASE, end=BASE + 0x2000, offset=0x5B000, file="/data/base.apk"
    ),))  # fmt: skip

    site = find_site(said.frames[0], said, made)
    assert site.addresses == (STAYS + 0x1020, STAYS + 0x2020)
    assert "which part of the file" in site.why_several


LINK = "6e" * 32


def keep() -> KeepSet:
    one = scenario("m/one@c", Region("kern", (1,)), Region("pool", (1,)))
    two = scenario("m/two@c", Region("kern", (1,)), Region("kern", (2,)))
    one = replace(one, functions=("_Z5staysv", "main"), link_sha256=LINK)
    two = replace(two, functions=("main",), link_sha256=LINK)
    return build_keep_set(20220507, [one, two], None)


def finding(*candidates: CrashCandidate, stack: tuple[str, ...] = ()) -> CrashFinding:
    cause = CrashCause.CANDIDATES
    return CrashFinding(cause=cause, text="t", program="app", candidates=candidates, stack=stack)


def nearest(found: CrashFinding, *, without: int = 0) -> str:
    record = nearest_scenario(found, replace(keep(), scenarios=keep().scenarios[without:]))
    return record.id if record else ""


def test_the_nearest_scenario() -> None:
    region = CrashCandidate(kind=CandidateKind.REGION, name="kern<3>")

    assert nearest(finding(stack=("_Z5staysv",))) == "m/one@c"
    assert nearest(finding(region)) == "m/two@c"
    assert nearest(finding()) == ""
    assert nearest(finding(), without=1) == "m/two@c"


def test_the_nearest_scenario_is_no_test_of_the_project() -> None:
    test = replace(keep().scenarios[0], id="unit@tests", model_sha256="")
    with_a_scenario = replace(keep(), scenarios=(keep().scenarios[1], test))

    found = nearest_scenario(finding(stack=("_Z5staysv",)), with_a_scenario)
    assert found == keep().scenarios[1]
    assert nearest_scenario(finding(), replace(keep(), scenarios=(test,))) is None


def test_lines_that_keep_functions() -> None:
    region = CrashCandidate(kind=CandidateKind.REGION, name="kern<3>")
    name = "a::operator[](int*)"
    function = CrashCandidate(kind=CandidateKind.FUNCTION, name=name, linkage_name="_Zx")
    found = finding(function, region)

    assert keep_lines(found) == ("trim:", "  keep:", '    - "a::operator[[]](int[*])"')
    assert keep_lines(finding()) == ()


def test_lines_of_a_scenario() -> None:
    record = replace(keep().scenarios[0], arguments=("--cpu",), inputs=(("data", "0" * 64),))

    assert scenario_lines(record) == (
        "# a scenario of m, with the arguments and inputs of your user",
        '- {name: field, args: ["--cpu"], inputs: {data: FILE}}',
    )
    command = replace(record, id="first@any", model_sha256="")
    assert scenario_lines(command)[0] == (
        "# a scenario, with the arguments and inputs of your user"
    )
