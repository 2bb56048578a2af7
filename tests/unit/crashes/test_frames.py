"""The shapes of frames, build ids and mappings: what is read of a line, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.crashes.frames import CrashFrame
from megtrim.crashes.report import parse_report
from unit.crashes.reports import LIBRARY

ID = "0123456789abcdef0123456789abcdef01234567"


def first(text: str) -> CrashFrame:
    """Return the place of a crash, without the text that it was read from."""
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
        ("#00 pc 7b001234 <anonymous:7b000000>", absolute(0x7B001234, number=0)),
        ("signal 5\nlr  0x55002348\npc  0x55001234  0x55001234 <run>", absolute(0x55001234)),
        ("signal 5 (SIGTRAP), fault addr 0x7b12345678", absolute(0x7B12345678)),
        ("Reason:Signal:SIGTRAP(TRAP_BRKPT)@0x7b12345678", absolute(0x7B12345678)),
        ("Illegal instruction (core dumped)\n0x1234", absolute(0x1234)),
    ],
)
def test_a_frame(line: str, frame: CrashFrame) -> None:
    """The shape of each reporter, and of what has no frames."""
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
    """What stands behind a path, or in it, is known, or the frame says so."""
    assert not first(f"#00 pc 1234 {rest}").whole


def test_mappings() -> None:
    """Of tombstones, whose last address is inside, of /proc, whose is not, and of lists."""
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


def test_no_file_makes_a_terminal_obey() -> None:
    """Codes of colours go; of titles and of the direction of text, marks remain."""
    assert (
        first("#00 pc 1234  /lib/\x1b[31m\x1b]0;a\x07b\u202ec.so").file
        == "/lib/\ufffd]0;a\ufffdb\ufffdc.so"
    )
