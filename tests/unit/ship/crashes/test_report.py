from collections import Counter
from dataclasses import replace

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.ship.crashes.frames import CrashFrame
from megtrim.ship.crashes.report import parse_address, parse_report
from support.crash_reports import DAMAGES, LAYOUTS, FieldReport, fill_layouts, judge, list_places
from support.made_programs import LIBRARY, STAYS, STUB_AT, tombstone
from unit.ship.crashes.made_programs import numbered

WORDS = [*tombstone([(1, "/a b.so")]).decode().split(), " ", "\n", "("]
ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("logcat", [False, True])
def test_a_tombstone(logcat: bool) -> None:
    frames = [(0x1234, LIBRARY), (0x2344, LIBRARY)]
    data = tombstone(frames, build_id=ID, pc=0x7B00001234, caller=0x7B00002348, logcat=logcat)

    report = parse_report(data, source="t")

    assert (report.signal, report.doubts, report.later) == (5, (), ())
    assert [(each.pc, each.file, each.build_id, each.whole) for each in report.frames] == [
        (at, LIBRARY, ID, True) for at, _ in frames
    ]


@pytest.mark.parametrize(
    ("line", "signal"),
    [
        ("signal 5 (SIGTRAP), code 1 (TRAP_BRKPT)", 5),
        ("signal: 11 (SIGSEGV), code: 1 (SEGV_MAPERR) fault addr: 0x4", 11),
        ("_Signal 7(SIGBUS), Code 2(BUS_ADRERR)", 7),
        ("Caused by java.lang.Error: signal 6 (SIGABRT), code 1 (?)", 6),
        ("qemu: uncaught target signal 4 (Illegal instruction) - core dumped", 4),
        ("Reason:Signal:SIGSEGV(SEGV_MAPERR)@0x60", 11),
        ("Crashed: Thread : SIGABRT  0x00", 6),
        ("SIGILL(ILL_ILLOPN):", 4),
        ("Program terminated with signal SIGSEGV, Segmentation fault.", 11),
        ("* thread #1, name = 'x', stop reason = signal SIGILL", 4),
        ("Trace/breakpoint trap", 5),
        ("#  SIGILL (0x4) at pc=0x00007fd2d027c01c, pid=4711, tid=4720", 4),
        ("the worker got signal 11 (SIGSEGV) from its parent", None),
        ("child terminated with signal SIGKILL", None),
        ("signal 5 (SIGSEGV), code 1", None),
    ],
)
def test_the_signal(line: str, signal: int | None) -> None:
    report = parse_report(f"{line}\n#00 pc 1234 {LIBRARY}".encode(), source="t")
    assert report.signal == signal


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("pc 1234 a.so\npc 1250 a.so", "does not show the first frame"),
        ("Thread 1:\n#00 pc 1234 a.so\nThread 2:\n#00 pc 1 b.so", "which of its threads"),
        ("signal 5 (SIGTRAP), code -6 (SI_TKILL)\n#00 pc 1234 a.so", "sent by a program"),
        ("#00 pc 8 b.so\n#01 pc 9 [vdso] (sigreturn)\n#02 pc 1234 a.so", "in a handler"),
        ("#0 0x8 in f () from b\n#1  <signal handler called>\n#2 pc 1234 a.so", "in a handler"),
        ("signal 5 (SIGTRAP)\nsignal 11 (SIGSEGV)\n#00 pc 1234 a.so", "several signals"),
        ("Reason:Signal:SIGTRAP(SI_TKILL)@0x1\n#00 pc 1234 a.so", "sent by a program"),
        ("signal 5 (SIGTRAP), fault addr 0x7123c\n#00 pc 1234 a.so", "belong to another place"),
        ("pc: 0x0000007b00000238\n#00 pc 1234 a.so", "belong to another place"),
    ],
)
def test_what_a_report_leaves_open(text: str, doubt: str) -> None:
    report = parse_report(text.encode(), source="t")
    assert (report.frames[0].pc, report.frames[0].file) == (0x1234, "a.so")
    (said,) = report.doubts
    assert doubt in said


def test_what_follows_in_a_report_of_a_java_virtual_machine_changes_nothing() -> None:
    """Neither the process's mappings, nor its handlers of signals, nor a second list of frames."""
    text = (LAYOUTS / "hotspot.txt").read_text("utf-8")
    for name, value in {"NAME": "SIGILL", "SIG": "4", "BARE": "a.so", "pc": "1234"}.items():
        text = text.replace(f"{{{name}}}", value)
    for name in ("MAP_FROM", "MAP_TO"):
        text = text.replace(f"{{{name}}}", "7f30a4387000")

    report = parse_report(text.encode(), source="t")

    assert [(each.pc, each.file) for each in report.frames] == [(0x1234, "a.so")]
    assert (report.signal, report.doubts) == (4, ())


def test_a_mapping_is_no_frame_of_a_handler() -> None:
    text = "#00 pc 1234 a.so\n7f30a4387000-7f30a4389000 r-xp 00000000 00:00 0    [vdso]"
    report = parse_report(text.encode(), source="t")
    assert [each.file for each in report.frames] == ["a.so"]
    assert report.doubts == ()


