"""``megtrim devices``: this machine, and a phone that a test plays."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.lab.pool import device_pool
from megtrim.lab.pool.leases import Leases, slug
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.device import ConnectionState, Device, DeviceSpec, utc_now
from support.clock import clock_at
from unit.core.cli.support import Answer, Shell
from unit.places.devices.machines import QUICK, FakeMachine

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
    def __init__(self, shell: Shell) -> None:
        self.shell = shell
        self.phone = FakeMachine("pixel", shell.folder / "phone", kind="adb", key="adb:1A2B")

    def __call__(self, *words: str) -> Answer:
        return self.shell("devices", *words)

    def program(self, text: str) -> str:
        path = self.shell.folder / "program"
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
    shell.write("megtrim.yaml", CONFIG)
    monkeypatch.setenv("MEGTRIM_STATE", str(shell.folder / "state"))

    def phones(spec: DeviceSpec) -> Device:
        quick = replace(spec, timeouts=QUICK)
        return device_pool.make_pool(quick, kind="adb", find=lambda: [bench.phone])

    monkeypatch.setattr("megtrim.lab.cli.inventory.find_adb", lambda _: Server(bench.phone))
    monkeypatch.setattr(device_kinds, "KINDS", {**device_kinds.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.places.devices.kinds.KINDS", {**device_kinds.KINDS, "adb": phones})
    monkeypatch.setattr("megtrim.lab.cli.group._SHELLS", {})
    return bench


def test_a_host_cleans_every_phone_it_has(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").write_text("rubbish", encoding="utf-8")
    bench("clean", "--attached").expect(
        0, out="cleaned  pixel: no programs and no files of megtrim are left\n"
    )
    assert bench.phone.calls == ["clean"]


def test_a_host_cleans_the_boards_that_its_owner_lists(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = FakeMachine("rock-5", bench.shell.folder / "board", kind="ssh", key="ssh:rock")

    def boards(spec: DeviceSpec) -> Device:
        assert spec.settings.host == "rock-5.lan"
        quick = replace(spec, timeouts=QUICK)
        return device_pool.make_pool(quick, kind="ssh", find=lambda: [board])

    monkeypatch.setattr(device_kinds, "KINDS", {**device_kinds.KINDS, "ssh": boards})
    bench.shell.write("boards.yaml", "boards: [{name: rock-5, host: rock-5.lan}]\n")
    monkeypatch.setenv("MEGTRIM_BOARDS", str(bench.shell.folder / "boards.yaml"))
    bench.phone.attached = ConnectionState.ABSENT

    bench("clean", "--attached").expect(
        0, out="cleaned  rock-5: no programs and no files of megtrim are left\n"
    )


def test_a_phone_that_a_job_holds_is_neither_cleaned_nor_recovered(bench: Bench) -> None:
    leases = Leases(bench.shell.folder / "state", "another job", utc_now)
    with leases.acquire(lambda: (bench.phone,)):
        answer = bench("clean", "--attached", "--json")
        bench("recover", "pixel").expect(3)

    assert answer.status == 0
    row = json.loads(answer.out)["devices"][0]
    assert (row["name"], row["state"]) == ("pixel", "held")
    assert bench.phone.calls == []


def test_a_phone_that_cannot_be_cleaned_is_put_aside(bench: Bench) -> None:
    bench.phone.broken = frozenset({"clean"})
    bench("clean", "pixel").expect(3, out="failed  pixel: no way to clean\n")
    assert "because it cannot be cleaned: no way to clean" in bench("list", "pixel").out


def test_a_host_without_phones_serves_nothing(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.ABSENT
    bench("clean", "--attached").expect(3, out="no phones and no boards: no adb server listens\n")


def test_a_quarantine_is_shown_with_its_age_author_and_reason(bench: Bench) -> None:
    with clock_at(NOW):
        bench("quarantine", "pixel", "--reason", "battery is swollen").expect(
            0, out="pixel: quarantined because battery is swollen\n"
        )
    with clock_at(LATER):
        listed = bench("list", "pixel")
        as_json = bench("list", "pixel", "--json")
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

    assert "pixel: its record was damaged and is now " in bench("restore", "pixel").expect(0).out
    assert next(record.parent.glob("*.damaged-*")).read_text(encoding="utf-8") == "rubbish"
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


def test_the_listing_says_how_each_device_stands(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.OFFLINE
    bench("list").expect(0, out="here   local  any   free\npixel  adb    fast  offline\n")


def test_where_no_one_can_look_for_phones_that_is_said(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.ABSENT
    answer = bench("list").expect(0)
    assert answer.out.endswith("pixel  adb    fast  not found\n")
    assert answer.err == "phones outside the configuration: no adb server listens\n"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("1A2B",), ["pixel"]),
        (("pixel", "here"), ["here", "pixel"]),
        (("--class", "fast"), ["pixel"]),
    ],
)
def test_devices_are_chosen_by_name_serial_or_class(
    bench: Bench, words: tuple[str, ...], names: list[str]
) -> None:
    rows = json.loads(bench("list", *words, "--json").out)["devices"]
    assert [row["name"] for row in rows] == names


def test_without_the_usual_configuration_there_are_the_phones(bench: Bench) -> None:
    (bench.shell.folder / "megtrim.yaml").unlink()
    [row] = json.loads(bench("list", "--json").out)["devices"]
    assert (row["configured"], row["key"]) == (False, "adb:1A2B")
    assert bench("list", "--config", "other.yaml").status == 2
    bench.phone.name = "1A2B"
    assert bench("list").out == "1A2B  adb  -  free\n"
    assert bench("run", "--", bench.program("echo hi")).out == "hi\n"
    assert not (Path("megtrim-out")).exists()


def test_a_run_reports_how_the_program_ended(bench: Bench) -> None:
    """A program's failure is 1, whatever its own status is; one that was killed is none."""
    ran = bench("run", "pixel", "--", bench.program('echo "$@"; exit 3'), "a", "--json").expect(
        1, out="a --json\n"
    )
    assert ran.err.endswith("warning: program on pixel: it ended with status 3\n")

    ran = bench("run", "here", "--", bench.program("kill -TRAP $$"))
    assert "it was ended by signal 5 (SIGTRAP)" in ran.err
    bench("run", "here", "--", bench.program("kill -KILL $$")).expect(
        3, "it was ended by signal 9 (SIGKILL)"
    )
    bench("run", "here", "--timeout", "1", "--", bench.program("sleep 9")).expect(
        1, "it did not end in time"
    )


