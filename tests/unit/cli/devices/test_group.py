"""``megtrim devices`` where no phone is: this machine, and phones that a test plays."""

import json

import pytest

from megtrim.devices.device import ConnectionState, utc_now
from megtrim.devices.pool.leases import Leases, slug
from support.clock import clock_at
from unit.cli.devices.bench import LATER, NOW, Bench


def test_a_host_cleans_every_phone_it_has(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").write_text("rubbish", encoding="utf-8")
    answer = bench("clean", "--attached")

    assert (answer.status, answer.out) == (
        0,
        "cleaned  pixel: no programs and no files of megtrim are left\n",
    )
    assert bench.phone.calls == ["clean"]


def test_a_phone_that_a_job_holds_is_not_cleaned(bench: Bench) -> None:
    leases = Leases(bench.shell.folder / "state", "another job", utc_now)
    with leases.acquire(lambda: (bench.phone,)):
        answer = bench("clean", "--attached", "--json")

    assert answer.status == 0
    row = json.loads(answer.out)["devices"][0]
    assert (row["name"], row["state"]) == ("pixel", "held")
    assert bench.phone.calls == []


def test_a_phone_that_cannot_be_cleaned_is_put_aside(bench: Bench) -> None:
    bench.phone.broken = frozenset({"clean"})
    answer = bench("clean", "pixel")

    assert (answer.status, answer.out) == (3, "failed  pixel: no way to clean\n")
    assert "because it cannot be cleaned: no way to clean" in bench("list", "pixel").out


def test_a_host_without_phones_serves_nothing(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("clean", "--attached")

    assert (answer.status, answer.out) == (3, "no phones: no adb server listens\n")


def test_a_quarantine_is_shown_with_its_age_author_and_reason(bench: Bench) -> None:
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
    bench.phone.keys = ("adb:1A2B", "adb:pixel.lan:5555")
    bench("quarantine", "pixel", "--reason", "x")
    rows = json.loads(bench("restore", name, "--json").out)["devices"]
    assert [(row["key"], row["lifted"]) for row in rows] == [(k, True) for k in bench.phone.keys]
    assert "pixel  adb  fast  free" in bench("list", "pixel").out


def test_a_damaged_record_is_named_and_moved_aside_by_a_person(bench: Bench) -> None:
    record = bench.shell.folder / "state" / "machines" / f"{slug('adb:1A2B')}.json"
    record.parent.mkdir(parents=True)
    record.write_text("rubbish", encoding="utf-8")
    assert f"unknown: {record}: Invalid JSON" in bench("list", "pixel").out
    assert bench("run", "pixel", "--", bench.program("exit 0")).status == 3

    answer = bench("restore", "pixel").expect(0)
    assert "pixel: its record was damaged and is now " in answer.out
    moved = next(record.parent.glob("*.damaged-*"))
    assert moved.read_text(encoding="utf-8") == "rubbish"
    assert bench("run", "pixel", "--", bench.program("exit 0")).status == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "pixel"), "found no program, expected [NAME] -- PROGRAM"),
        (("run", "pixel", "--", "nowhere"), "there is no file nowhere on this machine"),
        (("run", "--", "program"), "found no name of a device, expected one: there are several"),
        (("run", "--env", "X", "pixel", "--", "program"), "--env: found 'X', expected NAME=VALUE"),
        (("list", "pixle"), "there is no device 'pixle'"),
        (("list", "--class", "none"), "no device fits class none"),
        (("quarantine", "here", "--reason", "x"), "here is of kind local"),
        (("quarantine", "pixel", "--reason", " "), "--reason: found nothing"),
        (("quarantine", "pixel"), "Missing option '--reason'"),
        (("recover", "here"), "here: found no phone and no board"),
        (("list", "--config", "other.yaml"), "other.yaml"),
    ],
)
def test_what_cannot_be_is_refused(bench: Bench, words: tuple[str, ...], said: str) -> None:
    bench.program("exit 0")
    bench(*words).expect(2, said)
