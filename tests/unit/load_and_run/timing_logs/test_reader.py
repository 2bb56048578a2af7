"""The strict reader: recorded logs, made logs of every release, and each way to damage them."""

from __future__ import annotations

import io
import re
import string
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from megtrim.load_and_run.timing_logs.lines import LogDialect
from megtrim.load_and_run.timing_logs.reader import read_timing_log
from megtrim.load_and_run.timing_logs.timing_log import DamagedLog, NoTimes, TimingLog
from support.timing_logs import MADE, Form, MadeLog, read

DATA = Path(__file__).parents[3] / "data"
FAILED = {
    "logs/mobilenet-s.fitting.log": "a line of --fitting, which times many settings",
    "logs/resnet18-s.fitting.log": "a line of --fitting, which times many settings",
    "logs/v8-reduced-trap.log": "found the end of the log, expected warmup 0",
}
SILENT = {
    *("logs/mobilenet-s.winograd.log", "logs/resnet18-s.winograd.log"),
    "logs-android/resnet18-s.nchw44.trap-android11.log",
    "logs-android/resnet18-s.nchw44.trap-android6.log",
}
RECORDED = sorted(path.relative_to(DATA).as_posix() for path in DATA.glob("logs*/*.log"))

_MS = st.floats(0.001, 99_999, allow_nan=False)
_ITERATION = st.tuples(_MS, _MS, _MS)


@st.composite
def made_logs(draw: st.DrawFn, form: Form | None = None) -> MadeLog:
    """Draw a log of any release."""
    form = form or draw(st.sampled_from(Form))
    several = form not in (Form.INPUT, Form.BARE)
    tests = st.lists(
        st.lists(_ITERATION, min_size=1, max_size=12).map(tuple),
        min_size=1,
        max_size=3 if several else 1,
    )
    return MadeLog(
        form=form,
        load_ms=draw(_MS),
        prepare_ms=draw(_MS),
        warmup_ms=tuple(draw(st.lists(_MS, min_size=1, max_size=3))),
        tests=tuple(draw(tests)),
    )


def rounded(times: list[float]) -> list[float]:
    return [float(f"{each:.3f}") for each in times]


def lines_with_times(made: MadeLog) -> list[int]:
    """Return the numbers of the lines with times, from 0."""
    opening = len(made.opening())
    return [opening + i for i, line in enumerate(made.times()) if line]


def expect_damage(lines: list[str], made: MadeLog) -> None:
    """The log of these lines must be refused, and the message must name file and line."""
    counts = {len(test) for test in made.tests}
    asked = {"warmups": len(made.warmup_ms)}
    with pytest.raises(DamagedLog, match=r"^x\.log:\d+: found .+, expected .+"):
        read("\n".join(lines) + "\n", iterations=min(counts) if len(counts) == 1 else None, **asked)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_logs(name: str) -> None:
    """Each recorded log is read whole, is silent, or is refused for what it is."""
    data = (DATA / name).read_bytes()
    if name in FAILED:
        with pytest.raises(DamagedLog, match=FAILED[name]):
            read(data)
        return
    found = read(data)
    if name in SILENT:
        assert found == NoTimes()
        return
    assert isinstance(found, TimingLog)
    assert found.engine_version in ("1.9999.0", "8.4.1")
    assert len(found.tests[0].whole_ms) == len(re.findall(rb"^[^\n]*iter \d+/", data, re.M))


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
    """Value by value, in both dialects."""
    found = read((DATA / name).read_bytes())

    assert isinstance(found, TimingLog)
    assert (found.load_ms, found.prepare_ms, found.warmup_ms) == (load_ms, prepare_ms, warmup_ms)
    summary = found.tests[0].summary
    assert summary is not None
    assert (summary.average_ms, summary.deviation_ms) == (average_ms, deviation_ms)


def test_recorded_fake_first() -> None:
    """Both warm-ups have their own time, and their own preparation."""
    found = read((DATA / "logs/resnet18-s.fakefirst.log").read_bytes(), iterations=5, warmups=2)

    assert isinstance(found, TimingLog)
    assert found.dialect is LogDialect.E2E
    assert found.warmup_ms == (105.547, 72.737)
    assert found.prepare_ms == (66.061, 0.44)
    assert list(found.tests[0].host_ms) == [2.135, 2.008, 2.127, 1.878, 1.997]


