"""``megtrim devices quarantine`` and ``restore``: a person has the last word."""

from __future__ import annotations

import json

import pytest

from megtrim.devices.pool.leases import slug
from megtrim.devices.pool.machine import ConnectionState
from support.clock import clock_at
from unit.cli.devices.bench import LATER, NOW, Bench


def test_a_quarantine_is_shown_with_its_age_author_and_reason(bench: Bench) -> None:
    """By the clock that is given."""
    with clock_at(NOW):
        put = bench("quarantine", "pixel", "--reason", "battery is swollen")
    with clock_at(LATER):
        listed, as_json = bench("list", "pixel"), bench("list", "pixel", "--json")
    assert (put.status, put.out) == (0, "pixel: quarantined because battery is swollen\n")

    assert listed.out == (
        "pixel  adb  fast  quarantined: since 2026-05-04 12:00 UTC (3 days) by a person "
        "because battery is swollen\n"
    )
    row = json.loads(as_json.out)["devices"][0]
    assert row["quarantine"] == {
        "reason": "battery is swollen",
        "since": "2026-05-04T12:00:00+00:00",
        "by": "person",
        "age": "3 days",
    }
    assert (row["name"], row["key"], row["state"]) == ("pixel", "adb:1A2B", "quarantined")


def test_a_person_restores_by_any_name_even_what_is_not_attached(bench: Bench) -> None:
    """What is in quarantine often lies in a drawer."""
    with clock_at(NOW):
        bench("quarantine", "pixel", "--reason", "x")
    bench.phone.attached = ConnectionState.ABSENT

    for name in ("pixel", "1A2B", "adb:1A2B"):
        with clock_at(NOW):
            bench("quarantine", "1A2B", "--reason", "x")
        with clock_at(LATER):
            restored = bench("restore", name)
        assert restored.out == "pixel: restored after 3 days; it was put aside because x\n"
    assert bench("restore", "pixel").out == "pixel: was in no quarantine\n"


@pytest.mark.parametrize("name", ["pixel", "1A2B", "adb:pixel.lan:5555"])
def test_a_person_restores_all_addresses_of_a_phone(bench: Bench, name: str) -> None:
    """A quarantine that is left under another address would keep it from every job."""
    bench.phone.keys = ("adb:1A2B", "adb:pixel.lan:5555")
    bench("quarantine", "pixel", "--reason", "x")
    rows = json.loads(bench("restore", name, "--json").out)["devices"]
    assert [(row["key"], row["lifted"]) for row in rows] == [(k, True) for k in bench.phone.keys]
    assert "pixel  adb  fast  free" in bench("list", "pixel").out


def test_a_damaged_record_is_named_and_moved_aside_by_a_person(bench: Bench) -> None:
    """Nothing of it is lost."""
    record = bench.shell.folder / "state" / "machines" / f"{slug('adb:1A2B')}.json"
    record.parent.mkdir(parents=True)
    record.write_text("rubbish", encoding="utf-8")
    assert f"unknown: {record}: Invalid JSON" in bench("list", "pixel").out
    assert bench("run", "pixel", "--", bench.program("exit 0")).status == 3

    answer = bench("restore", "pixel")
    assert answer.status == 0
    assert "pixel: its record was damaged and is now " in answer.out
    moved = next(record.parent.glob("*.damaged-*"))
    assert moved.read_text(encoding="utf-8") == "rubbish"
    assert bench("run", "pixel", "--", bench.program("exit 0")).status == 0
