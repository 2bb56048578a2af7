"""``megtrim devices`` where no phone is: this machine, and phones that a test plays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim import devices as room
from megtrim.devices import adb
from megtrim.devices.device import Device, DeviceSpec, utc_now
from megtrim.devices.pool import device_pool
from megtrim.devices.pool.machine import ConnectionState, Machine
from megtrim.devices.pool.queue import Queue
from megtrim.devices.pool.state_dir import slug
from megtrim.errors import InfrastructureFailure
from megtrim.process import ProcessRunner
from support.clock import clock_at
from unit.cli.support import Answer, Shell
from unit.devices.machines import QUICK, FakeMachine

CONFIG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
classes: [{name: any, qemu_cpu: max}, {name: fast, qemu_cpu: max}]
devices:
  - {name: here, kind: local, class: any}
  - {name: pixel, kind: adb, class: fast, serial: 1A2B}
models: [{name: m, file: resnet18-s.mge, scenarios: [{name: default, classes: [any]}]}]
"""
NOW = "2026-05-04T12:00:00"
LATER = "2026-05-07T15:00:00"


class Bench:
    """A configuration with this machine and one phone, which does what a test says."""

    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.phone = FakeMachine("pixel", shell.folder / "phone", kind="adb", key="adb:1A2B")

    def __call__(self, *words: str) -> Answer:
        return self.shell("devices", *words)

    def program(self, text: str, name: str = "program") -> str:
        path = self.shell.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        return str(path)


class Server:
    """An adb server that shows one phone; without it, none runs."""

    def __init__(self, phone: FakeMachine) -> None:
        self._phone = phone

    def states(self) -> dict[str, str]:
        if self._phone.attached is ConnectionState.ABSENT:
            msg = "no adb server listens"
            raise InfrastructureFailure(msg)
        return {"1A2B": "device"}


