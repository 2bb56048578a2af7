import re
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from megtrim.engines.load_and_run.timing_log import read_timing_log
from megtrim.libs.programs.timing_log import DamagedLog, TimingLog
from support.timing_logs import MADE, Form, MadeLog

DATA = Path(__file__).parents[3] / "data"
FAILED = {
    "logs/mobilenet-s.fitting.log": "found the line '[20 20:45:52 @:220] config model time",
    "logs/resnet18-s.fitting.log": "config model time",
    "logs/v8-reduced-trap.log": "found the end of the log, expected warm up or warmup",
}
SILENT = {
    "logs/mobilenet-s.winograd.log",
    "logs/resnet18-s.winograd.log",
    "logs-android/resnet18-s.nchw44.trap-android11.log",
    "logs-android/resnet18-s.nchw44.trap-android6.log",
}
RECORDED = sorted(path.relative_to(DATA).as_posix() for path in DATA.glob("logs*/*.log"))
_MS = st.floats(0.001, 99_999, allow_nan=False)
_ITERATION = st.tuples(_MS, _MS, _MS)
Damage = Callable[[MadeLog, st.DataObject], str]


def read(text: str, made: MadeLog = MADE) -> TimingLog | None:
    counts = {"iterations": len(made.tests[0]), "warmups": len(made.warmup_ms)}
    return read_timing_log(text, source="x.log", **counts)


@st.composite
def made_logs(draw: st.DrawFn) -> MadeLog:
    form = draw(st.sampled_from(Form))
    length = draw(st.integers(1, 12))
    most = 1 if form in (Form.INPUT, Form.BARE) else 3
    test = st.lists(_ITERATION, min_size=length, max_size=length).map(tuple)
    return MadeLog(
        form=form,
        load_ms=draw(_MS),
        prepare_ms=draw(_MS),
        warmup_ms=tuple(draw(st.lists(_MS, min_size=1, max_size=3))),
        tests=tuple(draw(st.lists(test, min_size=1, max_size=most))),
    )


def rounded(times: list[float]) -> list[float]:
    return [float(f"{each:.3f}") for each in times]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_logs(name: str) -> None:
    """Each is read whole, so that the mean is the program's own, or silent, or refused."""
    text = (DATA / name).read_text(encoding="utf-8")
    counts = re.findall(r"iter \d+/(\d+):", text) or ["5"]
    warmups = re.findall(r"^(?:\[[^\]\n]*\] )?warm ?up \d+(?:  |: )([\d.]+)ms", text, re.M)
    asked = {"iterations": int(counts[0]), "warmups": len(warmups)}
    if name in FAILED:
        with pytest.raises(DamagedLog, match=re.escape(FAILED[name])):
            read_timing_log(text, source="x.log", **asked)
        return
    found = read_timing_log(text, source="x.log", **asked)
    if name in SILENT:
        assert found is None
        return
    assert found is not None
    assert len(found.iterations_ms) == len(counts)
    assert found.warmups_ms == [float(each) for each in warmups]
    assert found.prepare_ms == [float(each) for each in re.findall(r"prepare: ([\d.]+)ms", text)]
    average = re.search(r"avg_time=([\d.]+)", text)
    assert average is not None
    assert mean(found.iterations_ms) == pytest.approx(float(average[1]), abs=0.0011)


@given(made_logs())
def test_every_release_is_read(made: MadeLog) -> None:
    found = read(made.text(), made)

    assert found is not None
    assert found.warmups_ms == rounded(list(made.warmup_ms))
    prepared = 1 if made.form.old else len(made.warmup_ms)
    assert found.prepare_ms == rounded([made.prepare_ms] * prepared)
    assert found.iterations_ms == rounded([each[0] for test in made.tests for each in test])


def _choose(made: MadeLog, data: st.DataObject) -> tuple[list[str], int]:
    opening = len(made.opening())
    places = [opening + i for i, line in enumerate(made.times()) if line]
    return made.text().splitlines(), data.draw(st.sampled_from(places))


def _lose(made: MadeLog, data: st.DataObject) -> str:
    lines, at = _choose(made, data)
    return "\n".join((*lines[:at], *lines[at + 1 :]))


def _repeat(made: MadeLog, data: st.DataObject) -> str:
    lines, at = _choose(made, data)
    lines.insert(data.draw(st.integers(at, len(lines))), lines[at])
    return "\n".join(lines)


