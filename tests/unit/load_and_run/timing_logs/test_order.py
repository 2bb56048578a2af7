"""Which line may follow which, and how many of each."""

from __future__ import annotations

import pytest

from megtrim.load_and_run.timing_logs.timing_log import DamagedLog, TimingLog
from support.timing_logs import MADE, Form, MadeLog, read


@pytest.mark.parametrize(
    ("iterations", "warmups", "message"),
    [
        (3, 1, "found 2 iterations, expected 3"),
        (2, 2, "found iter 0/2, expected 2 warm-ups in front, not 1"),
    ],
)
def test_numbers_that_were_not_asked_for(iterations: int, warmups: int, message: str) -> None:
    """The log of another command line is not taken for this one's."""
    with pytest.raises(DamagedLog, match=message):
        read(MADE.text(), iterations=iterations, warmups=warmups)
    assert isinstance(read(MADE.text(), iterations=2, warmups=1), TimingLog)


def test_no_warm_up_from_1_7_on() -> None:
    """Then nothing is prepared either."""
    made = MadeLog(form=Form.E2E, load_ms=1, prepare_ms=2, warmup_ms=(), tests=MADE.tests)
    found = read(made.text(), warmups=0)

    assert isinstance(found, TimingLog)
    assert found.prepare_ms == found.warmup_ms == ()


def test_two_dialects_in_one_log() -> None:
    """That is two programs."""
    text = MADE.text().replace(
        "iter 1/2: e2e=12.000 ms (host=1.000 ms)", "iter 1/2: 12.000ms (exec=1.000ms)"
    )
    with pytest.raises(
        DamagedLog, match=r"as 1\.7 to 1\.9 writes it, expected lines as from 1\.10"
    ):
        read(text)
