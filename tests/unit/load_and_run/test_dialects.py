"""The two dialects as data, and what one tree makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.load_and_run.dialects import LITE, SDK, Dialect

BOTH = [SDK, LITE]


@pytest.mark.parametrize("dialect", BOTH)
def test_lists_hold_together(dialect: Dialect) -> None:
    """A flag is a switch or takes a value; names are spelled one way."""
    every = dialect.switches | dialect.values

    assert not dialect.switches & dialect.values
    assert dialect.optional <= dialect.values
    assert all(name == name.lower() and "-" not in name for name in every)
    assert dialect.closed


@pytest.mark.parametrize("dialect", BOTH)
def test_what_megtrim_adds_is_known_to_both(dialect: Dialect) -> None:
    """Else no scenario would run."""
    valued = {"input", "bin_out_dump", "fast_run_algo_policy", "multithread"}

    assert valued <= dialect.values
    assert {"cpu", "fast_run", "weight_preprocess"} <= dialect.switches


def test_where_they_differ() -> None:
    """The older one compares to the letter, and its model_info swallows an argument."""
    assert (SDK.literal, LITE.literal) == (True, False)
    assert "model_info" in SDK.values
    assert "model_info" in LITE.switches
    assert (SDK.knows("winograd_transform"), LITE.knows("winograd_transform")) == (True, False)
    assert (SDK.knows("nocpu"), LITE.knows("nocpu")) == (False, True)
    assert (SDK.knows("noiter"), LITE.knows("noiter")) == (False, False)


def test_an_open_dialect_knows_all_but_other_names() -> None:
    """A flag that is called otherwise there is unknown even so."""
    dialect = replace(LITE, closed=False)

    assert dialect.knows("anything")
    assert not dialect.knows("winograd_transform")


def test_a_trees_flags_replace_the_list() -> None:
    """The list says which take a value; only of a stranger is the source believed."""
    found = SDK.of_tree(
        frozenset({"cpu", "model_info", "own_switch"}), frozenset({"iter", "fast_run", "own"})
    )

    assert found.switches == {"cpu", "fast_run", "own_switch"}
    assert found.values == {"model_info", "iter", "own"}
    assert not found.knows("winograd_transform")
    assert (found.literal, found.optional) == (True, SDK.optional)


def test_flags_of_the_parser_stay() -> None:
    """They are in no source of the program."""
    found = LITE.of_tree(frozenset({"cpu"}), frozenset())

    assert found.switches == {"cpu", "help", "helpfull", "helpshort", "version"}
    assert found.values == frozenset()
