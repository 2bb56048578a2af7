"""Every recorded log, in both dialects, value by value; and what failed runs say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.logs import Iteration, RunLog, error_message, parse_log
from megtrim.load_and_run.timing_logs.lines import Summary

DATA = Path(__file__).parents[2] / "data"

VAR_SHAPE = (
    "Non-const var shape detected. Make sure all shapes are constant. "
    "Check whether 'const_var_shape' is set in GraphLoadConfig under record mode"
)
"""What the engine warns of when it records the sequence of its commands."""


def log(name: str) -> RunLog:
    return parse_log((DATA / name).read_text(encoding="utf-8"))


def test_newer_dialect() -> None:
    """From 1.7 on: a prefix of time and line, end to end and host times."""
    assert log("logs/resnet18-s.plain.log") == RunLog(
        engine_version="1.9999.0",
        load_ms=174.860,
        prepare_ms=(66.174,),
        warmup_ms=(445.391,),
        iterations=(
            Iteration(whole_ms=36.042, host_ms=8.413, device_ms=None),
            Iteration(whole_ms=27.953, host_ms=6.698, device_ms=None),
            Iteration(whole_ms=26.508, host_ms=5.506, device_ms=None),
            Iteration(whole_ms=31.425, host_ms=2.041, device_ms=None),
            Iteration(whole_ms=32.018, host_ms=2.015, device_ms=None),
        ),
        summaries=(
            Summary(
                total_ms=153.946,
                average_ms=30.789,
                deviation_ms=3.738,
                minimum_ms=26.508,
                maximum_ms=36.042,
            ),
        ),
        total_ms=153.946,
        warnings=(),
    )


def test_older_dialect() -> None:
    """Up to 1.6: no prefix, execution and device times, one warning of the graph's hash."""
    found = log("logs/v8-reduced.log")

    assert found.engine_version == "8.4.1"
    assert found.load_ms == 74.208
    assert found.prepare_ms == (1.251,)
    assert found.warmup_ms == (377.813,)
    assert len(found.iterations) == 10
    assert found.iterations[0] == Iteration(whole_ms=266.996, host_ms=266.993, device_ms=266.854)
    assert found.iterations[9] == Iteration(whole_ms=266.767, host_ms=266.766, device_ms=266.755)
    assert found.summaries == (
        Summary(
            total_ms=2669.257,
            average_ms=266.926,
            deviation_ms=0.216,
            minimum_ms=266.685,
            maximum_ms=267.376,
        ),
    )
    assert found.total_ms == 2669.257