@pytest.mark.parametrize("seconds", ["inf", "0", "604801"])
def test_a_run_has_an_end(bench: Bench, seconds: str) -> None:
    bench("run", "here", "--timeout", seconds, "--", bench.program("exit 0")).expect(
        2, "Invalid value for '--timeout'"
    )


def test_a_run_is_data_too(bench: Bench) -> None:
    ran = bench("run", "here", "--json", "--", bench.program("echo x; exit 3"))
    found = json.loads(ran.out)

    assert (ran.status, found["device"], found["rc"], found["stdout"]) == (1, "here", 3, "x\n")


def test_files_are_brought_along(bench: Bench) -> None:
    (bench.shell.folder / "data").write_text("cargo\n", encoding="utf-8")
    program = bench.program('cat data; echo "$X"')

    bench("run", "pixel", "--put", "data", "--env", "X=a=b", "--", program).expect(
        0, out="cargo\na=b\n"
    )
    bench("run", "pixel", "--put", "data", "--put", "./data", "--", program).expect(
        2, "found a name twice in data, data, program"
    )


def test_a_check_tries_everything(bench: Bench) -> None:
    answer = bench("check", "--json").expect(0)
    tried = ["answers", "stores a file", "runs a program and returns its exact exit status"]
    reports = json.loads(answer.out)["devices"]
    assert [(each["name"], each["passed"], each["steps"]) for each in reports] == [
        ("here", True, tried),
        ("pixel", True, tried),
    ]
    assert reports[1]["facts"] == {"fingerprint": "fake/pixel"}


def test_a_passed_check_restores_what_megtrim_put_aside(bench: Bench) -> None:
    bench.phone.answers = False
    program = bench.program("exit 0")
    assert bench("run", "pixel", "--", program).status == 3
    assert "by megtrim because found attached and does not answer" in bench("list").out
    bench.phone.answers = True

    answer = bench("check", "pixel").expect(0)
    assert "restored from quarantine (found attached and does not answer; " in answer.out
    assert bench("run", "pixel", "--", program).status == 0

    bench("quarantine", "pixel", "--reason", "it burns")
    answer = bench("check", "pixel").expect(0)
    assert "stays in quarantine, where a person put it because it burns" in answer.out
    assert bench("run", "pixel", "--", program).status == 3


@pytest.mark.parametrize(
    ("attached", "said"),
    [
        (ConnectionState.OFFLINE, "failed  pixel: it is offline\n"),
        (ConnectionState.ABSENT, "failed  pixel: it is not found\n"),
        (ConnectionState.UNAUTHORIZED, "failed  pixel: unauthorized: someone must allow this host"),
        (
            ConnectionState.READY,
            "failed  pixel: it is attached, but does not answer: `megtrim devices",
        ),
    ],
)
def test_a_failed_check_is_infrastructure(
    bench: Bench, attached: ConnectionState, said: str
) -> None:
    bench.phone.attached = attached
    bench.phone.answers = False
    assert bench("check", "pixel").expect(3).out.startswith(said)


def test_recovery_takes_its_steps_and_checks(bench: Bench) -> None:
    bench.phone.attached = ConnectionState.OFFLINE
    bench.phone.cured_by = "reconnect"
    answer = bench("recover").expect(0)
    assert answer.out.startswith("ok  pixel: reconnected; answers; stores a file; ")
    assert bench("recover").out == "nothing to do: every device is free or running a job\n"


def test_what_stays_away_is_put_aside(bench: Bench) -> None:
    bench.phone.answers = False
    answer = bench("recover", "pixel").expect(3)
    tried = "reconnected; waited 0 s; rebooted; waited 0 s; does not answer"
    assert answer.out == f"failed  pixel: {tried}\n"
    assert bench("list", "pixel", "--json").out.count('"state": "quarantined"') == 1
