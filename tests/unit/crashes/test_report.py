"""Reports of crashes: what is read, of whom, and what no text can do to the reader."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.crashes.report import parse_address, parse_report
from megtrim.util.errors import InputError
from unit.crashes.reports import LIBRARY, tombstone

WORDS = [*tombstone([(1, "/a b.so")]).decode().split(), " ", "\n", "("]
ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("logcat", [False, True])
def test_a_tombstone(logcat: bool) -> None:
    """The thread that crashed, and the build id; the other threads do not count."""
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
        ("the worker got signal 11 (SIGSEGV) from its parent", None),
        ("child terminated with signal SIGKILL", None),
        ("signal 5 (SIGSEGV), code 1", None),
    ],
)
def test_the_signal(line: str, signal: int | None) -> None:
    """Only of a line in which a reporter says it; a contradiction says nothing."""
    report = parse_report(f"{line}\n#00 pc 1234 {LIBRARY}".encode(), source="t")
    assert report.signal == signal


@pytest.mark.parametrize(
    ("text", "doubt"),
    [
        ("#01 pc 1234 a.so", "does not show the first frame"),
        ("pc 1234 a.so\npc 1250 a.so", "does not show the first frame"),
        ("Thread 1:\n#00 pc 1234 a.so\nThread 2:\n#00 pc 1 b.so", "which of its threads"),
        ("signal 5 (SIGTRAP), code -6 (SI_TKILL)\n#00 pc 1234 a.so", "sent by a program"),
        ("#00 pc 8 b.so\n#01 pc 9 [vdso] (sigreturn)\n#02 pc 1234 a.so", "in a handler"),
        ("#0 0x8 in f () from b\n#1  <signal handler called>\n#2 pc 1234 a.so", "in a handler"),
        ("signal 5 (SIGTRAP)\nsignal 11 (SIGSEGV)\n#00 pc 1234 a.so", "several signals"),
        ("Reason:Signal:SIGTRAP(SI_TKILL)@0x1\n#00 pc 1234 a.so", "sent by a program"),
        ("#00 pc 1234 a.so\n#00 pc 1?3 a.so (BuildId: 01234567)", "like a frame was not"),
        ("signal 5 (SIGTRAP), fault addr 0x7123c\n#00 pc 1234 a.so", "are of another place"),
        ("pc: 0x0000007b00000238\n#00 pc 1234 a.so", "are of another place"),
    ],
)
def test_what_a_report_leaves_open(text: str, doubt: str) -> None:
    """The place is read, and what it may be instead is said."""
    report = parse_report(text.encode(), source="t")
    assert (report.frames[0].pc, report.frames[0].file) == (0x1234, "a.so")
    (said,) = report.doubts
    assert doubt in said


def test_the_thread_that_crashed_counts() -> None:
    """Wherever it stands."""
    text = (
        "Thread 0\n 0  b.so + 0x1\nThread 3 (crashed)\n 0  a.so + 0x1234\nThread 4\n 0  c.so + 0x2"
    )
    report = parse_report(text.encode(), source="t")
    assert [each.file for each in report.frames] == ["a.so"]
    assert report.doubts == ()


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_any_encoding(encoding: str) -> None:
    """Of phones, editors and Windows."""
    data = tombstone([(0x1234, LIBRARY)], build_id=ID).decode().replace("\n", "\r\n")
    assert parse_report(data.encode(encoding), source="t").frames[0].build_id == ID


def test_each_of_several_crashes() -> None:
    """One after the other, or by the processes that logged them."""
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
        ("a[7]: trap invalid opcode ip:401136 sp:7ffc error:0 in a[401000+1000]", "no address"),
        ('{"frames": [{"addr": "0x12"}, {"addr": "0x34"}]}', "no address"),
        ("at f(/lib/a.so:4660)\n#00 0004a214 f+12 /lib/a.so", "no address"),
    ],
)
def test_a_report_without_a_place(text: str, words: str) -> None:
    """The fault address of another signal is data; what is no shape of the table is not guessed."""
    with pytest.raises(InputError, match=words):
        parse_report(text.encode(), source="t")


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
