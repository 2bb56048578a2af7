"""Reports of crashes: what is read, of whom, and what no text can do to the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.crashes.report import (
    CrashFrame,
    MappedFile,
    parse_address,
    parse_report,
)
from megtrim.errors import InputError
from unit.crashes.reports import LIBRARY, tombstone

WORDS = [*tombstone([(1, "/a b.so")]).decode().split(), " ", "\n", "("]
ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("logcat", [False, True])
def test_a_tombstone(logcat: bool) -> None:
    """The thread that crashed, its registers, and the build id; the other threads do not count."""
    frames = [(0x1234, LIBRARY), (0x2344, LIBRARY)]
    data = tombstone(frames, build_id=ID, pc=0x7B00001234, caller=0x7B00002348, logcat=logcat)

    report = parse_report(data, source="t")

    assert report.signal == 5
    assert report.frames == (
        CrashFrame(pc=0x1234, file=LIBRARY, build_id=ID),
        CrashFrame(pc=0x2344, file=LIBRARY, build_id=ID),
    )
    assert (report.pc, report.caller) == (0x7B00001234, 0x7B00002348)


def test_a_tombstone_of_older_phones() -> None:
    """The registers are in other lines: `pc` next to `sp` alone, and `lr` by its number."""
    text = f"""signal 5 (SIGTRAP), code 1 (TRAP_BRKPT), fault addr 0x7b00001234
    x28  0000000000000000  x29  0000007fd8e6cb40  x30  0000007b00002348
    sp   0000007fd8e6cb40  pc   0000007b00001234  pstate 0000000060000000
backtrace:
    #00 pc 0000000000001234  {LIBRARY}
"""

    report = parse_report(text.encode(), source="t")
    assert report.frames == (CrashFrame(pc=0x1234, file=LIBRARY),)
    assert (report.pc, report.caller) == (0x7B00001234, 0x7B00002348)


def test_registers_of_a_debugger() -> None:
    """It prints the value of `pc` twice; a thread that is listed later has another one."""
    text = b"lr  0x5500002348  365072229192\npc  0x5500001234  0x5500001234 <run+4>\nsignal 5"

    report = parse_report(text, source="t")
    assert report.frames == (CrashFrame(pc=0x5500001234, file="", absolute=True),)
    assert (report.pc, report.caller) == (0x5500001234, 0x5500002348)


def test_a_shared_object_in_an_apk() -> None:
    """With the place of the object in it."""
    report = parse_report(
        tombstone([(0x1234, "/data/app/x y/base.apk!libengine.so")], offset=0x5A000), source="t"
    )

    assert report.frames[0] == CrashFrame(
        pc=0x1234, file="/data/app/x y/base.apk!libengine.so", offset=0x5A000
    )


def test_mappings() -> None:
    """Of tombstones, whose last address is inside, and of /proc, whose last one is not."""
    text = f"""signal 5 (SIGTRAP)
    0000007b'00001000-0000007b'00001fff r-x      1000      1000  {LIBRARY} (BuildId: {ID})
