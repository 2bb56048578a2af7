"""Flags changed and spelled again: each means what it meant, but for the one that was changed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.argument_mutation import is_on, render_flags, set_flag, without
from megtrim.load_and_run.arguments import Flag, flags
from megtrim.load_and_run.dialects import LITE, SDK, Dialect

SWITCHES = st.sampled_from(sorted(SDK.switches)).map(lambda name: Flag(name, None))
VALUES = st.builds(
    Flag, st.sampled_from(sorted(SDK.values - SDK.optional)), st.from_regex(r"[a-z0-9]{1,9}")
)


def read(arguments: Sequence[str], dialect: Dialect = LITE) -> tuple[Flag, ...]:
    return flags(arguments, dialect=dialect, source="x")


@pytest.mark.parametrize(
    ("arguments", "dialect", "expected"),
    [
        (["--cpu", "-iter=3"], LITE, ("--cpu", "--iter", "3")),
        (["--warmup_iter", "0"], LITE, ("--warmup-iter", "0")),
        (["--cpu=false", "--nocpu"], LITE, ("--cpu=false", "--nocpu")),
        (["--iter", "0"], SDK, ("--iter", "0")),
    ],
)
def test_flags_are_spelled_for_the_program(
    arguments: list[str], dialect: Dialect, expected: tuple[str, ...]
) -> None:
    """A value is a word of its own, as every release takes it; only a switch's own stays."""
    assert render_flags(read(arguments, dialect), dialect) == expected


@given(st.lists(SWITCHES | VALUES, max_size=6))
def test_what_is_spelled_is_read_the_same(every: list[Flag]) -> None:
    """In the older dialect, which takes the least."""
    assert read(render_flags(every, SDK), SDK) == tuple(every)


def test_a_changed_flag_replaces_all_of_its_name() -> None:
    """The others keep their order; how it was turned before is forgotten."""
    given_ = read(["--iter", "3", "--noenable-nchw44", "--cpu", "--iter=5"])

    assert set_flag(given_, "iter", "1") == (
        *(Flag("noenable_nchw44", None), Flag("cpu", None), Flag("iter", "1")),
    )
    assert set_flag(given_, "enable_nchw44", None)[-1] == Flag("enable_nchw44", None)
    assert Flag("noenable_nchw44", None) not in set_flag(given_, "enable_nchw44", None)
    assert without(given_, "iter", "cpu") == (Flag("noenable_nchw44", None),)


@pytest.mark.parametrize(
    ("arguments", "on"),
    [
        ([], False),
        (["--cpu"], True),
        (["--cpu=true"], True),
        (["--cpu=0"], False),
        (["--cpu", "--nocpu"], False),
        (["--nocpu", "--cpu"], True),
    ],
)
def test_the_last_word_on_a_switch_counts(arguments: list[str], on: bool) -> None:
    """As gflags reads it."""
    assert is_on(read(arguments), "cpu", LITE) is on


def test_in_the_older_dialect_no_flag_is_turned_off() -> None:
    """There, ``no_sanity_check`` is a flag's name and not the opposite of one."""
    assert is_on(read(["--no-sanity-check"], SDK), "no_sanity_check", SDK)
