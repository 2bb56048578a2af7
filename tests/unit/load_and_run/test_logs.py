"""What failed runs say, of every recorded one, too."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.logs import error_message

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
