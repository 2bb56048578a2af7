"""How a run ended: every device reports a trap in its own way."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.exit_status import (
    ProgramRun,
    RunOutcome,
    ending,
    ending_signal,
    error_message,
)

LOGS = Path(__file__).parents[2] / "data" / "logs-android"
PLAIN_LOG = (LOGS / "resnet18-s.plain.log").read_text(encoding="utf-8")


def run(rc: int, *, stderr: str = "", stdout: str = "", timed_out: bool = False) -> ProgramRun:
    return ProgramRun(
        argv=("load_and_run",),
        rc=rc,
        stdout=stdout,
        stderr=stderr,
        wall_s=0.1,
        timed_out=timed_out,
    )


@pytest.mark.parametrize("rc", [133, 132, -5, -4])
def test_trap_by_status(rc: int) -> None:
    """SIGTRAP on Arm, SIGILL on x86, as a shell or a parent process reports it."""
    assert ending(run(rc)) is RunOutcome.TRAP


def test_trap_that_the_c_library_turned_into_exit_1() -> None:
    """Android 11 under emulation: only the C library's own line reports."""
    said = (LOGS / "resnet18-s.nchw44.trap-android11.log").read_text(encoding="utf-8")

    assert ending(run(1, stderr=said)) is RunOutcome.TRAP
    assert ending(run(1, stdout=said)) is RunOutcome.TRAP
    assert ending_signal(run(1, stderr=said)) == 5


def test_trap_that_the_emulator_reports() -> None:
    """Android 6 under emulation."""
    said = (LOGS / "resnet18-s.nchw44.trap-android6.log").read_text(encoding="utf-8")

    assert ending(run(133, stderr=said)) is RunOutcome.TRAP
    assert ending(run(1, stderr=said)) is RunOutcome.TRAP


def test_fatal_line_as_logcat_shows_it() -> None:
    """The same line with logcat's columns in front."""
    line = "11-21 04:32:51.123  2853  2853 F libc    : Fatal signal 5 (SIGTRAP), code 1\n"

    assert ending(run(1, stderr=f"first\n{line}")) is RunOutcome.TRAP


@pytest.mark.parametrize("rc", [134, 139, -6, -11, 129, 192])
def test_other_signals(rc: int) -> None:
    """An abort, a wild pointer: no trap, and still the program's own."""
    assert ending(run(rc)) is RunOutcome.CRASHED


@pytest.mark.parametrize("rc", [137, 143, -9, -15])
def test_signals_from_outside(rc: int) -> None:
    """A low-memory killer, a time limit of the host: as a shell or a parent process reports it."""
    assert ending(run(rc)) is RunOutcome.KILLED


def test_an_emulator_that_reports_of_a_signal_from_outside() -> None:
    """It names the signal that its program got, and ends as it likes."""
    said = "qemu: uncaught target signal 15 (Terminated) - core dumped\n"

    assert ending(run(1, stderr=said)) is RunOutcome.KILLED


@pytest.mark.parametrize(
    ("said", "signal"),
    [
        ("libc: Fatal signal 11 (SIGSEGV), code 1, fault addr 0x0 in tid 7\n", 11),
        ("libc: Fatal signal 6 (SIGABRT), code -6 in tid 7\n", 6),
        ("qemu: uncaught target signal 6 (Aborted) - core dumped\n", 6),
    ],
)
def test_other_signals_that_the_c_library_turned_into_exit_1(said: str, signal: int) -> None:
    """The number counts, not that there is such a line."""
    assert ending(run(1, stderr=said)) is RunOutcome.CRASHED
    assert ending_signal(run(1, stderr=said)) == signal


@pytest.mark.parametrize("rc", [1, 2, 127, 128, 193, 255])
def test_failed_by_its_own_decision(rc: int) -> None:
    """An exit status that no signal gives, with a log that speaks of none."""
    assert ending(run(rc, stderr=PLAIN_LOG)) is RunOutcome.FAILED
    assert ending_signal(run(rc)) is None


def test_passed() -> None:
    """Exit status 0 is a pass, whatever a program prints."""
    assert ending(run(0, stderr=PLAIN_LOG)) is RunOutcome.PASSED
    assert ending(run(0, stdout="libc: Fatal signal 5 (SIGTRAP)\n")) is RunOutcome.PASSED
    assert ending_signal(run(0)) is None


@pytest.mark.parametrize(
    "said",
    [
        "libc: Fatal signal 5 (SIGTRAP), code 1 in tid 7\n",
        "qemu: uncaught target signal 4 (Illegal instruction) - core dumped\n",
    ],
)
def test_a_trap_that_something_ended_with_0(said: str) -> None:
    """A wrapper swallowed the exit status, not the word of who saw the trap."""
    assert ending(run(0, stderr=said)) is RunOutcome.TRAP


