from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.load_and_run.program import LOG_LINE
from megtrim.libs.programs.exit_status import (
    ProgramRun,
    RunOutcome,
    ending,
    ending_signal,
    error_message,
)
from megtrim.libs.programs.telemetry import Conditions, Policy, Reading, megahertz

DATA = Path(__file__).parents[3] / "data"
PLAIN_LOG, ANDROID_11, ANDROID_6 = (
    (DATA / "logs-android" / f"resnet18-s.{name}.log").read_text(encoding="utf-8")
    for name in ("plain", "nchw44.trap-android11", "nchw44.trap-android6")
)
QEMU = "qemu: uncaught target signal {}\n"
LIBC = "libc: Fatal signal {}, code 1 in tid 7\n"


def run(rc: int, *, stderr: str = "", stdout: str = "", timed_out: bool = False) -> ProgramRun:
    return ProgramRun(
        argv=("load_and_run",), rc=rc, stdout=stdout, stderr=stderr, wall_s=0.1, timed_out=timed_out
    )


TRAP = RunOutcome.TRAP
CRASHED = RunOutcome.CRASHED
KILLED = RunOutcome.KILLED
FAILED = RunOutcome.FAILED
PASSED = RunOutcome.PASSED


@pytest.mark.parametrize(
    ("statuses", "stderr", "outcome", "signal"),
    [
        # SIGTRAP on Arm, SIGILL on x86, as a shell or a parent process reports it.
        ((133, -5), "", TRAP, 5),
        ((132, -4), "", TRAP, 4),
        # Under emulation, only the C library of Android 11 reports, or the emulator for Android 6.
        ((1,), ANDROID_11, TRAP, 5),
        ((133, 1), ANDROID_6, TRAP, 5),
        # The same line with logcat's columns in front.
        (
            (1,),
            "first\n11-21 04:32:51.123  2853  2853 F libc    : Fatal signal 5 (SIGTRAP), code 1\n",
            TRAP,
            5,
        ),
        # A wrapper swallowed the exit status, not the word of who saw the trap.
        ((0,), LIBC.format("5 (SIGTRAP)"), TRAP, 5),
        ((0,), QEMU.format("4 (Illegal instruction) - core dumped"), TRAP, 4),
        # An abort, a wild pointer: no trap, and still the program's own.
        ((134, -6), "", CRASHED, 6),
        ((139, -11), "", CRASHED, 11),
        ((129,), "", CRASHED, 1),
        ((192,), "", CRASHED, 64),
        # The number counts, not that there is such a line.
        ((1,), LIBC.format("11 (SIGSEGV)"), CRASHED, 11),
        ((1,), LIBC.format("6 (SIGABRT)"), CRASHED, 6),
        ((1,), QEMU.format("6 (Aborted) - core dumped"), CRASHED, 6),
        # A low-memory killer, a time limit of the host, also as the emulator reports it.
        ((137, -9), "", KILLED, 9),
        ((143, -15), "", KILLED, 15),
        ((1,), QEMU.format("15 (Terminated) - core dumped"), KILLED, 15),
        # An exit status that no signal gives, with a log that speaks of none.
        ((1, 2, 127, 128, 193, 255), PLAIN_LOG, FAILED, None),
        # Only the whole line of the C library or the emulator counts.
        ((1,), "the model speaks of signal 5\n", FAILED, None),
        ((1,), "iter 5: libc Fatal signal 5\n", FAILED, None),
        ((1,), "see qemu: uncaught target signal 5 in the manual\n", FAILED, None),
        ((0,), PLAIN_LOG, PASSED, None),
    ],
)
def test_how_a_run_ended(
    statuses: tuple[int, ...], stderr: str, outcome: RunOutcome, signal: int | None
) -> None:
    for rc in statuses:
        assert ending(run(rc, stderr=stderr)) is outcome
        assert ending_signal(run(rc, stderr=stderr)) == signal
        assert ending(run(rc, stderr=stderr, timed_out=True)) is RunOutcome.TIMEOUT