55d0c0de0000-55d0c0de2000 r--p 00000000 08:01 1311 /usr/bin/app
0x7b00001010
"""

    report = parse_report(text.encode(), source="t")

    assert report.mappings == (
        MappedFile(start=0x7B00001000, end=0x7B00002000, offset=0x1000, file=LIBRARY, build_id=ID),
        MappedFile(
            start=0x55D0C0DE0000,
            end=0x55D0C0DE2000,
            offset=0,
            file="/usr/bin/app",
            executable=False,
        ),
    )
    assert report.frames == (CrashFrame(pc=0x7B00001010, file="", absolute=True),)


@pytest.mark.parametrize(
    ("text", "signal", "frame"),
    [
        (
            (
                "F/libc    ( 123): Fatal signal 5 (SIGTRAP), code 1 (TRAP_BRKPT), fault addr "
                "0x7b12345678 in tid 9 (worker), pid 9 (app)"
            ),
            5,
            CrashFrame(pc=0x7B12345678, file="", absolute=True),
        ),
        (
            f"Fatal signal 5 (SIGTRAP) pc 0000000000001234  {LIBRARY} (BuildId: {ID.upper()})",
            5,
            CrashFrame(pc=0x1234, file=LIBRARY, build_id=ID),
        ),
        (
            (
                "Program received signal SIGTRAP, Trace/breakpoint trap.\n"
                "0x0000005500012344 in ?? () from /lib/libengine.so"
            ),
            5,
            CrashFrame(pc=0x5500012344, file="/lib/libengine.so", absolute=True),
        ),
        (
            (
                "Program terminated with signal SIGILL, Illegal instruction.\n"
                "#0  0x0000555555556789 in my::run(int) ()\n#1  0x0000555555550000 in main ()"
            ),
            4,
            CrashFrame(pc=0x555555556789, file="", absolute=True),
        ),
        (
            (
                "traps: app[77] trap invalid opcode ip:55d0c0de1234 sp:7ffc00000000 error:0 in "
                "app[1234,55d0c0de1000+3000]"
            ),
            4,
            CrashFrame(pc=0x55D0C0DE1234, file="app", absolute=True),
        ),
        (
            "Illegal instruction (core dumped)\n0x1234",
            4,
            CrashFrame(pc=0x1234, file="", absolute=True),
        ),
    ],
)
def test_other_reports(text: str, signal: int, frame: CrashFrame) -> None:
    """Lines of logcat, of gdb and of the kernel."""
    report = parse_report(text.encode(), source="t")

    assert (report.signal, report.frames[0]) == (signal, frame)


def test_the_kernel_knows_the_mapping() -> None:
    """Older kernels do not print where it begins in the file."""
    line = b"app[77]: trap invalid opcode ip:401136 sp:7ffc error:0 in app[401000+1000]"

    (mapping,) = parse_report(line, source="t").mappings
    assert mapping == MappedFile(start=0x401000, end=0x402000, offset=None, file="app")


def test_of_several_crashes_the_first_counts() -> None:
    """A log holds what crashed later as well."""
    data = tombstone([(0x1234, LIBRARY)]) + tombstone([(0x9999, "/lib/other.so")], signal=11)

    report = parse_report(data, source="t")
    assert (report.signal, report.frames[0].pc, len(report.frames)) == (5, 0x1234, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no address in it says where it crashed"),
        ("Trace/breakpoint trap", "it ended with signal 5, no address"),
        ("signal 11 (SIGSEGV), code 1, fault addr 0x10", "it ended with signal 11, no address"),
    ],
)
def test_a_report_without_a_place(text: str, words: str) -> None:
    """The fault address of another signal is data, and not where it crashed."""
    with pytest.raises(InputError, match=words):
        parse_report(text.encode(), source="t")


def test_no_file_makes_a_terminal_obey() -> None:
    """Codes of colours, of titles and of the direction of text are blanks."""
    line = "signal 5\n#00 pc 0000000000001234  /lib/\x1b]0;a\x07b\u202ec.so (BuildId: 01234567)"

    (frame,) = parse_report(line.encode(), source="t").frames
    assert frame.file == "/lib/ ]0;a b c.so"


def test_an_address() -> None:
    """In hexadecimal, as everything prints it."""
    assert parse_address(" 0x1A2b4 ").frames[0].pc == 0x1A2B4
    for wrong in ("1a2b4", "0x", "0x" + "1" * 17, "main"):
        with pytest.raises(InputError, match="--address: found"):
            parse_address(wrong)


@given(st.lists(st.sampled_from(WORDS)))
def test_no_text_breaks_the_reader(words: list[str]) -> None:
    """It ends with a report or with an error of megtrim's."""
    try:
        report = parse_report("".join(words).encode(), source="t")
    except InputError:
        return
    assert report.frames
