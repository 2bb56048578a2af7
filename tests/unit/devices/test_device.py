from pathlib import Path

import pytest

from megtrim import devices
from megtrim.config import device as settings
from megtrim.devices.device import (
    LARGEST_FETCHED_BYTES,
    Timeouts,
    make_too_large_error,
    sort_printable_names,
)
from megtrim.util.errors import ProductFailure
from unit.devices.machines import make_spec


def test_a_frozen_machine_is_noticed_within_half_a_minute() -> None:
    """A pause and a probe that does not answer, twice at worst: the pause is not waited again."""
    timeouts = Timeouts()

    assert timeouts.heartbeat_s + 2 * timeouts.probe_s <= 30
    assert timeouts.call_s <= 30


def test_a_link_that_is_lost_for_half_a_minute_is_outlived() -> None:
    assert Timeouts().reconnect_s > 30


def test_a_transfer_is_waited_for_by_its_size() -> None:
    assert Timeouts().transfer_s(40_000_000) == 70.0


def test_scaling_leaves_the_speed_of_links_alone() -> None:
    scaled = Timeouts().scale(0.1)

    assert (scaled.call_s, scaled.boot_s, scaled.slowest_bytes_per_s) == (1.0, 18.0, 1_000_000)


def test_every_kind_that_can_be_configured_can_be_made() -> None:
    assert set(settings.KINDS) == {"auto", *devices.KINDS}


@pytest.mark.parametrize("kind", ["adb", "ssh"])
def test_machines_that_others_use_are_pools(tmp_path: Path, kind: str) -> None:
    device = devices.make(kind, make_spec(tmp_path), native="x86_64")

    assert (device.kind, device.name) == (kind, "phones")


def test_names_are_sorted() -> None:
    assert sort_printable_names("dump", ["b", "ü", "a"]) == ("a", "b", "ü")


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "a\N{REPLACEMENT CHARACTER}", "\ud800"])
def test_a_name_that_is_not_text_is_the_programs_fault(name: str) -> None:
    with pytest.raises(ProductFailure, match="whose name is not text") as failed:
        sort_printable_names("dump", ["a", name])

    assert failed.value.message.isprintable()


def test_a_file_that_is_too_large_is_named_with_both_sizes() -> None:
    failure = make_too_large_error("dump/o", LARGEST_FETCHED_BYTES + 1)

    assert failure.message == (
        "the program left dump/o with 268,435,457 bytes, expected at most 268,435,456"
    )
