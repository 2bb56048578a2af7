"""The commands that the page on phones and boards prints, typed as they stand."""

import re
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from integration.devices.rigs import StartPhone
from megtrim.libs.util.process import ProcessRunner
from support import sshd
from support.pages import BLOCKS, ROOT, Block, Place, blocks_of, configured_folder
from virtual_phone.adb_server import AdbServer

CLASS = {"name": "armv82", "qemu_cpu": "cortex-a76"}
PHONE = {
    "name": "pixel-6",
    "kind": "adb",
    "class": "armv82",
    "match": {"ro.product.model": "Pixel 6"},
}
OWN_NAME = "devices/test_pages.py::test_a_phone_in_another_terminal"


def chapter(title: str) -> tuple[Block, ...]:
    page = (ROOT / "docs/how-to/use-devices.md").read_text(encoding="utf-8")
    text = page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    found = tuple(block for block in blocks_of(title, text) if block.lane == "devices")
    assert found
    return found


MakeTeam = Callable[..., Place]


@pytest.fixture
def make_team(tmp_path: Path, shared_out: Path) -> MakeTeam:
    def make(*devices: Mapping[str, object], toolchain: str = "zig") -> Place:
        place, project = configured_folder(tmp_path, shared_out, toolchain=toolchain)
        named = {"devices": list(devices)} if devices else {}
        project.write({**project.read(), "classes": [CLASS], **named})
        place.env["MEGTRIM_STATE"] = str(tmp_path / "state")
        return place

    return make


def type_all(team: Place, blocks: tuple[Block, ...]) -> None:
    for block in blocks:
        reported = team.type(block)
        assert reported.rc == block.status, f"{block}: {reported.stdout}{reported.stderr}"


def test_with_a_phone(make_team: MakeTeam, start_phone: StartPhone) -> None:
    phone = start_phone(properties={"ro.product.model": "Pixel 6"})
    team = make_team(PHONE)
    team.env.update(phone.server.env)
    program = team.folder / "benchmark"
    program.write_text("#!/system/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    shutil.copyfile(team.folder / "models" / "resnet50.mge", team.folder / "model.mge")

    type_all(team, chapter("Phones"))


def test_with_a_board(make_team: MakeTeam, processes: ProcessRunner, tmp_path: Path) -> None:
    folder = tmp_path / "board"
    folder.mkdir()
    with sshd.running(processes, folder) as board:
        reported = board.settings
        address = {"host": reported.host, "port": reported.port}
        keys = {"key": str(reported.key), "known_hosts": str(reported.known_hosts)}
        rock = {"name": "rock-5", "kind": "ssh", "class": CLASS["name"], **address, **keys}
        team = make_team(rock, toolchain="host")

        type_all(team, chapter("Linux boards"))


def test_without_any(make_team: MakeTeam, phone_environment: dict[str, str]) -> None:
    team = make_team()
    team.env["XDG_RUNTIME_DIR"] = phone_environment["XDG_RUNTIME_DIR"]

    type_all(team, chapter("Rehearse without a phone"))


def test_a_phone_in_another_terminal(
    make_team: MakeTeam, adb_server: AdbServer, phone_environment: dict[str, str], tmp_path: Path
) -> None:
    start, reach = (block for block in BLOCKS if OWN_NAME in block.what)
    team = make_team()
    team.env.update(adb_server.env, XDG_RUNTIME_DIR=phone_environment["XDG_RUNTIME_DIR"])
    log = tmp_path / "terminal"
    with team.companion(start, log=log):
        address = said(log, r"^phone mine runs: adb connect (\S+)$")
        reported = team.type(
            replace(reach, script=reach.script.replace("127.0.0.1:43211", address))
        )

    assert reported.rc == 0, reported.stdout + reported.stderr
    assert f"connected to {address}\naarch64\n" in reported.stdout


def said(log: Path, pattern: str) -> str:
    deadline = time.monotonic() + 60
    while not (found := re.search(pattern, log.read_text("utf-8"), re.MULTILINE)):
        assert time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.05)
    return found[1]