def test_what_a_program_prints_itself_counts_if_it_failed() -> None:
    assert ending(run(1, stdout=ANDROID_11)) is TRAP
    assert ending(run(0, stdout="libc: Fatal signal 5 (SIGTRAP)\n")) is PASSED
    java = "#\n#  SIG{} (0x{}) at pc=0x00007fd2d027c01c, pid=4711, tid=4720\n"
    for name, number, outcome in (("ILL", "4", TRAP), ("TRAP", "5", TRAP), ("SEGV", "b", CRASHED)):
        emulated = run(134, stdout=java.format(name, number), stderr=QEMU.format("6 (Aborted)"))
        assert ending(emulated) is outcome


@given(st.integers(-64, 255), st.text(max_size=200))
def test_every_run_ends_somehow_and_may_hold_a_message(rc: int, said: str) -> None:
    assert ending(run(rc, stderr=said)) in set(RunOutcome)
    assert isinstance(error_message(said, LOG_LINE), str)


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
        # It stands in reports, so it has a largest length.
        ("x" * 9000, "x" * 2000),
    ],
)
def test_message_of_a_failed_run(stderr: str, message: str) -> None:
    assert error_message(stderr, LOG_LINE) == message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        # The newer engine on a flag of the older one.
        ("logs/resnet18-s.winograd.log", "unknown command line flag 'winograd-transform'"),
        # Neither log lines nor the notice of a signal are a message.
        ("logs/resnet18-s.plain.log", ""),
        ("logs/v8-profile.log", ""),
        ("logs/v8-reduced-trap.log", ""),
        ("logs-android/resnet18-s.plain.log", ""),
        ("logs-android/resnet18-s.nchw44.trap-android11.log", ""),
        ("logs-android/resnet18-s.nchw44.trap-android6.log", ""),
    ],
)
def test_messages_of_recorded_runs(name: str, message: str) -> None:
    assert error_message((DATA / name).read_text(encoding="utf-8"), LOG_LINE) == message


SLOW = Policy(
    name="policy0",
    governor="schedutil",
    current_khz=300_000,
    allowed_khz=1_800_000,
    capable_khz=1_800_000,
)
FAST = replace(SLOW, name="policy4", current_khz=2_400_000, allowed_khz=2_400_000,
               capable_khz=2_400_000)  # fmt: skip
GOOD = Reading(
    cpu_c=41.5,
    battery_c=28.9,
    battery_percent=87,
    charging=True,
    thermal_status=0,
    policies=(SLOW, FAST),
)


def invalid(before: Reading = GOOD, after: Reading = GOOD, unmet: str = "") -> str:
    found = Conditions(before=before, after=after, unmet=unmet)
    assert found.note == (f"time not valid: {found.invalid}" if found.invalid else "")
    return found.invalid


def test_a_machine_at_rest_gives_valid_times() -> None:
    assert invalid() == ""
    assert invalid(Reading(), Reading()) == ""
    assert invalid(Reading(thermal_status=0), Reading(policies=(replace(SLOW, allowed_khz=None),)))\
        == ""  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"thermal_status": 1}, "thermal status 1 (light)"),
        ({"thermal_status": 6}, "thermal status 6 (shutdown)"),
        ({"cooling": ("thermal-cpufreq-0", "x")}, "thermal-cpufreq-0 is active"),
        (
            {"policies": (SLOW, replace(FAST, allowed_khz=1_804_800))},
            "policy4 is held to 1804 MHz of 2400 MHz",
        ),
        ({"thermal_status": 3, "cooling": ("x",)}, "thermal status 3 (severe)"),
        ({"cooling": ("firmware:throttled",)}, "firmware:throttled is active"),
        ({"cooling": ("firmware:throttled", "x")}, "x is active"),
    ],
)
def test_a_machine_that_holds_itself_back_gives_none(changes: dict[str, Any], why: str) -> None:
    held = replace(GOOD, **changes)

    assert invalid(before=held) == f"throttled before the run: {why}"
    assert invalid(after=held) == f"throttled after the run: {why}"
    assert held.throttled == why


def test_heat_is_what_waiting_mends() -> None:
    """A cap may stay for ever, and a weak supply does."""
    assert replace(GOOD, thermal_status=2).heat == "thermal status 2 (moderate)"
    assert replace(GOOD, cooling=("firmware:under-voltage", "x")).heat == "x is active"
    assert replace(GOOD, cooling=("firmware:under-voltage",)).heat == ""
    assert replace(GOOD, policies=(replace(SLOW, allowed_khz=1),)).heat == ""
    assert GOOD.heat == ""