@pytest.mark.parametrize(
    ("name", "load_ms", "prepare_ms", "warmup_ms", "average_ms", "deviation_ms"),
    [
        ("logs/mobilenet-s.cached.log", 94.986, (60.462,), (329.612,), 21.618, 1.365),
        (
            "logs/mobilenet-s.fakefirst.log",
            114.162,
            (57.628, 0.566),
            (168.637, 97.622),
            40.013,
            6.382,
        ),
        ("logs/mobilenet-s.fastrun.log", 66.212, (32.79,), (4312.9,), 27.127, 7.371),
        ("logs/mobilenet-s.fullrun.log", 60.949, (32.291,), (20121.751,), 27.035, 5.567),
        ("logs/mobilenet-s.fuse.log", 69.51, (57.708,), (633.502,), 24.376, 2.44),
        ("logs/mobilenet-s.fusez.log", 68.712, (36.109,), (410.795,), 23.519, 1.802),
        ("logs/mobilenet-s.layout.log", 67.37, (9086.264,), (103.785,), 27.271, 4.98),
        ("logs/mobilenet-s.multithread.log", 129.161, (57.262,), (187.782,), 26.533, 5.301),
        ("logs/mobilenet-s.nchw44.log", 72.436, (833.077,), (455.794,), 28.236, 5.123),
        ("logs/mobilenet-s.nchw44dot.log", 109.283, (1255.931,), (380.177,), 20.185, 0.837),
        ("logs/mobilenet-s.plain.log", 106.179, (44.916,), (268.03,), 22.933, 6.265),
        ("logs/mobilenet-s.rec1.log", 64.948, (33.658,), (465.914,), 17.627, 1.352),
        ("logs/mobilenet-s.rec2.log", 67.268, (132.293,), (34.047,), 21.885, 1.562),
        ("logs/mobilenet-s.wp.log", 109.128, (47.384,), (294.45,), 21.718, 1.385),
        ("logs/resnet18-s.cached.log", 124.28, (91.68,), (957.924,), 44.246, 5.838),
        ("logs/resnet18-s.fakefirst.log", 88.199, (66.061, 0.44), (105.547, 72.737), 29.334, 1.334),
        ("logs/resnet18-s.fastrun.log", 89.641, (58.7,), (12417.284,), 54.43, 13.217),
        ("logs/resnet18-s.fullrun.log", 132.982, (59.489,), (25732.519,), 40.456, 7.898),
        ("logs/resnet18-s.fuse.log", 76.074, (47.563,), (670.708,), 25.895, 2.484),
        ("logs/resnet18-s.fusez.log", 77.678, (50.674,), (463.175,), 35.2, 3.523),
        ("logs/resnet18-s.layout.log", 68.393, (15921.126,), (142.88,), 38.91, 9.164),
        ("logs/resnet18-s.multithread.log", 97.508, (65.085,), (753.105,), 31.44, 6.124),
        ("logs/resnet18-s.nchw44.log", 90.075, (787.237,), (915.283,), 40.2, 2.013),
        ("logs/resnet18-s.nchw44dot.log", 131.689, (1332.133,), (525.821,), 33.21, 2.557),
        ("logs/resnet18-s.plain.log", 174.86, (66.174,), (445.391,), 30.789, 3.738),
        ("logs/resnet18-s.rec1.log", 82.411, (64.347,), (701.713,), 21.229, 2.222),
        ("logs/resnet18-s.rec2.log", 90.605, (131.876,), (31.545,), 19.794, 0.601),
        ("logs/resnet18-s.wp.log", 117.955, (84.847,), (383.263,), 29.532, 7.578),
        ("logs/v8-profile.log", 70.888, (4.873,), (877.578,), 480.233, 0.688),
        ("logs/v8-reduced-fastrun-cache.log", 64.228, (260.058,), (279.55,), 208.839, 0.191),
        ("logs/v8-reduced.log", 74.208, (1.251,), (377.813,), 266.926, 0.216),
        ("logs-android/mobilenet-s.nchw44.log", 73.911, (742.544,), (516.88,), 22.623, 1.445),
        ("logs-android/mobilenet-s.plain.log", 63.797, (42.52,), (553.85,), 25.302, 1.805),
        ("logs-android/resnet18-s.multithread.log", 60.086, (35.987,), (746.084,), 49.363, 5.595),
        ("logs-android/resnet18-s.nchw44.log", 73.763, (1534.69,), (680.655,), 29.373, 2.806),
        ("logs-android/resnet18-s.plain.log", 60.393, (35.711,), (100.01,), 24.882, 3.366),
        ("logs-android/resnet18-s.rec1.log", 61.029, (44.071,), (780.932,), 24.027, 3.506),
    ],
)
def test_every_recorded_run_that_passed(
    name: str,
    load_ms: float,
    prepare_ms: tuple[float, ...],
    warmup_ms: tuple[float, ...],
    average_ms: float,
    deviation_ms: float,
) -> None:
    """Each log gives its own figures, and its iterations agree with its summary."""
    found = log(name)

    assert (found.load_ms, found.prepare_ms, found.warmup_ms) == (load_ms, prepare_ms, warmup_ms)
    assert len(found.summaries) == 1
    assert found.summaries[0].average_ms == average_ms
    assert found.summaries[0].deviation_ms == deviation_ms
    assert found.total_ms == found.summaries[0].total_ms
    whole = [each.whole_ms for each in found.iterations]
    assert len(whole) == (10 if "v8-" in name else 5)
    assert min(whole) == found.summaries[0].minimum_ms
    assert max(whole) == found.summaries[0].maximum_ms
    assert sum(whole) / len(whole) == pytest.approx(average_ms, abs=0.002)
    expected = (VAR_SHAPE,) if ".rec" in name else ()
    assert found.warnings == expected or "v8-" in name