def _exchange(made: MadeLog, data: st.DataObject) -> str:
    lines, one = _choose(made, data)
    _, other = _choose(made, data)
    assume(lines[one] != lines[other])
    lines[one], lines[other] = lines[other], lines[one]
    return "\n".join(lines)


def _cut(made: MadeLog, data: st.DataObject) -> str:
    text = made.text()
    last = made.times()[-1] or made.times()[-2]
    first = len("\n".join(made.opening()))
    return text[: data.draw(st.integers(first, text.rindex(last) + len(last) - 1))]


def _garble(made: MadeLog, data: st.DataObject) -> str:
    lines, at = _choose(made, data)
    head, mark, body = lines[at].rpartition("] ") if lines[at][0] == "[" else ("", "", lines[at])
    place = data.draw(st.integers(0, len(body.partition("output vars")[0]) - 1))
    strange = data.draw(st.sampled_from(string.ascii_letters + " -#\x00\x1b"))
    assume(strange != body[place])
    lines[at] = f"{head}{mark}{body[:place]}{strange}{body[place + 1 :]}"
    return "\n".join(lines)


def _change_a_time(made: MadeLog, data: st.DataObject) -> str:
    assume(made.form is not Form.BARE)
    first, *others = made.tests[0]
    off = data.draw(st.floats(0.02, 1000)) * data.draw(st.sampled_from([1, -1]))
    assume(first[0] + off > 0)
    changed = replace(made, tests=(((first[0] + off, *first[1:]), *others), *made.tests[1:]))
    pairs = zip(made.text().splitlines(), changed.text().splitlines(), strict=True)
    return "\n".join(wrong if "iter" in wrong else right for right, wrong in pairs)


def _append(made: MadeLog, data: st.DataObject) -> str:
    return made.text() + data.draw(made_logs()).text()


def _mix(made: MadeLog, data: st.DataObject) -> str:
    logs = made.text().splitlines(), data.draw(made_logs()).text().splitlines()
    turns = data.draw(st.permutations([0] * len(logs[0]) + [1] * len(logs[1])))
    sources = iter(logs[0]), iter(logs[1])
    return "\n".join(next(sources[turn]) for turn in turns)


@pytest.mark.parametrize(
    "damage", [_lose, _repeat, _exchange, _cut, _garble, _change_a_time, _append, _mix]
)
@given(made=made_logs(), data=st.data())
def test_damage_is_named(damage: Damage, made: MadeLog, data: st.DataObject) -> None:
    text = damage(made, data)
    with pytest.raises(DamagedLog, match=r"^x\.log:\d+: found .+, expected .+") as caught:
        read(text, made)
    assert "do not use its times" in caught.value.hint


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except DamagedLog as error:
        assert error.message.startswith("x.log:")


@pytest.mark.parametrize(
    "text", ["", "\n", "WARNING: linker: lar: unsupported flags\n", "midout: 3 items written\n"]
)
def test_a_build_that_prints_nothing_has_no_times(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("", "using MegBrain 1.9.0(0) and MegDNN 9.3.0", "the end of the log, expected load model"),
        ("", "[20 20:42:51 @:10] creat mdl model", "the end of the log, expected load model"),
        ("", "load model: nanms", "x.log:1: found the line 'load model: nanms'"),
        ("", "load model: 1.000ms\nload model: 1.000ms", "x.log:2: found 'load model: 1.000ms'"),
        ("", "iter 0/1: 1.000ms (exec=1.000ms)", "expected load model"),
        ("time=22.000", "time=22.100", "found '[20 20:42:51 @:103] === finished test #0"),
        ("host=1.000", "host=-nan", "found the line '"),
        ("min=10.000", "min=nan", "found the line '"),
        ("0/2", "0/3", "x.log:7: found '[20 20:42:51 @:89] iter 0/3"),
        ("e2e=12.000 ms (host=1.000 ms)", "12.000ms (exec=1.000ms)", "expected iter … e2e=…"),
        ("warm up 0  3.000ms", "", "expected warm up"),
        ("iter 1/2", "iter 0/2", "(1 warm-ups, 2 iterations in a test; 1 so far)"),
    ],
)
def test_messages(right: str, wrong: str, message: str) -> None:
    with pytest.raises(DamagedLog) as caught:
        read(MADE.text().replace(right, wrong) if right else f"{wrong}\n")
    assert message in caught.value.message


def test_no_warm_up_from_1_7_on() -> None:
    made = replace(MADE, warmup_ms=())
    found = read(made.text().replace("\n", "\r\n"), made)

    assert found == TimingLog(iterations_ms=[10.0, 12.0])