@given(made_logs(), st.sampled_from(["\n", "\r\n"]))
def test_made_logs_round_trip(made: MadeLog, line_end: str) -> None:
    """A log of any release gives the times that it was made from."""
    found = read(made.text().replace("\n", line_end), warmups=len(made.warmup_ms))

    assert isinstance(found, TimingLog)
    assert found.dialect is made.form.dialect
    assert found.engine_version == made.version
    assert [found.load_ms] == rounded([made.load_ms])
    assert list(found.warmup_ms) == rounded(list(made.warmup_ms))
    prepared = 1 if made.form.old else len(made.warmup_ms)
    assert list(found.prepare_ms) == rounded([made.prepare_ms] * prepared)
    assert (found.total_ms is None) == (made.form in (Form.INPUT, Form.BARE))
    for test, times in zip(found.tests, made.tests, strict=True):
        whole, host, device = (rounded(list(column)) for column in zip(*times, strict=True))
        assert list(test.whole_ms) == whole
        assert list(test.host_ms) == ([] if made.form is Form.BARE else host)
        with_device = made.form in (Form.CASES, Form.INPUT)
        assert list(test.device_ms) == (device if with_device else [])
        assert (test.summary is None) == (made.form is Form.BARE)


@given(made_logs(), st.data())
def test_a_missing_line_is_found(made: MadeLog, data: st.DataObject) -> None:
    """Whichever line with times is missing."""
    lines = made.text().splitlines()
    del lines[data.draw(st.sampled_from(lines_with_times(made)))]
    expect_damage(lines, made)


@given(made_logs(), st.data())
def test_a_repeated_line_is_found(made: MadeLog, data: st.DataObject) -> None:
    """Whichever line with times stands there twice, at once or later."""
    lines = made.text().splitlines()
    at = data.draw(st.sampled_from(lines_with_times(made)))
    lines.insert(data.draw(st.integers(at, len(lines))), lines[at])
    expect_damage(lines, made)


@given(made_logs(), st.data())
def test_exchanged_lines_are_found(made: MadeLog, data: st.DataObject) -> None:
    """Any two lines with times that differ."""
    lines = made.text().splitlines()
    chosen = st.sampled_from(lines_with_times(made))
    one, other = data.draw(chosen), data.draw(chosen)
    assume(lines[one] != lines[other])
    lines[one], lines[other] = lines[other], lines[one]
    expect_damage(lines, made)


@given(made_logs(), st.data())
def test_a_cut_log_is_found(made: MadeLog, data: st.DataObject) -> None:
    """Wherever it ends after the engine's version, even within a line."""
    text = made.text()
    last = made.times()[-1] or made.times()[-2]
    end = text.rindex(last) + len(last)
    cut = data.draw(st.integers(len("\n".join(made.opening())), end - 1))
    with pytest.raises(DamagedLog):
        read(text[:cut])


@given(made_logs(), st.data())
def test_a_strange_character_is_found(made: MadeLog, data: st.DataObject) -> None:
    """Any letter, blank or mark in place of any character of a line with times."""
    lines = made.text().splitlines()
    at = data.draw(st.sampled_from(lines_with_times(made)))
    body = lines[at].partition("] ")[2] if lines[at].startswith("[") else lines[at]
    body = body.partition("output vars")[0]
    place = len(lines[at]) - len(lines[at].partition("] ")[2] or lines[at])
    place = data.draw(st.integers(place, place + len(body) - 1))
    strange = data.draw(st.sampled_from(string.ascii_letters + " -#\x00\x1b"))
    assume(strange != lines[at][place])
    lines[at] = lines[at][:place] + strange + lines[at][place + 1 :]
    expect_damage(lines, made)


