import io
import time
from itertools import pairwise

import pytest

from megtrim.util.console import Console, SparseLines, show_time
from megtrim.util.process import Command, ProcessRunner


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds, as the test says."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_are_said_and_warned_of() -> None:
    stream = io.StringIO()
    console = Console(stream)

    console.say("one")
    console.warn("two")

    assert stream.getvalue() == "one\nwarning: two\n"


def test_quiet_leaves_warnings() -> None:
    stream, clock = Terminal(), Clock()
    console = Console(stream, quiet=True, clock=clock)
    progress = console.progress("building")

    console.say("one")
    console.note("working")
    clock.now += 60
    progress(1, 2, "a.o")
    console.beat()
    console.warn("two")

    assert stream.getvalue() == "warning: two\n"


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_log_gets_a_plain_line_every_15_seconds(stream: io.StringIO) -> None:
    """What a CI service shows of a terminal are whole lines, so a job's gets those of a log."""
    clock = Clock()
    progress = Console(stream, in_job=stream.isatty(), clock=clock).progress("building plain")

    progress(0, 360, "begin")
    for done, after_s in ((1, 14.9), (30, 0.1), (31, 14.9), (60, 0.1)):
        clock.now += after_s
        progress(done, 360, f"Building {done}{'.o' * 40}")

    assert stream.getvalue() == "".join(
        f"  building plain: {done}/360 · Building {done}{('.o' * 40)[:49]}\n" for done in (30, 60)
    )


def test_a_terminal_gets_one_line_that_changes() -> None:
    stream, clock = Terminal(), Clock()
    console = Console(stream, clock=clock)
    progress = console.progress("building")

    progress(0, 4, "begin")
    for done, after_s in ((1, 0.1), (2, 0.15), (3, 0.1), (4, 0.15)):
        clock.now += after_s
        progress(done, 4, f"{done}.o")
    console.say("done")
    console.say("again")

    assert stream.getvalue() == (
        "\r\x1b[2K  building: 2/4 · 2.o\r\x1b[2K  building: 4/4 · 4.o\r\x1b[2Kdone\nagain\n"
    )


def test_a_warning_also_begins_on_a_clean_line() -> None:
    stream = Terminal()
    console = Console(stream)

    console.show("3 of 4")
    console.warn("careful")

    assert stream.getvalue() == "\r\x1b[2K3 of 4\r\x1b[2Kwarning: careful\n"


def test_a_heartbeat_says_what_is_done_and_for_how_long() -> None:
    terminal, log, clock = Terminal(), io.StringIO(), Clock()
    for stream, silence_s in ((terminal, 2), (log, 20)):
        console = Console(stream, clock=clock)
        console.say("  run   verify/m")
        clock.now += silence_s - 0.1
        console.beat()
        clock.now += 0.1
        console.beat()
        console.beat()

    assert terminal.getvalue() == "  run   verify/m\n\r\x1b[2K  run   verify/m · 2 s"
    assert log.getvalue() == "  run   verify/m\n  run   verify/m · 20 s\n"


def test_a_heartbeat_knows_the_step_that_was_not_worth_showing() -> None:
    stream, clock = Terminal(), Clock()
    console = Console(stream, clock=clock)
    progress = console.progress("building plain")

    progress(0, 0, "configuring the engine")
    clock.now += 70
    console.beat()
    console.say("done")

    shown = "  building plain: configuring the engine · 1 min 10 s"
    assert stream.getvalue() == f"\r\x1b[2K{shown}\r\x1b[2Kdone\n"


def test_a_silent_program_does_not_stop_the_screen() -> None:
    written: list[float] = []

    class Watched(Terminal):
        def write(self, text: str) -> int:
            written.append(time.monotonic())
            return super().write(text)

    stream = Watched()
    console = Console(stream)
    began = time.monotonic()
    with console.heartbeat():
        console.say("  run   build/plain")
        ProcessRunner({}).run(Command(argv=("/bin/sleep", "7"), timeout_s=30))

    times = [began, *written, time.monotonic()]
    assert max(later - sooner for sooner, later in pairwise(times)) < 5
    assert stream.getvalue().endswith("\r\x1b[2K")


def test_sparse_lines_are_said_every_15_seconds() -> None:
    said, clock = list[str](), Clock()
    lines = SparseLines(said.append, clock)

    for text, after_s in (("1", 0), ("2", 14.9), ("3", 0.1), ("4", 1)):
        clock.now += after_s
        lines.say(text)
    lines.say_now("5")
    clock.now += 14.5
    lines.say("6")

    assert said == ["3", "5"]


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0 s"), (42.4, "42 s"), (60, "1 min 0 s"), (1621, "27 min 1 s")]
)
def test_times_that_are_left_are_shown_in_whole_seconds(seconds: float, shown: str) -> None:
    assert show_time(seconds) == shown