def test_warnings_of_the_older_dialect() -> None:
    """Each warning is one line, without its prefix."""
    found = log("logs/v8-reduced-fastrun-cache.log")

    assert found.warnings[0] == "enable winograd transform"
    assert found.warnings[1].startswith("Graph (with hash 10003400899095033006) is not among")
    assert len(found.warnings) == 2


def test_run_that_trapped_ends_after_prepare() -> None:
    """A log that was cut off says what was reached."""
    found = log("logs/v8-reduced-trap.log")

    assert found.load_ms == 71.927
    assert found.prepare_ms == (1.251,)
    assert found.warmup_ms == ()
    assert found.iterations == ()
    assert found.summaries == ()
    assert found.total_ms is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        (DATA / "logs" / "resnet18-s.winograd.log").read_text(encoding="utf-8"),
        (DATA / "logs-android" / "resnet18-s.nchw44.trap-android11.log").read_text("utf-8"),
    ],
)
def test_build_that_logs_nothing(text: str) -> None:
    """A minimum-size build prints nothing at all."""
    assert parse_log(text) == RunLog(
        engine_version="",
        load_ms=None,
        prepare_ms=(),
        warmup_ms=(),
        iterations=(),
        summaries=(),
        total_ms=None,
        warnings=(),
    )


def test_fitting_logs_no_test() -> None:
    """The engine's own search for flags logs in words of its own."""
    found = log("logs/resnet18-s.fitting.log")

    assert found.engine_version == "1.9999.0"
    assert found.summaries == ()


@pytest.mark.parametrize("space", ["", " "])
def test_dialect_between(space: str) -> None:
    """1.7 and 1.8 write no space before the unit, 1.9 does; neither says a device's time."""
    ms = f"{space}ms"
    found = parse_log(
        f"warm up 0  3.000ms\niter 0/2: 1.500{ms} (exec=0.250{ms})\n"
        f"iter 1/2: 2.500{ms} (exec=0.500{ms})\n\n"
        f"=== finished test #0: time=4.000{ms} avg_time=2.000{ms} sexec=0.500{ms} "
        f"min=1.500{ms} max=2.500{ms}\n"
    )

    assert found.warmup_ms == (3.0,)
    assert found.iterations == (
        Iteration(whole_ms=1.5, host_ms=0.25, device_ms=None),
        Iteration(whole_ms=2.5, host_ms=0.5, device_ms=None),
    )
    assert found.summaries == (
        Summary(total_ms=4.0, average_ms=2.0, deviation_ms=0.5, minimum_ms=1.5, maximum_ms=2.5),
    )


def test_model_without_inputs_in_the_older_dialect() -> None:
    """Its runs are logged in other words, with one time each."""
    found = parse_log(
        "=== going to run for 2 times; output vars: a{1}\n"
        "=== finished run #0: time=12.500ms\n=== finished run #1: time=11.250ms\n"
        "avg time: 11.875ms\n"
    )

    assert found.iterations == (
        Iteration(whole_ms=12.5, host_ms=None, device_ms=None),
        Iteration(whole_ms=11.25, host_ms=None, device_ms=None),
    )


@pytest.mark.parametrize("nothing", ["nan", "-nan"])
def test_single_iteration_has_no_deviation(nothing: str) -> None:
    """As logged for --iter 1."""
    found = parse_log(
        "[21 04:32:52 @:103] === finished test #0: time=923.218 ms avg_time=923.218 ms "
        f"standard_deviation={nothing} ms min=923.218 ms max=923.218 ms\n"
    )

    assert math.isnan(found.summaries[0].deviation_ms)
    assert found.summaries[0].maximum_ms == 923.218


@given(st.text(max_size=200))
def test_any_text_is_a_log(text: str) -> None:
    """Lines of other kinds are passed over."""
    assert parse_log(text).summaries == ()
    assert isinstance(error_message(text), str)


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