@given(made_logs(), st.data())
def test_another_time_is_found(made: MadeLog, data: st.DataObject) -> None:
    """A whole iteration that is off by more than rounding disagrees with the summary."""
    assume(made.form is not Form.BARE)
    at = data.draw(st.integers(0, len(made.tests) - 1))
    test = made.tests[at]
    number = data.draw(st.integers(0, len(test) - 1))
    whole, *others = test[number]
    off = data.draw(st.floats(0.02, 1000)) * data.draw(st.sampled_from([1, -1]))
    assume(whole + off > 0)
    other = (*test[:number], (whole + off, *others), *test[number + 1 :])
    tests = (*made.tests[:at], other, *made.tests[at + 1 :])
    changed = MadeLog(
        form=made.form,
        load_ms=made.load_ms,
        prepare_ms=made.prepare_ms,
        warmup_ms=made.warmup_ms,
        tests=tests,
    )
    lines = [
        wrong if "iter" in wrong else right
        for right, wrong in zip(made.times(), changed.times(), strict=True)
    ]
    expect_damage([*made.opening(), *lines], made)


@given(made_logs(), made_logs(), st.data())
def test_logs_of_two_processes_are_found(one: MadeLog, other: MadeLog, data: st.DataObject) -> None:
    """However their lines are mixed, or one after the other."""
    first, second = one.text().splitlines(), other.text().splitlines()
    turns = data.draw(st.permutations([0] * len(first) + [1] * len(second)))
    sources = (iter(first), iter(second))
    expect_damage([next(sources[turn]) for turn in turns], one)
    expect_damage(first + second, one)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing but the one error escapes."""
    try:
        read(data)
    except DamagedLog as error:
        assert error.message.startswith("x.log:")


@settings(max_examples=30)
@given(made_logs(), st.integers(1, 400))
def test_short_reads_change_nothing(made: MadeLog, size: int) -> None:
    """A pipe gives what it has."""

    class Pipe(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            return super().read(size)

    text = made.text().encode()
    # A deviation that is not a number equals nothing.
    assert repr(read_timing_log(Pipe(text), source="x.log")) == repr(read(text))


@pytest.mark.parametrize(
    "text", ["", "\n", "WARNING: linker: lar: unsupported flags\n", "midout: 3 items written\n"]
)
def test_a_build_that_prints_nothing_has_no_times(text: str) -> None:
    """That is no damage, but a value of its own."""
    assert read(text) == NoTimes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("using MegBrain 1.9.0(0) and MegDNN 9.3.0\n", "the end of the log, expected load model"),
        ("[20 20:42:51 @:10] creat mdl model\n", "the end of the log, expected load model"),
        ("load model: nanms\n", "the line 'load model: nanms'"),
        ("load model: 1.000ms\nload model: 1.000ms\n", "x.log:2: found a second load model"),
        ("ok\nl\xe9\x00\n", "x.log:2: found the byte 0x00, expected text"),
        ("iter 0/1: 1.000ms (exec=1.000ms)\n", "found iter 0/1, expected load model"),
    ],
)
def test_messages(text: str, message: str) -> None:
    """They say what was found, what was expected, and where."""
    with pytest.raises(DamagedLog) as caught:
        read(text)
    assert message in caught.value.message


def test_bytes_that_are_no_text() -> None:
    """The first of them is named with its line."""
    with pytest.raises(DamagedLog, match=r"x\.log:3: found the byte 0xff"):
        read(b"a\nb\nc \xff\n")


def test_a_line_without_end_is_refused() -> None:
    """It would fill the memory."""
    with pytest.raises(DamagedLog, match=r"x\.log:2: found a line of more than 1048576 bytes"):
        read(b"ok\n" + b"x" * 3_000_000)


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("time=22.000", "time=22.100", "time=22.100 ms, where the iterations have 22.000"),
        ("avg_time=11.000", "avg_time=11.002", "avg_time=11.002 ms, where"),
        ("min=10.000", "min=10.001", "min=10.001 ms, where the iterations have 10.000 ms"),
        ("max=12.000", "max=12.001", "max=12.001 ms"),
        ("deviation=1.414", "deviation=1.417", "a standard deviation of 1.417 ms, where"),
        ("deviation=1.414", "deviation=-nan", "a standard deviation of nan ms, where"),
        ("total time: 22.000", "total time: 22.003", "found a total time of 22.003 ms"),
        ("min=10.000", "min=nan", "found the line '"),
        ("host=1.000", "host=-nan", "found the line '"),
    ],
)
def test_a_summary_that_disagrees(right: str, wrong: str, message: str) -> None:
    """Each figure of it is compared."""
    text = MADE.text()
    assert right in text
    with pytest.raises(DamagedLog) as caught:
        read(text.replace(right, wrong))
    assert message in caught.value.message