def test_the_thread_that_crashed_counts() -> None:
    text = (
        "Thread 0\n 0  b.so + 0x1\nThread 3 (crashed)\n 0  a.so + 0x1234\nThread 4\n 0  c.so + 0x2"
    )
    report = parse_report(text.encode(), source="t")
    assert [each.file for each in report.frames] == ["a.so"]
    assert report.doubts == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_any_encoding(encoding: str) -> None:
    data = tombstone([(0x1234, LIBRARY)], build_id=ID).decode().replace("\n", "\r\n")
    assert parse_report(data.encode(encoding), source="t").frames[0].build_id == ID


def test_each_of_several_crashes() -> None:
    texts = tombstone([(0x1234, LIBRARY)]), tombstone([(0x9999, "/lib/other.so")], signal=11)
    logs = [data.decode().splitlines() for data in texts]
    mixed = "".join(
        f"11-24 03:04:05.678  {at}  {at} F DEBUG   : {line}\n"
        for lines in zip(*logs, strict=True)
        for at, line in enumerate(lines)
    )

    for data in (b"".join(texts), mixed.encode()):
        report = parse_report(data, source="t")
        (later,) = report.later
        assert [(e.signal, e.frames[0].pc, len(e.frames)) for e in (report, later)] == [
            (5, 0x1234, 1),
            (11, 0x9999, 1),
        ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no address in it says where it crashed"),
        ("Trace/breakpoint trap", "it ended with signal 5, no address"),
        ("signal 11 (SIGSEGV), code 1, fault addr 0x10", "it ended with signal 11, no address"),
        ('{"frames": [{"addr": "0x12"}, {"addr": "0x34"}]}', "no address"),
        ("at f(/lib/a.so:4660)", "no address"),
        ("#00 0004a214 f+12 /lib/a.so", "looks like a frame was not understood: #00 0004"),
        ("#0  0x0000007f8a2c3a14 main", "looks like a frame was not understood: #0  0x"),
    ],
)
def test_a_report_without_a_place(text: str, words: str) -> None:
    """The fault address of another signal is data; what is no shape of the table is not guessed."""
    with pytest.raises(InputError, match=words):
        parse_report(text.encode(), source="t")


def test_an_address() -> None:
    assert parse_address(" 0x1A2b4 ").frames[0].pc == 0x1A2B4
    for wrong in ("1a2b4", "0x", "0x" + "1" * 17, "main"):
        with pytest.raises(InputError, match="--address: found"):
            parse_address(wrong)


def first(text: str) -> CrashFrame:
    return replace(parse_report(text.encode(), source="t").frames[0], text="")


def absolute(pc: int, file: str = "", number: int | None = None) -> CrashFrame:
    return CrashFrame(pc=pc, file=file, absolute=True, number=number)


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        (f"#00 pc 1234  {LIBRARY}", CrashFrame(pc=0x1234, file=LIBRARY, number=0)),
        (
            f"#00 pc 0x1234 /x y/base.apk!a.so (offset 0x5a000) (BuildId: {ID.upper()})",
            CrashFrame(pc=0x1234, file="/x y/base.apk!a.so", offset=0x5A000, build_id=ID, number=0),
        ),
        (
            f"Fatal signal 5 (SIGTRAP) pc 1234  a.so (BuildId: {ID})",
            CrashFrame(pc=0x1234, file="a.so", build_id=ID),
        ),
        ("0x5500012344 in ?? () from /lib/a.so", absolute(0x5500012344, "/lib/a.so")),
        ("#0  0x5556789 in my::run(int) ()", absolute(0x5556789, number=0)),
        ("=> 0x5556789 in my::run(int) ()", absolute(0x5556789)),
        ("  * frame #0: 0x7b0012 a.so`run + 8", absolute(0x7B0012, "a.so", 0)),
        (" 0  a.so + 0x1234", CrashFrame(pc=0x1234, file="a.so", number=0)),
        (
            "#00 pc 7b001234 <anonymous:7b000000>",
            replace(absolute(0x7B001234, number=0), memory="<anonymous:7b000000>"),
        ),
        (
            "#00 pc 1234 <anonymous:7b000000>",
            replace(absolute(0x7B001234, number=0), memory="<anonymous:7b000000>"),
        ),
        ("#00 pc 1234 [anon:.bss]", CrashFrame(pc=0x1234, file="", number=0, memory="[anon:.bss]")),
        ("signal 5\nlr  0x55002348\npc  0x55001234  0x55001234 <run>", absolute(0x55001234)),
        ("signal 5 (SIGTRAP), fault addr 0x7b12345678", absolute(0x7B12345678)),
        ("Reason:Signal:SIGTRAP(TRAP_BRKPT)@0x7b12345678", absolute(0x7B12345678)),
        ("Illegal instruction (core dumped)\n0x1234", absolute(0x1234)),
        # No file makes a terminal obey.
        (
            "pc 1234  /lib/\x1b[31m\x1b]0;a\x07b\u202ec.so",
            CrashFrame(pc=0x1234, file="/lib/\ufffd]0;a\ufffdb\ufffdc.so", whole=False),
        ),
    ],
)
def test_a_frame(line: str, frame: CrashFrame) -> None:
    assert first(line) == frame


