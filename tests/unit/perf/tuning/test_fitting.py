"""The choice in a log of ``--fitting``."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.arguments import Flag
from megtrim.perf.tuning.fitting import parse_choice

LOG = """\
profile option:
--cpu=true

 avg_time=23.929 ms

the best options:
--weight_preprocess=true
--layout_transform="cpu"
--cpu=true

midout: 334 items written
"""


def test_the_options_behind_the_heading() -> None:
    """Not those that were only tried; quotes are not part of a value."""
    assert parse_choice(LOG) == (
        Flag("weight_preprocess", "true"),
        Flag("layout_transform", "cpu"),
        Flag("cpu", "true"),
    )


@pytest.mark.parametrize(
    "log",
    [
        "",
        "the best options:\n",
        "the best options:\nnone\n",
        "the best options:\n--cpu\n",
        "the best options:\n--cpu=true;reboot\n",
        "the best options:\n" + "--cpu=true\n" * 41,
    ],
)
def test_a_log_that_names_no_options(log: str) -> None:
    """A program may print anything."""
    assert parse_choice(log) is None


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    found = parse_choice(f"the best options:\n{text}")
    assert found is None or all(flag.name.isascii() for flag in found)