@pytest.fixture
def bench(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench(shell)
    shell.model("resnet18-s.mge")
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.setenv("MEGTRIM_STATE", str(shell.folder / "state"))

    def phones(spec: DeviceSpec) -> Device:
        def find() -> Sequence[Machine]:
            return [bench.phone]

        return device_pool.make_pool(quick(spec), kind="adb", find=find)

    def server(_processes: ProcessRunner) -> Server:
        return Server(bench.phone)

    def attached(_processes: ProcessRunner) -> tuple[adb.AttachedPhone, ...]:
        properties = {"ro.product.model": "Pixel 6"}
        return (adb.AttachedPhone(serial="1A2B", state="device", properties=properties),)

    monkeypatch.setattr("megtrim.cli.devices.inventory.find_adb", server)
    monkeypatch.setattr(room, "KINDS", {**room.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.devices.KINDS", {**room.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.cli.devices.inventory.adb.list_phones", attached)
    monkeypatch.setattr("megtrim.cli.devices.check._SHELLS", {})
    return bench


def quick(spec: DeviceSpec) -> DeviceSpec:
    return replace(spec, timeouts=QUICK)


def test_the_listing_says_how_each_device_stands(bench: Bench) -> None:
    """One line each, from which its columns can be read."""
    bench.phone.attached = ConnectionState.OFFLINE
    answer = bench("list")

    assert (answer.status, answer.out) == (
        0,
        "here   local  any   free\npixel  adb    fast  offline\n",
    )


def test_where_nobody_can_look_for_phones_that_is_said(bench: Bench) -> None:
    """On the side: the listing is for all devices."""
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("list")

    assert answer.status == 0
    assert answer.out.endswith("pixel  adb    fast  not found\n")
    assert answer.err == "phones outside the configuration: no adb server listens\n"


def test_a_quarantine_is_told_with_its_age_author_and_reason(bench: Bench) -> None:
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


def test_a_check_tries_everything(bench: Bench) -> None:
    """Of this machine as of a phone."""
    answer = bench("check", "--json")

    assert answer.status == 0
    tried = ["answers", "stores a file", "runs a program and returns its exact exit status"]
    reports = json.loads(answer.out)["devices"]
    assert [(each["name"], each["passed"], each["steps"]) for each in reports] == [
        ("here", True, tried),
        ("pixel", True, tried),
    ]
    assert reports[1]["facts"] == {"fingerprint": "fake/pixel"}


def test_a_passed_check_restores_what_megtrim_put_aside(bench: Bench) -> None:
    """And nothing that a person did."""
    bench.phone.answers = False
    program = bench.program("exit 0")
    assert bench("run", "pixel", "--", program).status == 3
    assert "by megtrim because found attached and does not answer" in bench("list").out
    bench.phone.answers = True

    answer = bench("check", "pixel")
    assert answer.status == 0
    assert "restored from quarantine (found attached and does not answer; " in answer.out
    assert bench("run", "pixel", "--", program).status == 0

    bench("quarantine", "pixel", "--reason", "it burns")
    answer = bench("check", "pixel")
    assert answer.status == 0
    assert "stays in quarantine, where a person put it because it burns" in answer.out
    assert bench("run", "pixel", "--", program).status == 3


@pytest.mark.parametrize(
    ("attached", "said"),
    [
        (ConnectionState.OFFLINE, "failed  pixel: it is offline\n"),
        (ConnectionState.ABSENT, "failed  pixel: it is not found\n"),
        (
            ConnectionState.UNAUTHORIZED,
            "failed  pixel: unauthorized: someone must allow this host",
        ),
        (
            ConnectionState.READY,
            "failed  pixel: it is attached and does not answer: `megtrim devices",
        ),
    ],
)
def test_a_failed_check_is_infrastructure(
    bench: Bench, attached: ConnectionState, said: str
) -> None:
    """It says what is wrong, and lifts nothing."""
    bench.phone.attached, bench.phone.answers = attached, False
    answer = bench("check", "pixel")

    assert answer.status == 3
    assert answer.out.startswith(said)


def test_healing_climbs_the_ladder_and_checks(bench: Bench) -> None:
    """Without names it takes those that are not well."""
    bench.phone.attached, bench.phone.cured_by = ConnectionState.OFFLINE, "reconnect"
    answer = bench("heal")

    assert answer.status == 0
    assert answer.out.startswith("ok  pixel: reconnected; answers; stores a file; ")
    assert bench("heal").out == "nothing to do: every device is free or running a job\n"


def test_what_stays_away_is_put_aside(bench: Bench) -> None:
    """With every step that was tried."""
    bench.phone.answers = False
    answer = bench("heal", "pixel")

    assert answer.status == 3
    tried = "reconnected; waited 0 s; rebooted; waited 0 s; does not answer"
    assert answer.out == f"failed  pixel: {tried}\n"
    assert bench("list", "pixel", "--json").out.count('"state": "quarantined"') == 1


def test_a_run_tells_how_the_program_ended(bench: Bench) -> None:
    """A program's failure is 1, whatever its own status is; one that was killed is none."""
    ran = bench("run", "pixel", "--", bench.program('echo "$@"; exit 3'), "a", "--json")
    assert (ran.status, ran.out) == (1, "a --json\n")
    assert ran.err.endswith("warning: program on pixel: it ended with status 3\n")

    ran = bench("run", "here", "--", bench.program("kill -TRAP $$"))
    assert "it was ended by signal 5 (SIGTRAP)" in ran.err
    ran = bench("run", "here", "--", bench.program("kill -KILL $$"))
    assert (ran.status, "it was ended by signal 9 (SIGKILL)" in ran.err) == (3, True)
    ran = bench("run", "here", "--timeout", "0.2", "--", bench.program("sleep 9"))
    assert (ran.status, "it did not end in time" in ran.err) == (1, True)


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e300", "604801"])
def test_a_run_has_an_end(bench: Bench, seconds: str) -> None:
    """A week at most."""
    ran = bench("run", "here", "--timeout", seconds, "--", bench.program("exit 0"))
    assert (ran.status, "--timeout: found " in ran.err) == (2, True)


def test_samples_have_a_median(bench: Bench) -> None:
    """Of those that are valid."""
    ran = bench("run", "here", "--repeat", "3", "--", bench.program("echo x"))
    assert ran.status == 0
    assert [line.partition(":")[0] for line in ran.out.splitlines()] == [
        *("x", "sample 1", "x", "sample 2", "x", "sample 3"),
        f"median {ran.out.rpartition('median ')[2].partition(':')[0]}",
    ]
    assert ran.out.endswith(" s: 3 of 3 samples valid on here\n")
    flaky = bench.program('test -e again && exit 1; touch again; echo "$0"')
    found = json.loads(bench("run", "here", "--repeat", "3", "--json", "--", flaky).out)
    assert [each["rc"] for each in found["samples"]] == [0, 1, 1]
    assert [each["invalid"] for each in found["samples"]] == ["", *["the program failed"] * 2]
    assert found["median_s"] == found["samples"][0]["time_s"]


def test_files_are_brought_along(bench: Bench) -> None:
    """Under their own names, which must differ."""
    (bench.shell.folder / "data").write_text("cargo\n", encoding="utf-8")
    program = bench.program('cat data; echo "$X"')

    ran = bench("run", "pixel", "--put", "data", "--env", "X=a=b", "--", program)
    assert (ran.status, ran.out) == (0, "cargo\na=b\n")
    ran = bench("run", "pixel", "--put", "data", "--put", "./data", "--", program)
    assert (ran.status, "two files of the name data" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "pixel"), "found no program, expected [NAME] -- PROGRAM"),
        (("run", "pixel", "--", "nowhere"), "there is no file nowhere on this machine"),
        (("run", "--", "program"), "found no name of a device, expected one: there are several"),
        (("run", "--env", "X", "pixel", "--", "program"), "--env: found 'X', expected NAME=VALUE"),
        (("list", "pixle"), "there is no device 'pixle'"),
        (("list", "--class", "none"), "no device fits class none"),
        (("list", "--match", "ro.product.model=x"), "no device fits ro.product.model=x"),
        (("list", "--match", "x"), "--match: found 'x', expected KEY=VALUE"),
        (("quarantine", "here", "--reason", "x"), "here is of kind local"),
        (("quarantine", "pixel", "--reason", " "), "--reason: found nothing"),
        (("quarantine", "pixel"), "Missing option '--reason'"),
        (("heal", "here"), "here: found no phone and no board"),
        (("list", "--config", "other.yaml"), "other.yaml"),
    ],
)
def test_what_cannot_be_is_refused(bench: Bench, words: tuple[str, ...], said: str) -> None:
    """As bad usage, with what was expected."""
    bench.program("exit 0")
    answer = bench(*words)

    assert answer.status == 2
    assert said in answer.err