@pytest.mark.parametrize(
    "rest",
    [
        f"a.so (BuildId: {ID}",
        f"a.so (BuildId: {ID}) (BuildId: {ID[::-1]})",
        f"a.so (load bias 0x1000) (BuildId: {ID})",
        f"a.so [what] (BuildId: {ID})",
        f"a.so: what (BuildId: {ID})",
        f"my app/a.so (BuildId: {ID})",
        f"/lib/\x1b]0;t\x07a.so (BuildId: {ID})",
        f"/lib/a\u202e.so (BuildId: {ID})",
        f"/lib/a.so {'x' * 3000}",
    ],
)
def test_a_line_that_is_not_understood_whole(rest: str) -> None:
    assert not first(f"#00 pc 1234 {rest}").whole


KERNEL = (
    "[  1.5] app[7]: segfault at 0 ip {at} sp 00007ffc00001000 error 4 in a.so[{map}] likely on"
)
TRAPS = "Nov 02 09:14:31 board kernel: traps: app[7] {what} ip:{at} sp:7ffc error:0 in a.so[{map}]"


@pytest.mark.parametrize(
    ("line", "signal", "offset"),
    [
        (KERNEL.format(at="7b0123", map="7b0000+1000") + " CPU 3 (core 1, socket 0)", 11, None),
        (TRAPS.format(what="trap int3", at="7b0123", map="7b0000+1000"), 5, None),
        (TRAPS.format(what="trap invalid opcode", at="7b0123", map="5123,7b0000+1000"), 4, 0x5000),
        (TRAPS.format(what="trap of tomorrow", at="7b0123", map="7b0000+1000"), None, None),
    ],
)
def test_the_kernels_line(line: str, signal: int | None, offset: int | None) -> None:
    report = parse_report(line.encode(), source="t")
    (mapping,) = report.mappings
    frame = replace(absolute(0x7B0123, "a.so", 0), text="a.so")
    assert (report.signal, report.frames) == (signal, (frame,))
    assert (mapping.start, mapping.end, mapping.offset) == (0x7B0000, 0x7B1000, offset)
    assert mapping.of_code == (offset is None)


def test_mappings() -> None:
    text = f"""signal 5 (SIGTRAP)
    0000007b'00001000-0000007b'00001fff r-x      1000      1000  {LIBRARY} (BuildId: {ID})
    7b00002000-7b00002fff rw-    2000    1000 >
55d0c0de0000-55d0c0de2000 r--p 00000000 08:01 1311 /usr/bin/app
[  1] 01234567-89AB-CDEF-0123-456789ABCDEF-01234567 0x5500000000 /lib/a.so
/lib/b.so (BuildId: {ID}. FileSize: 1. MD5: 0)
0x7b00001010
"""

    report = parse_report(text.encode(), source="t")

    found = [(e.start, e.end, e.offset, e.file, e.build_id, e.executable) for e in report.mappings]
    assert found == [
        (0x7B00001000, 0x7B00002000, 0x1000, LIBRARY, ID, True),
        (0x7B00002000, 0x7B00003000, 0x2000, LIBRARY, "", False),
        (0x55D0C0DE0000, 0x55D0C0DE2000, 0, "/usr/bin/app", "", False),
        (0x5500000000, (1 << 64) - 1, None, "/lib/a.so", ID, True),
        (0, 0, None, "/lib/b.so", ID, True),
    ]
    assert report.frames == (absolute(0x7B00001010),)


PROGRAM = replace(numbered(), name="libengine.so")
SITES = {"first()": STUB_AT, "kern<3>": STUB_AT + 8}
REPORTS = tuple(fill_layouts(list_places(PROGRAM, SITES, STAYS + 4)))


def test_nothing_is_certain_and_wrong() -> None:
    wrong = []
    count = Counter[str]()
    for report in REPORTS:
        texts = {"": report.text.encode()}
        if report.place.what.startswith("first()"):
            texts |= {what: damage(report.text) for what, damage in DAMAGES.items()}
        for what, data in texts.items():
            certain, lie = judge(report.place, data, [PROGRAM])
            count["whole" if report.whole else "part"] += not what
            count["certain"] += certain and report.whole and not what
            count["damaged"] += bool(what)
            wrong += [f"{report.title}, {what}"] * lie

    assert wrong == []
    assert count["whole"] + count["part"] >= max(300, count["damaged"])
    assert count["certain"] >= 0.95 * count["whole"]
    assert len([*LAYOUTS.glob("*.txt")]) >= 8


@pytest.mark.parametrize("report", [e for e in REPORTS if e.whole], ids=lambda each: each.title)
def test_a_whole_frame_with_a_build_id_is_certain(report: FieldReport) -> None:
    assert judge(report.place, report.text.encode(), [PROGRAM]) == (True, False)
