"""``megtrim devices`` on virtual phones behind a real adb server."""

import json
import os
import re
import shutil
import signal
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from integration.devices.rigs import ConnectedPhone, StartPhone
from megtrim.libs.util.process import Background, Command, CompletedCommand, ProcessRunner
from megtrim.places.devices.device import DEFAULT_TIMEOUTS
from support.clock import until
from support.megtrim_cli import run_megtrim
from unit.places.devices.machines import FakeMachine

ROOT = Path(__file__).parents[3]
MODELS = ROOT / "tests" / "data" / "models"
PROGRAM = "#!/system/bin/sh\n"


@dataclass(frozen=True, slots=True)
class Desk:
    folder: Path
    processes: ProcessRunner

    def megtrim(self, *words: str, timeout_s: float = 120.0) -> CompletedCommand:
        return self.processes.run(self._command(*words, timeout_s=timeout_s))

    def companion(self, *words: str, log: str) -> AbstractContextManager[Background]:
        return self.processes.background(self._command(*words, log=self.folder / log))

    def json(self, *words: str) -> Any:
        return json.loads(self.megtrim("devices", words[0], "--json", *words[1:]).stdout)

    def state(self, name: str) -> str:
        rows = {row["name"]: row["state"] for row in self.json("list")["devices"]}
        return str(rows[name])

    def program(self, text: str) -> Path:
        path = self.folder / "program"
        path.write_text(f"{PROGRAM}{text}\n", encoding="utf-8")
        return path

    def _command(self, *words: str, timeout_s: float = 120.0, log: Path | None = None) -> Command:
        return Command(
            argv=(sys.executable, "-m", "megtrim", *words),
            timeout_s=timeout_s,
            cwd=self.folder,
            log=log,
            env={"PYTHONPATH": str(ROOT / "ci"), "MEGTRIM_STATE": str(self.folder / "state")},
        )


def configured(folder: Path, *devices: str) -> None:
    shutil.copy(MODELS / "resnet18-s.mge", folder)
    entries = "".join(f"  - {{class: any, {entry}}}\n" for entry in devices)
    text = (
        "version: 1\nengine: {kind: sample}\nclasses: [{name: any, qemu_cpu: max}]\n"
        f"devices:\n{entries}"
        "models: [{name: r, file: resnet18-s.mge, scenarios: [{name: default}]}]\n"
    )
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")


@pytest.fixture
def desk(phone: ConnectedPhone, tmp_path: Path) -> Desk:
    configured(tmp_path, f"name: pixel, kind: adb, serial: '{phone.serial}'")
    return Desk(tmp_path, phone.processes)


def test_the_listing_names_every_phone_and_how_it_stands(
    desk: Desk, start_phone: StartPhone
) -> None:
    other = start_phone()
    rows = {row["key"]: row for row in desk.json("list", "--facts")["devices"]}

    mine = next(row for row in rows.values() if row["name"] == "pixel")
    assert (mine["kind"], mine["class"], mine["state"]) == ("adb", "any", "free")
    assert (mine["configured"], mine["holder"], mine["quarantine"]) == (True, None, None)
    assert mine["facts"]["machine"] == "aarch64"
    loose = rows[f"adb:{other.name}"]
    assert (loose["name"], loose["class"]) == (other.serial.replace(":", "-"), "")
    assert not loose["configured"]
    plain = desk.megtrim("devices", "list").stdout
    assert re.search(r"^pixel +adb +any +free$", plain, re.MULTILINE)


def test_a_killed_phone_comes_back_by_recovery(desk: Desk, phone: ConnectedPhone) -> None:
    phone.fault("kill")
    until(lambda: desk.state("pixel") in ("offline", "not found"), "the phone is away")
    phone.fault("revive")

    recovered = desk.megtrim("devices", "recover", "pixel", timeout_s=400)
    assert recovered.rc == 0, recovered.stdout + recovered.stderr
    assert recovered.stdout.startswith("ok  pixel: ")
    assert desk.state("pixel") == "free"


def test_a_holder_that_is_killed_frees_the_phone(desk: Desk, phone: ConnectedPhone) -> None:
    program = desk.program("echo started; sleep 100")
    with desk.companion("devices", "run", "pixel", "--", str(program), log="holder.log") as holder:
        until(lambda: "started" in (desk.folder / "holder.log").read_text(), "the program")
        row = desk.json("list")["devices"][0]
        assert (row["state"], row["holder"]["pid"]) == ("held", holder.pid)
        (desk.folder / "next").write_text(f"{PROGRAM}echo next\n", encoding="utf-8")
        words = ("devices", "run", "pixel", "--", "next")
        with desk.companion(*words, log="next.log") as waiting:
            reported = "waiting for pixel: held by "
            until(lambda: reported in (desk.folder / "next.log").read_text(), "the wait")
            os.kill(holder.pid, signal.SIGKILL)
            until(lambda: desk_holder(desk) != holder.pid, "the lock")
            until(lambda: not waiting.alive(), "the next job")

    assert (desk.folder / "next.log").read_text().endswith("next\n")
    left = phone.shell("ls /data/local/tmp/megtrim/runs; ps -A -o args | grep '[s]leep 100'")
    assert left.stdout.strip() == ""


def desk_holder(desk: Desk) -> int | None:
    """Read who holds the phone as quickly as it can be done: without a new process."""
    from megtrim.lab.pool.leases import Leases
    from megtrim.places.devices.device import utc_now

    [lock] = (desk.folder / "state/leases").glob("adb_*.lock")
    key, *more = json.loads(lock.read_text())["keys"]
    machine = FakeMachine("pixel", desk.folder, key=key, keys=tuple(more))
    holder = Leases(desk.folder / "state", "test", utc_now).holder(machine)
    return None if holder is None else holder.pid


def test_a_pool_with_a_dead_phone_delivers(
    desk: Desk, phone: ConnectedPhone, start_phone: StartPhone
) -> None:
    other = start_phone()
    configured(
        desk.folder,
        f"name: a, kind: adb, serial: '{phone.serial}'",
        f"name: b, kind: adb, serial: '{other.serial}'",
    )
    phone.fault("mute")
    program = desk.program("echo done")

    ran = run_megtrim(
        "devices",
        "run",
        "--class",
        "any",
        "--",
        str(program),
        cwd=desk.folder,
        env={**desk.processes.env, "MEGTRIM_STATE": str(desk.folder / "state")},
        timeouts=replace(DEFAULT_TIMEOUTS, call_s=4.0, reconnect_s=4.0),
    )
    assert (ran.rc, ran.stdout) == (0, "done\n"), ran.stderr
    row = desk.json("list")["devices"][0]
    assert (row["state"], row["quarantine"]["by"]) == ("quarantined", "megtrim")
    phone.fault("unmute")
    until(lambda: desk.megtrim("devices", "check", "a").rc == 0, "a passed check")
    assert desk.state("a") == "free"