@pytest.mark.parametrize(
    ("pair", "names"),
    [
        ("ro.product.model=Pixel 6", ["pixel"]),
        ("kind=local", ["here"]),
        ("serial=1A2B", ["pixel"]),
        ("class=fast", ["pixel"]),
        ("fingerprint=fake/pixel", ["pixel"]),
        ("system=Linux", ["here"]),
    ],
)
def test_devices_are_chosen_by_what_they_are(bench: Bench, pair: str, names: list[str]) -> None:
    """By properties, by facts, and by what the configuration says."""
    rows = json.loads(bench("list", "--match", pair, "--json").out)["devices"]
    assert [row["name"] for row in rows] == names


def test_without_a_configuration_there_are_the_phones(bench: Bench) -> None:
    """By their serials, in no class."""
    (bench.shell.folder / "megtrim.yaml").unlink()
    bench.phone.name = "1A2B"
    assert bench("list").out == "1A2B  adb  -  free\n"
    assert bench("run", "--", bench.program("echo hi")).out == "hi\n"
    assert not (Path("megtrim-out")).exists()


def test_a_host_cleans_every_phone_it_has(bench: Bench) -> None:
    """Without a word about them in a configuration, even a wrong one."""
    (bench.shell.folder / "megtrim.yaml").write_text("rubbish", encoding="utf-8")
    answer = bench("clean", "--attached")

    assert (answer.status, answer.out) == (
        0,
        "cleaned  pixel: no programs and no files of megtrim are left\n",
    )
    assert bench.phone.calls == ["clean"]


def test_a_phone_that_a_job_holds_is_not_cleaned(bench: Bench) -> None:
    """The job needs its files; the host has a phone that works all the same."""
    queue = Queue(bench.shell.folder / "state", utc_now)
    with queue.acquire("job", lambda: ("adb:1A2B",)):
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
