"""``megtrim devices clean``: what jobs left on phones."""

from __future__ import annotations

import json

from megtrim.devices.device import utc_now
from megtrim.devices.pool.leases import Leases
from megtrim.devices.pool.machine import ConnectionState
from unit.cli.devices.bench import Bench


def test_a_host_cleans_every_phone_it_has(bench: Bench) -> None:
    """Without a message about them in a configuration, even a wrong one."""
    (bench.shell.folder / "megtrim.yaml").write_text("rubbish", encoding="utf-8")
    answer = bench("clean", "--attached")

    assert (answer.status, answer.out) == (
        0,
        "cleaned  pixel: no programs and no files of megtrim are left\n",
    )
    assert bench.phone.calls == ["clean"]


def test_a_phone_that_a_job_holds_is_not_cleaned(bench: Bench) -> None:
    """The job needs its files; the host has a phone that works all the same."""
    leases = Leases(bench.shell.folder / "state", "another job", utc_now)
    with leases.acquire(lambda: (bench.phone,)):
        answer = bench("clean", "--attached", "--json")

    assert answer.status == 0
    row = json.loads(answer.out)["devices"][0]
    assert (row["name"], row["state"]) == ("pixel", "held")
    assert bench.phone.calls == []


def test_a_phone_that_cannot_be_cleaned_is_put_aside(bench: Bench) -> None:
    """No job may find what another left; a host without a phone that works says so."""
    bench.phone.broken = frozenset({"clean"})
    answer = bench("clean", "pixel")

    assert (answer.status, answer.out) == (3, "failed  pixel: no way to clean\n")
    assert "because it cannot be cleaned: no way to clean" in bench("list", "pixel").out


def test_a_host_without_phones_serves_nothing(bench: Bench) -> None:
    """So that it takes no jobs only to fail them."""
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("clean", "--attached")

    assert (answer.status, answer.out) == (3, "no phones: no adb server listens\n")