@pytest.mark.parametrize("rc", [0, 1, 133, 137])
def test_timeout(rc: int) -> None:
    """A run that was ended for its time reports nothing else."""
    assert ending(run(rc, timed_out=True)) is RunOutcome.TIMEOUT


@pytest.mark.parametrize(
    "said",
    [
        "the model speaks of signal 5\n",
        "iter 5: libc Fatal signal 5\n",
        "see qemu: uncaught target signal 5 in the manual\n",
    ],
)
def test_text_that_only_looks_like_it(said: str) -> None:
    """Only the whole line of the C library or the emulator counts."""
    assert ending(run(1, stderr=said)) is RunOutcome.FAILED


@given(st.integers(-64, 255), st.text(max_size=80))
def test_every_run_ends_somehow(rc: int, said: str) -> None:
    """Whatever the status and the text, there is one answer."""
    assert ending(run(rc, stderr=said)) in set(RunOutcome)


DATA = Path(__file__).parents[2] / "data"

PREAMBLE = "[21 04:32:52 @:10] creat mdl model use XPU as default comp node\n"
ABORTED = "\nqemu: uncaught target signal 6 (Aborted) - core dumped\n"


@pytest.mark.parametrize(
    ("stderr", "message"),
    [
        (
            (
                f"{PREAMBLE}terminate called after throwing an instance of 'mgb::AssertionError'\n"
                "  what():  assertion `tensormap.find(i.first) != tensormap.end()' failed at about "
                "location info, please build with debug:164: (null)\n"
                f"extra message: can't find tesnor named nope\n{ABORTED}"
            ),
            (
                "mgb::AssertionError: assertion `tensormap.find(i.first) != tensormap.end()' "
                "failed at about location info, please build with debug:164: (null) "
                "extra message: can't find tesnor named nope"
            ),
        ),
        (
            (
                f"{PREAMBLE}terminate called after throwing an instance of 'mgb::AssertionError'\n"
                f"  what():  invalid options of both fast-run and full-run\n{ABORTED}"
            ),
            "mgb::AssertionError: invalid options of both fast-run and full-run",
        ),
        (
            (
                "terminate called after throwing an instance of 'lite::Error'\n"
                "  what():  one\nqemu: uncaught target signal 6 (Aborted) - core dumped\n"
            ),
            "lite::Error: one",
        ),
        (
            "ERROR: illegal value 'abc' specified for int32 flag 'iter'\n",
            "illegal value 'abc' specified for int32 flag 'iter'",
        ),
        (f"{PREAMBLE}[21 04:32:52 @:228][ERR] catch exception: no\n", "catch exception: no"),
        (f"{PREAMBLE}error: cannot open m.mge\n{ABORTED}", "cannot open m.mge"),
        (f"{PREAMBLE}cannot open m.mge  \n{ABORTED}", "cannot open m.mge"),
        (
            (
                "caught exception: assertion `fin' failed at a.cpp:7: void f()\n"
                "extra message: failed to open m.mge\n\nbacktrace:\n  # 1: 0x55  f\n\n"
                "midout: 3 items written to trace.txt\n"
            ),
            "assertion `fin' failed at a.cpp:7: void f() extra message: failed to open m.mge",
        ),
        ("caught exception: stoi\nmidout: 3 items written to t\n", "stoi"),
        ("invalid arg: --nope\nmidout: 0 items written to t\n", "invalid arg: --nope"),
        (f"{PREAMBLE}{ABORTED}", ""),
        ("", ""),
    ],
)
def test_message_of_a_failed_run(stderr: str, message: str) -> None:
    """The exception's text, else an error line, else the last line that is no log."""
    assert error_message(stderr) == message


def test_message_of_the_recorded_refusal() -> None:
    """The newer engine on a flag of the older one."""
    text = (DATA / "logs" / "resnet18-s.winograd.log").read_text(encoding="utf-8")

    assert error_message(text) == "unknown command line flag 'winograd-transform'"


@pytest.mark.parametrize(
    "name",
    [
        "logs/resnet18-s.plain.log",
        "logs/v8-profile.log",
        "logs/v8-reduced-trap.log",
        "logs-android/resnet18-s.plain.log",
        "logs-android/resnet18-s.nchw44.trap-android11.log",
        "logs-android/resnet18-s.nchw44.trap-android6.log",
    ],
)
def test_logs_without_an_error_give_no_message(name: str) -> None:
    """Neither log lines nor the notice of a signal are a message."""
    assert error_message((DATA / name).read_text(encoding="utf-8")) == ""


def test_message_has_a_largest_length() -> None:
    """It stands in reports."""
    assert error_message("x" * 9000) == "x" * 2000


@given(st.text(max_size=200))
def test_any_text_may_hold_a_message(text: str) -> None:
    """Or none."""
    assert isinstance(error_message(text), str)
