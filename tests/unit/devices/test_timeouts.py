"""How long the room waits: promises that the defaults keep, and one factor for all of them."""

from __future__ import annotations

from megtrim.devices.timeouts import Timeouts


def test_a_frozen_machine_is_noticed_within_half_a_minute() -> None:
    """A pause and a probe that does not answer, twice at worst: the pause is not waited again."""
    timeouts = Timeouts()

    assert timeouts.heartbeat_s + 2 * timeouts.probe_s <= 30
    assert timeouts.call_s <= 30


def test_a_link_that_is_lost_for_half_a_minute_is_outlived() -> None:
    """Without a person."""
    assert Timeouts().reconnect_s > 30


def test_a_transfer_is_waited_for_by_its_size() -> None:
    """40 MB over a slow cable take their time."""
    assert Timeouts().transfer_s(40_000_000) == 70.0


def test_scaling_leaves_the_speed_of_links_alone() -> None:
    """It is no time."""
    scaled = Timeouts().scale(0.1)

    assert (scaled.call_s, scaled.boot_s) == (1.0, 18.0)
    assert scaled.slowest_bytes_per_s == 1_000_000
