"""Many iteration lines at once, against the pattern of one line."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.timing_logs.iterations import LINE, match_run
from megtrim.load_and_run.timing_logs.lines import LogDialect, dialect_of

_MS = st.integers(0, 10**15 - 1).map(lambda us: f"{us // 1000}.{us % 1000:03}")
_NUMBER = st.integers(0, 10**8 - 1).map(str)
_PREFIX = st.sampled_from(["", "[20 20:42:51 @:89] ", "[1 02:03:04 f@a.cpp:7][WARN] "])
_LINES = st.one_of(
    st.builds("{}iter {}/100: e2e={} ms (host={} ms)".format, _PREFIX, _NUMBER, _MS, _MS),
    st.builds("{}iter {}/100: {}ms (exec={}ms)".format, _PREFIX, _NUMBER, _MS, _MS),
    st.builds("{}iter {}/100: {} ms (exec={} ms)  ".format, _PREFIX, _NUMBER, _MS, _MS),
    st.builds("iter {}/100: {}ms (exec={},device={})".format, _NUMBER, _MS, _MS, _MS),
)
_GARBLED = st.builds(
    lambda line, at, other: line[: at % len(line)] + other + line[at % len(line) + 1 :],
    _LINES,
    st.integers(0, 200),
    st.sampled_from("0123456789.: /x"),
)


def bounds(block: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return where the lines begin and end."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    return np.concatenate(([0], ends[:-1] + 1)), ends


def us(text: bytes) -> int:
    return int(text.replace(b".", b""))


@given(st.lists(st.one_of(_LINES, _LINES, _GARBLED), min_size=1, max_size=30), st.data())
def test_equals_the_pattern_of_one_line(lines: list[str], data: st.DataObject) -> None:
    """The run ends at the first line that the pattern refuses, or that is of another kind."""
    block = "".join(f"{line}\n" for line in lines).encode()
    at = data.draw(st.integers(0, len(lines) - 1))
    found = match_run(block, *bounds(block), at)

    matches = [LINE.fullmatch(line.encode()) for line in lines[at:]]
    first = matches[0]
    if first is None:
        assert found is None
        return
    alike = []
    for match in matches:
        if match is None or dialect_of(match) is not dialect_of(first):
            break
        if match["count"] != first["count"]:
            break
        alike.append(match)
    assert found is not None
    assert len(found) == len(alike)
    assert found.count == int(first["count"])
    assert found.numbers.tolist() == [int(each["number"]) for each in alike]
    assert found.whole_us.tolist() == [us(each["e2e"] or each["whole"]) for each in alike]
    assert found.host_us.tolist() == [us(each["host"] or each["exec"]) for each in alike]
    if found.dialect is LogDialect.SDK:
        assert found.device_us is not None
        assert found.device_us.tolist() == [us(each["device"]) for each in alike]
    else:
        assert found.device_us is None


def test_numbers_of_many_lengths_end_a_run_early() -> None:
    """Another call goes on where it ended."""
    lines = [
        f"iter {10 ** (i % 8)}/9: {10 ** (i % 9)}.000ms (exec={'1' * (i % 11 + 1)}.000ms)"
        for i in range(800)
    ]
    block = "".join(f"{line}\n" for line in lines).encode()
    at, numbers = 0, []
    while at < len(lines):
        found = match_run(block, *bounds(block), at)
        assert found is not None
        assert len(found) > 0
        numbers += found.numbers.tolist()
        at += len(found)

    assert numbers == [10 ** (i % 8) for i in range(800)]