def test_a_governor_that_changed_and_what_was_not_reached_give_none() -> None:
    other = replace(GOOD, policies=(SLOW, replace(FAST, governor="powersave")))

    assert invalid(after=other) == ("the governor of policy4 changed from schedutil to powersave")
    assert invalid(after=replace(GOOD, policies=(SLOW,))) == ""
    assert invalid(unmet="60 °C after 5 s") == "60 °C after 5 s"
    assert invalid(after=replace(GOOD, thermal_status=1), unmet="x").startswith("throttled after")


@pytest.mark.parametrize(("percent", "low"), [(0, True), (15, True), (16, False), (None, False)])
@pytest.mark.parametrize("charging", [True, False, None])
def test_a_low_battery_gives_none(percent: int | None, charging: bool | None, low: bool) -> None:
    reading = replace(GOOD, battery_percent=percent, charging=charging)

    assert reading.low_battery is low
    assert invalid(after=reading) == (f"battery at {percent}%" if low else "")
    assert invalid(before=reading) == invalid(after=reading)


def test_lines_tell_what_was_measured() -> None:
    assert (megahertz(1_804_800), megahertz(None)) == ("1804 MHz", "")
    after = replace(
        GOOD,
        cpu_c=68.24,
        battery_percent=86,
        charging=False,
        policies=(replace(SLOW, allowed_khz=900_000), FAST),
        cooling=("b", "a"),
    )

    assert Conditions(before=GOOD, after=after, unmet="too warm").lines() == (
        "CPU: 41.5 °C → 68.2 °C",
        "battery: 87% charging 28.9 °C → 86% not charging 28.9 °C",
        "thermal status: 0 (none)",
        "policy0: schedutil 300 MHz → schedutil 300 MHz, held to 900 MHz",
        "policy4: schedutil 2400 MHz",
        "holding back: a, b",
        "not reached: too warm",
    )
    assert Conditions(before=Reading(), after=Reading()).lines() == ()
    cold = Conditions(before=Reading(), after=Reading(cpu_c=3.0))
    assert cold.lines() == ("CPU: unknown → 3.0 °C",)
    assert Conditions(before=Reading(cpu_c=3.0), after=Reading()).lines() == ("CPU: 3.0 °C",)
    some = Conditions(before=Reading(policies=(FAST,)), after=Reading(policies=(SLOW,)))
    assert some.lines() == ("policy0: unknown → schedutil 300 MHz", "policy4: schedutil 2400 MHz")


@pytest.mark.parametrize(
    ("value", "changes", "said"),
    [
        *(
            (GOOD, changes, f"{said}.*, which no machine can report")
            for changes, said in (
                ({"cpu_c": 200.5}, "cpu_c: found 200.5"),
                ({"battery_c": -60.5}, "battery_c: found -60.5"),
                ({"cpu_c": float("nan")}, "cpu_c: found nan"),
                ({"battery_percent": 101}, "battery_percent: found 101"),
                ({"thermal_status": 7}, "thermal_status: found 7"),
                ({"thermal_status": -1}, "thermal_status: found -1"),
                ({"cooling": ("a\x1b",)}, "cooling: found 'a\\\\x1b'"),
                ({"cooling": ("a",) * 65}, "cooling: found 65"),
                ({"policies": (SLOW,) * 65}, "policies: found 65"),
            )
        ),
        (SLOW, {"name": ""}, "^policy: found ''"),
        (SLOW, {"governor": "a b"}, "^policy: found 'a b'"),
        (SLOW, {"name": "x" * 41}, "^policy: found 'x"),
        (SLOW, {"current_khz": -1}, "^policy0: rate: found -1"),
        (SLOW, {"capable_khz": 100_000_001}, "^policy0: rate: found 100000001"),
        (Conditions(before=GOOD, after=GOOD), {"unmet": "a\nb"}, "^unmet: found"),
        (Conditions(before=GOOD, after=GOOD), {"unmet": "x" * 201}, "^unmet: found"),
    ],
)
def test_what_no_machine_can_say_is_refused(value: Any, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        replace(value, **changes)
